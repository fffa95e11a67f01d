/* Mapping images into slots, and again in children. MAP_FIXED over a mapping replaces it in one
 * step: no other thread finds a hole there. */
#include "runtime/runtime.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOT_SIZE (IMAGE_DATA + 2 * 65536)

_Static_assert(IMAGE_STUBS + (size_t)IMAGE_MAX * (STUB_SIZE + 2) <= 2 * 65536,
	       "the semaphores fit into the slot");
_Static_assert(sizeof(struct nopal_probe) == STUB_SIZE, "handles are as far apart as stubs");

/* ---- Generations ----
 *
 * In every child that has memory of its own the kernel clears one page
 * (MADV_WIPEONFORK, Linux 4.14), however the child was made. The number in that page is the
 * process's generation; 0 means that a child has just begun. The largest number that was given so
 * far is in ordinary memory, so that children know it. */

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/* Without such a page a child is only noticed by generation_next(). All kernels on which a child's
 * copies of stubs can be harmful (6.18 and later) have it. */
static _Atomic uint32_t only_copied = 1;
static _Atomic uint32_t *here = &only_copied;
static _Atomic uint32_t largest = 1;

void generation_init(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return;
	if (madvise(at, page, MADV_WIPEONFORK)) {
		munmap(at, page);
		return;
	}
	atomic_store((_Atomic uint32_t *)at, 1);
	here = at;
}

void generation_end(void)
{
	_Atomic uint32_t *page = here;

	here = &only_copied;
	if (page != here)
		munmap(page, (size_t)sysconf(_SC_PAGESIZE));
}

/* `largest` grows before its number is used, so that a grandchild that is made in between takes a
 * larger one than its parent, whichever number that gets. */
uint32_t generation_now(void)
{
	uint32_t now = atomic_load_explicit(here, memory_order_acquire), next;

	if (now)
		return now;
	next = atomic_fetch_add(&largest, 1) + 1;
	return atomic_compare_exchange_strong(here, &now, next) ? next : now;
}

void generation_next(void)
{
	atomic_store(here, atomic_fetch_add(&largest, 1) + 1);
}

/* ---- Slots ---- */

static size_t whole_pages(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) / page * page;
}

int slot_open(unsigned flags, struct image_slot **out, struct nopal_error *e)
{
	struct image_slot *slot = calloc(1, sizeof(*slot));
	void *base = MAP_FAILED;

	if (slot)
		base = mmap(NULL, SLOT_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED) {
		free(slot);
		return runtime_fail(e, NOPAL_NO_MEMORY, "out of memory for probes: %m");
	}
	slot->cpu = stub_host(flags & NOPAL_RUNTIME_ONE_BYTE_NOP);
	slot->base = base;
	slot->fd = -1;
	slot->generation = generation_now();
	*out = slot;
	return 0;
}

void slot_unlink(struct image_slot *slot)
{
	if (slot->path && slot->owner == getpid())
		unlink(slot->path);
}

static void forget_file(struct image_slot *slot)
{
	debug_image_remove(slot->debug);
	slot->debug = NULL;
	slot_unlink(slot);
	free(slot->path);
	slot->path = NULL;
	if (slot->fd >= 0)
		close(slot->fd);
	slot->fd = -1;
}

void slot_close(struct image_slot *slot)
{
	if (!slot)
		return;
	munmap(slot->base, SLOT_SIZE);
	forget_file(slot);
	free(slot->probes);
	free(slot);
}

int slot_add(struct image_slot *slot, const struct image_probe *probe,
	     const struct probe_info *info, struct nopal_probe **out, struct nopal_error *e)
{
	unsigned char *stub = slot->base + image_stub_at(slot->count);
	struct nopal_probe *handle = (struct nopal_probe *)(stub + NOPAL_PROBE_DISTANCE);

	if (slot->count == slot->cap) {
		size_t cap = slot->cap ? slot->cap * 2 : 4;
		const struct image_probe **more = realloc(slot->probes, cap * sizeof(*more));

		if (!more)
			return runtime_fail(e, NOPAL_NO_MEMORY, "out of memory for a probe");
		slot->probes = more;
		slot->cap = cap;
	}
	memcpy(stub, slot->cpu->code, STUB_SIZE);
	handle->info = info;
	slot->probes[slot->count++] = probe;
	*out = handle;
	return 0;
}

