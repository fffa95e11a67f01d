/* One hit of a probe, between readers_libbpf.bpf.c and readers_libbpf.c. */
struct hit {
	unsigned long probe; /* its place among the words of the command */
	unsigned int count;  /* of arguments */
	unsigned int unread; /* a bit for each argument that libbpf could not read */
	unsigned long args[12];
};
