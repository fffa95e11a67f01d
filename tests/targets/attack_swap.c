/* An attacker: leads a tracer to another file than the one it reads.
 *
 *   attack_swap MOMENT BAIT OTHER [later]
 *
 * maps BAIT as a program's code and exchanges the names BAIT and OTHER at a MOMENT: never; always,
 * without pause; or when the Nth event comes that inotify tells of BAIT: open:N, access:N, close:N.
 * A third number is a wait after it, in microseconds: close:1:200. `later`: BAIT is mapped a tenth
 * of a second after "ready" is printed, not before. Stays until it is killed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned mask;
} events[] = {{"open", IN_OPEN}, {"access", IN_ACCESS}, {"close", IN_CLOSE_NOWRITE}};

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "attack_swap: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void map(int fd)
{
	must(mmap(NULL, 0x1000, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0x1000) != MAP_FAILED,
	     "mmap");
	must(mmap(NULL, 0x1000, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0x2000) != MAP_FAILED,
	     "mmap");
}

static void exchange(const char *a, const char *b)
{
	must(!renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE), "renameat2");
}

static void wait_for(int notify, unsigned count)
{
	char room[sizeof(struct inotify_event) + 256]
		__attribute__((aligned(__alignof__(struct inotify_event))));

	/* Equal events in a row are one: a tracer that reads twice in a row is seen once. */
	while (count && read(notify, room, sizeof(room)) > 0)
		count--;
}

static unsigned mask_of(const char *moment)
{
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (!strncmp(moment, events[i].name, strlen(events[i].name)))
			return events[i].mask;
	return 0;
}

int main(int argc, char **argv)
{
	const char *moment = argv[1], *number = strchr(moment, ':');
	const char *delay = number ? strchr(number + 1, ':') : NULL;
	int fd, notify = inotify_init1(IN_CLOEXEC);

	must(argc > 3 && notify >= 0, "usage");
	fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	must(fd >= 0, "open");
	if (argc == 4)
		map(fd);
	if (mask_of(moment))
		must(inotify_add_watch(notify, argv[2], mask_of(moment)) >= 0, "inotify");
	puts("ready");
	fflush(stdout);
	if (argc > 4) {
		usleep(100000);
		map(fd);
	}
	while (!strcmp(moment, "always"))
		exchange(argv[2], argv[3]);
	if (mask_of(moment)) {
		wait_for(notify, number ? (unsigned)atoi(number + 1) : 1);
		usleep(delay ? (useconds_t)atoi(delay + 1) : 0);
		exchange(argv[2], argv[3]);
	}
	for (;;)
		pause();
}