/* ---- Loading ---- */

/* The error code for a memfd that could not be made, by errno. */
static int code_of_errno(void)
{
	return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? NOPAL_NO_MEMORY
								     : NOPAL_SYSTEM;
}

/* If the program asked for a file, failing to make it is an error. If only the environment asked
 * for it, the program does not know, and gets a memfd instead. */
static int make_file(struct image_slot *slot, const char *provider, unsigned flags,
		     struct nopal_error *e)
{
	bool must_be_named = flags & NOPAL_RUNTIME_FILE;
	char name[MEMFD_NAME_MAX + 1];
	struct buf image = BUF_INIT;
	struct stat st = {0};
	int fd = -1;

	image_write(slot->cpu, str_from(provider), slot->probes, slot->count, 0, &image);
	if (image.failed) {
		buf_free(&image);
		return runtime_fail(e, NOPAL_NO_MEMORY, "out of memory for the image of '%s'",
				    provider);
	}
	if (must_be_named || flags & FLAG_FILE_IF_POSSIBLE) {
		fd = named_file_make(provider, buf_as_str(&image), &slot->path,
				     must_be_named ? e : NULL);
		slot->owner = getpid();
	}
	if (fd < 0 && !must_be_named) {
		snprintf(name, sizeof(name), "nopal:%s", provider); /* cut if it is too long */
		fd = memfd_make(name, buf_as_str(&image));
		if (fd < 0)
			fd = runtime_fail(e, code_of_errno(),
					  "cannot create a memfd for the probes of '%s': %m",
					  provider);
	}
	buf_free(&image);
	if (fd < 0)
		return fd;
	fstat(fd, &st);
	slot->dev = st.st_dev;
	slot->ino = st.st_ino;
	slot->fd = fd;
	return 0;
}

static int map_over(unsigned char *at, size_t size, int access, int fd, size_t offset)
{
	int how = MAP_PRIVATE | MAP_FIXED | (fd < 0 ? MAP_ANONYMOUS | MAP_NORESERVE : 0);

	return mmap(at, size, access, how, fd, (off_t)offset) == MAP_FAILED ? -1 : 0;
}

/* The semaphores come first: a tracer that is notified of the code looks for them. */
static int map_image(struct image_slot *slot)
{
	struct image_layout at = image_layout_of(slot->count);
	size_t page = whole_pages(1), first = at.semaphores_at / page * page;

	slot->data_pages = whole_pages(at.semaphores_end) - first;
	slot->code_pages = whole_pages(at.code_end);
	if (map_over(slot->base + IMAGE_DATA + first, slot->data_pages, PROT_READ | PROT_WRITE,
		     slot->fd, first))
		return -1;
	return map_over(slot->base, slot->code_pages, PROT_READ | PROT_EXEC, slot->fd, 0);
}

static void forget_semaphores(struct image_slot *slot)
{
	size_t page = whole_pages(1);
	size_t first = image_layout_of(slot->count).semaphores_at / page * page;

	map_over(slot->base + IMAGE_DATA + first, slot->data_pages, PROT_READ | PROT_WRITE, -1, 0);
}

int slot_load(struct image_slot *slot, const char *provider, unsigned flags, struct nopal_error *e)
{
	int err;

	slot_adopt(slot);
	if (slot->fd >= 0)
		return 0;
	err = make_file(slot, provider, flags, e);
	if (err)
		return err;
	slot->closed = true;
	if (!map_image(slot)) {
		slot->debug = debug_image_add(slot, provider);
		return 0;
	}
	err = runtime_fail(e, NOPAL_SYSTEM, "cannot map the probes of '%s': %m", provider);
	forget_semaphores(slot);
	forget_file(slot);
	return err;
}

