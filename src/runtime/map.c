/* Mapping images; see runtime_map.h. MAP_FIXED over a mapping replaces it in one step: no other
 * thread finds a hole there. */
#include "runtime/map.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/debug.h"
#include "runtime/error.h"
#include "runtime/file.h"

#define ROOM_SIZE (IMAGE_DATA + 2 * 65536)

_Static_assert(IMAGE_STUBS + (size_t)IMAGE_MAX * (STUB_SIZE + 2) <= 2 * 65536,
	       "the semaphores end within the room");
_Static_assert(sizeof(struct nopal_probe) == STUB_SIZE, "handles are as far apart as stubs");

static size_t whole_pages(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) / page * page;
}

int room_open(unsigned flags, struct probe_room **out, struct nopal_error *e)
{
	struct probe_room *room = calloc(1, sizeof(*room));
	void *base = MAP_FAILED;

	if (room)
		base = mmap(NULL, ROOM_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED) {
		free(room);
		return runtime_fail(e, NOPAL_NO_MEMORY, "no memory for probes: %m");
	}
	room->cpu = stub_host(flags & NOPAL_RUNTIME_ONE_BYTE_NOP);
	room->base = base;
	room->fd = -1;
	room->generation = generation_now();
	*out = room;
	return 0;
}

void room_unlink(struct probe_room *room)
{
	if (room->path && room->owner == getpid())
		unlink(room->path);
}

static void forget_file(struct probe_room *room)
{
	debug_image_remove(room->debug);
	room->debug = NULL;
	room_unlink(room);
	free(room->path);
	room->path = NULL;
	if (room->fd >= 0)
		close(room->fd);
	room->fd = -1;
}

void room_close(struct probe_room *room)
{
	if (!room)
		return;
	munmap(room->base, ROOM_SIZE);
	forget_file(room);
	free(room->probes);
	free(room);
}

static int make_place(struct probe_room *room)
{
	size_t cap = room->cap ? room->cap * 2 : 4;
	const struct image_probe **more;

	if (room->count < room->cap)
		return 0;
	more = realloc(room->probes, cap * sizeof(*more));
	if (!more)
		return -1;
	room->probes = more;
	room->cap = cap;
	return 0;
}

int room_add(struct probe_room *room, const struct image_probe *probe,
	     const struct probe_info *info, struct nopal_probe **out, struct nopal_error *e)
{
	unsigned char *stub = room->base + image_stub_at(room->count);
	struct nopal_probe *handle = (struct nopal_probe *)(stub + NOPAL_PROBE_DISTANCE);

	if (make_place(room))
		return runtime_fail(e, NOPAL_NO_MEMORY, "no memory for a probe");
	memcpy(stub, room->cpu->code, STUB_SIZE);
	handle->info = info;
	room->probes[room->count++] = probe;
	*out = handle;
	return 0;
}

/* ---- Loading ---- */

/* What to call that there is no memory file, by errno. */
static int code_of_errno(void)
{
	return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? NOPAL_NO_MEMORY
								     : NOPAL_SYSTEM;
}

static int make_memory_file(const char *provider, struct str image, struct nopal_error *e)
{
	char name[MEMFD_NAME_MAX + 1];
	int fd;

	snprintf(name, sizeof(name), "nopal:%s", provider); /* cut where it is too long */
	fd = memfd_make(name, image);
	if (fd >= 0)
		return fd;
	return runtime_fail(e, code_of_errno(),
			    "cannot make a memory file for the probes of '%s': %m", provider);
}

/* The program wanted a file, and is told when it cannot be had; whoever set the environment wanted
 * one too, but the program, which knows nothing of it, gets its probes in any case. */
static int make_backing(struct probe_room *room, const char *provider, struct str image,
			unsigned flags, struct nopal_error *e)
{
	int fd = -1;

	if (flags & (NOPAL_RUNTIME_FILE | ROOM_FILE_IF_POSSIBLE)) {
		fd = named_file_make(provider, image, &room->path,
				     flags & NOPAL_RUNTIME_FILE ? e : NULL);
		room->owner = getpid();
	}
	if (fd < 0 && !(flags & NOPAL_RUNTIME_FILE))
		fd = make_memory_file(provider, image, e);
	return fd;
}

static int keep_file(struct probe_room *room, int fd)
{
	struct stat st = {0};

	fstat(fd, &st);
	room->dev = st.st_dev;
	room->ino = st.st_ino;
	room->fd = fd;
	return 0;
}

static int make_file(struct probe_room *room, const char *provider, unsigned flags,
		     struct nopal_error *e)
{
	struct buf image = BUF_INIT;
	int fd;

	image_write(room->cpu, str_from(provider), room->probes, room->count, &image);
	if (image.failed)
		fd = runtime_fail(e, NOPAL_NO_MEMORY, "no memory for the image of '%s'", provider);
	else
		fd = make_backing(room, provider, buf_as_str(&image), flags, e);
	buf_free(&image);
	return fd < 0 ? fd : keep_file(room, fd);
}

static int map_over(unsigned char *at, size_t size, int access, int fd, size_t offset)
{
	int how = MAP_PRIVATE | MAP_FIXED | (fd < 0 ? MAP_ANONYMOUS | MAP_NORESERVE : 0);

	return mmap(at, size, access, how, fd, (off_t)offset) == MAP_FAILED ? -1 : 0;
}

