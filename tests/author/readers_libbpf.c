/* readers_libbpf OBJECT PROGRAM ARGUMENT PROVIDER:NAME...: run PROGRAM with ARGUMENT, and print the
 * arguments of its probes as libbpf's own USDT reader sees them. OBJECT is readers_libbpf.bpf.c. */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "readers_libbpf.h"

static int print_hit(void *words, void *data, size_t size)
{
	const struct hit *hit = data;
	unsigned int i;

	(void)size;
	printf("saw %s", strchr(((char **)words)[hit->probe], ':') + 1);
	for (i = 0; i < hit->count && !(hit->unread & 1u << i); i++)
		printf(" %lx", hit->args[i]);
	putchar('\n');
	return 0;
}

/* Attach to the probe that the word at this place names. */
static void attach(struct bpf_program *program, char **words, int place)
{
	LIBBPF_OPTS(bpf_usdt_opts, options, .usdt_cookie = place);
	char *provider = strdup(words[place]), *colon;

	if (!provider)
		exit(2);
	colon = strchr(provider, ':');
	*colon = '\0';
	if (!bpf_program__attach_usdt(program, -1, words[2], provider, colon + 1, &options))
		fprintf(stderr, "libbpf does not attach to %s\n", words[place]);
	free(provider);
}

int main(int argc, char **argv)
{
	struct bpf_object *object = bpf_object__open_file(argv[1], NULL);
	struct bpf_program *program;
	struct ring_buffer *ring;
	pid_t pid;
	int i;

	if (argc < 4 || !object || bpf_object__load(object))
		return 2;
	program = bpf_object__find_program_by_name(object, "on_hit");
	ring = ring_buffer__new(bpf_object__find_map_fd_by_name(object, "hits"), print_hit, argv,
				NULL);
	if (!program || !ring)
		return 2;
	for (i = 4; i < argc; i++)
		attach(program, argv, i);
	pid = fork();
	if (pid == 0) {
		execl(argv[2], argv[2], argv[3], NULL);
		_exit(127);
	}
	waitpid(pid, &i, 0);
	ring_buffer__consume(ring);
	return 0;
}