/* ---- Children ---- */

#define CALL 0xe8 /* x86-64; on other CPUs tracers write nothing that begins with this byte */

/* Does a stub begin with a call to memory that is not mapped? */
static bool calls_nowhere(const unsigned char *stub)
{
	uintptr_t page = whole_pages(1), to;
	unsigned char resident;
	int32_t distance;

	memcpy(&distance, stub + 1, sizeof(distance));
	to = (uintptr_t)stub + 5 + (uintptr_t)(intptr_t)distance;
	return *stub == CALL && mincore((void *)(to / page * page), page, &resident) &&
	       errno == ENOMEM;
}

/* A child has copies of the pages that tracers have written to, and what they wrote is wrong there:
 * a call leads to memory that the kernel does not copy, a breakpoint of gdb stops a process that
 * gdb does not trace. So the image is mapped again; kernel tracers of the child are notified of the
 * new mapping. A tracer may also have written to the idle stubs of an unloaded slot, whose file it
 * found at the image's address; these must not cause events. */
static void renew_address(struct image_slot *slot)
{
	bool has_enabled = false, is_lost = slot->fd < 0;
	struct stat st;

	for (size_t i = 0; i < slot->count && !has_enabled; i++)
		has_enabled = !NOPAL_PROBE_IS_NOP(slot->base[image_stub_at(i)]);
	if (!has_enabled)
		return;
	/* A child may have closed the descriptor and opened another file with its number. */
	if (slot->fd >= 0 && !fstat(slot->fd, &st) && st.st_dev == slot->dev &&
	    st.st_ino == slot->ino && !map_image(slot))
		return;
	/* Tracers lose the child's probes if the pages get the file's content again, as the kernel
	 * does not notify them: so, while it is loaded, this is done only if a stub would crash. */
	for (size_t i = 0; i < slot->count && !is_lost; i++)
		is_lost = calls_nowhere(slot->base + image_stub_at(i));
	if (is_lost)
		madvise(slot->base, slot->code_pages, MADV_DONTNEED);
}

/* One thread renews; signals are blocked, since a handler would wait for the thread it interrupts.
 */
void slot_adopt_now(struct image_slot *slot, uint32_t generation)
{
	uint32_t had = atomic_load(&slot->generation);
	sigset_t all, before;
	int saved = errno;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (had != generation) {
		if (had == (generation | GENERATION_BUSY)) {
			sched_yield();
			had = atomic_load(&slot->generation);
		} else if (atomic_compare_exchange_strong(&slot->generation, &had,
							  generation | GENERATION_BUSY)) {
			renew_address(slot);
			atomic_store(&slot->generation, generation);
			had = generation;
		}
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = saved;
}

/* ---- Unloading ---- */

/* The image is replaced by a file of stubs without notes, for threads that have seen a probe
 * enabled and are about to call it. */
int slot_unload(struct image_slot *slot, struct nopal_error *e)
{
	struct buf stubs = BUF_INIT;
	int fd = -1, err;

	slot_adopt(slot);
	if (slot->fd < 0)
		return 0;
	buf_fill(&stubs, '\0', IMAGE_STUBS);
	for (size_t i = 0; i < slot->count; i++)
		buf_add(&stubs, slot->cpu->code, STUB_SIZE);
	errno = ENOMEM;
	if (!stubs.failed)
		fd = memfd_make("nopal-idle", buf_as_str(&stubs));
	buf_free(&stubs);
	if (fd < 0)
		return runtime_fail(e, code_of_errno(), "cannot unload probes: memfd_create: %m");
	err = map_over(slot->base, slot->code_pages, PROT_READ | PROT_EXEC, fd, 0);
	if (err)
		err = runtime_fail(e, NOPAL_SYSTEM, "cannot unload probes: mmap: %m");
	close(fd);
	if (err)
		return err;
	forget_semaphores(slot);
	forget_file(slot);
	return 0;
}
