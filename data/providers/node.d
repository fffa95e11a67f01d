/* Node.js 0.12 to 18, built with --with-dtrace: src/node_provider.d of 18. Gone in 19. */
provider node {
	probe net__server__connection(void *connection, const char *remote, int port, int fd);
	probe net__stream__end(void *connection, const char *remote, int port, int fd);
	probe http__server__request(void *request, void *connection, const char *remote, int port, const char *method, const char *url, int fd);
	probe http__server__response(void *connection, const char *remote, int port, int fd);
	probe http__client__request(void *request, void *connection, const char *remote, int port, const char *method, const char *url, int fd);
	probe http__client__response(void *connection, const char *remote, int port, int fd);
	probe gc__start(int type, int flags, void *isolate);
	probe gc__done(int type, int flags, void *isolate);
};