/* The semaphores come first: whoever hears of the code looks for them. */
static int map_image(struct probe_room *room)
{
	struct image_layout at = image_layout_of(room->count);
	size_t page = whole_pages(1), first = at.semaphores_at / page * page;

	room->data_pages = whole_pages(at.semaphores_end) - first;
	room->code_pages = whole_pages(at.code_end);
	if (map_over(room->base + IMAGE_DATA + first, room->data_pages, PROT_READ | PROT_WRITE,
		     room->fd, first))
		return -1;
	return map_over(room->base, room->code_pages, PROT_READ | PROT_EXEC, room->fd, 0);
}

static void forget_semaphores(struct probe_room *room)
{
	size_t page = whole_pages(1);
	size_t first = image_layout_of(room->count).semaphores_at / page * page;

	map_over(room->base + IMAGE_DATA + first, room->data_pages, PROT_READ | PROT_WRITE, -1, 0);
}

int room_load(struct probe_room *room, const char *provider, unsigned flags, struct nopal_error *e)
{
	int err;

	room_adopt(room);
	if (room->fd >= 0)
		return 0;
	err = make_file(room, provider, flags, e);
	if (err)
		return err;
	room->closed = true;
	if (!map_image(room)) {
		room->debug = debug_image_add(room, provider);
		return 0;
	}
	err = runtime_fail(e, NOPAL_SYSTEM, "cannot map the probes of '%s': %m", provider);
	forget_semaphores(room);
	forget_file(room);
	return err;
}

static bool has_enabled(const struct probe_room *room)
{
	for (size_t i = 0; i < room->count; i++)
		if (!NOPAL_PROBE_IS_NOP(room->base[image_stub_at(i)]))
			return true;
	return false;
}

/* ---- Children ---- */

/* A child may have closed the descriptor, and have another file under its number. */
static bool has_file(const struct probe_room *room)
{
	struct stat st;

	return !fstat(room->fd, &st) && st.st_dev == room->dev && st.st_ino == room->ino;
}

#define CALL 0xe8 /* of x86-64; elsewhere nothing that a tracer writes begins with this byte */

/* Does a stub begin with a call to memory that is not there? */
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

/* The pages become what their file has. Kernel tracers are not notified of it. */
static void take_back(struct probe_room *room)
{
	madvise(room->base, room->code_pages, MADV_DONTNEED);
}

/* Tracers of the child lose the probes by it: so only where a stub would crash. */
static void drop_calls(struct probe_room *room)
{
	for (size_t i = 0; i < room->count; i++)
		if (calls_nowhere(room->base + image_stub_at(i))) {
			take_back(room);
			return;
		}
}

/* A child has copies of the pages that tracers have written to. What they wrote is no good there: a
 * call goes to memory that the kernel does not copy, a breakpoint of gdb has nobody to stop for. So
 * the image is mapped afresh; kernel tracers that want the child too are told of the mapping. The
 * idle stubs of an unloaded room may have been written to as well, by a tracer that found their
 * file in the image's place; nobody is to see events of these. */
static void renew(struct probe_room *room)
{
	if (!has_enabled(room))
		return;
	if (room->fd < 0)
		take_back(room);
	else if (!has_file(room) || map_image(room))
		drop_calls(room);
}

/* One thread does it, and no signal handler may come in between and wait for it. */
void room_adopt_now(struct probe_room *room, uint32_t generation)
{
	uint32_t had = atomic_load(&room->generation);
	sigset_t all, before;
	int saved = errno;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (had != generation) {
		if (had == (generation | GENERATION_BUSY)) {
			sched_yield();
			had = atomic_load(&room->generation);
		} else if (atomic_compare_exchange_strong(&room->generation, &had,
							  generation | GENERATION_BUSY)) {
			renew(room);
			atomic_store(&room->generation, generation);
			had = generation;
		}
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = saved;
}

/* ---- Unloading ---- */

/* A file of stubs that no tracer knows, for threads that have seen a probe enabled and are about to
 * call it. */
static int make_idle_file(const struct probe_room *room)
{
	struct buf stubs = BUF_INIT;
	int fd = -1;

	buf_fill(&stubs, '\0', IMAGE_STUBS);
	for (size_t i = 0; i < room->count; i++)
		buf_add(&stubs, room->cpu->code, STUB_SIZE);
	errno = ENOMEM;
	if (!stubs.failed)
		fd = memfd_make("nopal-idle", buf_as_str(&stubs));
	buf_free(&stubs);
	return fd;
}

int room_unload(struct probe_room *room, struct nopal_error *e)
{
	int fd, err;

	room_adopt(room);
	if (room->fd < 0)
		return 0;
	fd = make_idle_file(room);
	if (fd < 0)
		return runtime_fail(e, code_of_errno(), "cannot unload probes: no memory file: %m");
	err = map_over(room->base, room->code_pages, PROT_READ | PROT_EXEC, fd, 0);
	if (err)
		err = runtime_fail(e, NOPAL_SYSTEM, "cannot unload probes: mmap: %m");
	close(fd);
	if (err)
		return err;
	forget_semaphores(room);
	forget_file(room);
	return 0;
}
