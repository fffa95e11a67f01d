// flags: -pthread
// A program that makes pages of its memory itself (userfaultfd(2)). The thread that makes a page
// fires faults:page with its address first; the main thread then finds a text there. Prints
// "ready", and how many texts were right, each time that a line comes; ends with its standard
// input.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sdt.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGES 20
#define PAGE  4096

static int fd;

static void *make_pages(void *arg)
{
	static char text[PAGE] __attribute__((aligned(PAGE))) = "a page";
	struct uffd_msg message;

	while (read(fd, &message, sizeof(message)) == sizeof(message)) {
		char *at =
			(char *)(uintptr_t)(message.arg.pagefault.address & ~(uint64_t)(PAGE - 1));
		struct uffdio_copy copy = {
			.dst = (uintptr_t)at, .src = (uintptr_t)text, .len = PAGE};

		DTRACE_PROBE1(faults, page, at);
		if (ioctl(fd, UFFDIO_COPY, &copy))
			return NULL;
	}
	return arg;
}

int main(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register all = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	pthread_t thread;
	char line[64];
	char *at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	all.range.start = (uintptr_t)at;
	all.range.len = PAGES * PAGE;
	fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &all) ||
	    pthread_create(&thread, NULL, make_pages, NULL)) {
		perror("userfaultfd");
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		int right = 0;

		madvise(at, PAGES * PAGE, MADV_DONTNEED);
		for (int i = 0; i < PAGES; i++)
			right += !strcmp(at + PAGE * i, "a page");
		printf("%d texts are right\n", right);
	}
	return 0;
}
