/* Reading the ring; its layout is the kernel's (kernel/bpf/ringbuf.c). */
#include "engine/bpf/kernel/ring_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/bpf/kernel/bpf_syscall.h"

#define HEAD	  8u	     /* bytes of header before each record */
#define BUSY	  (1u << 31) /* still being written */
#define DISCARDED (1u << 30)
#define ONE_DRAIN (1 << 16)    /* records after which a drain returns */
#define GIVE_BACK (256u << 10) /* bytes read after which the kernel may reuse them */

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Done by the first drain, since it takes the kernel a moment: an attach need not wait for it. */
static int map_pages(struct ring *r)
{
	size_t page = page_size();
	void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	r->consumer = at;
	at = mmap(NULL, page + r->size, PROT_READ, MAP_SHARED, r->fd, (off_t)page);
	if (at == MAP_FAILED)
		return -errno;
	r->pages = at;
	return 0;
}

int ring_open(struct ring *r, size_t size, struct diag *d)
{
	struct kernel_map m = {.type = BPF_MAP_TYPE_RINGBUF, .name = "records"};
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	size_t wanted = page_size();
	int err = 0;

	while (wanted < size && wanted < (size_t)1 << 30)
		wanted *= 2;
	m.max_entries = (uint32_t)wanted;
	*r = (struct ring){.fd = -1, .wait_fd = -1, .size = wanted};
	r->fd = kernel_map_create(&m);
	if (r->fd < 0)
		err = r->fd;
	/* Edge-triggered: readable only after the kernel has woken us, not whenever there is data.
	 */
	else if ((r->wait_fd = epoll_create1(EPOLL_CLOEXEC)) < 0 ||
		 epoll_ctl(r->wait_fd, EPOLL_CTL_ADD, r->fd, &event))
		err = -errno;
	if (err)
		diag_error(d, err, "ring", "cannot make a ring buffer of %zu bytes: %s", wanted,
			   strerror(-err));
	return err;
}

void ring_close(struct ring *r)
{
	if (r->consumer)
		munmap(r->consumer, page_size());
	if (r->pages)
		munmap(r->pages, page_size() + r->size);
	if (r->wait_fd > 0)
		close(r->wait_fd);
	if (r->fd > 0)
		close(r->fd);
	free(r->bounce);
	*r = (struct ring){.fd = -1, .wait_fd = -1};
}

/* The bytes of a record, in one piece. */
static const unsigned char *in_one_piece(struct ring *r, uint64_t at, size_t len)
{
	const unsigned char *data = r->pages + page_size();
	size_t start = (size_t)(at & (r->size - 1)), until_end = r->size - start;

	if (len <= until_end)
		return data + start;
	if (len > r->bounce_size) {
		unsigned char *more = realloc(r->bounce, len);

		if (!more)
			return NULL;
		r->bounce = more;
		r->bounce_size = len;
	}
	memcpy(r->bounce, data + start, until_end);
	memcpy(r->bounce + until_end, data, len - until_end);
	return r->bounce;
}

static void set_consumed(struct ring *r, uint64_t at)
{
	__atomic_store_n(r->consumer, at, __ATOMIC_RELEASE);
}

/* One record on its way out. */
struct taking {
	uint64_t at, limit;
	size_t step;  /* bytes to go on by */
	bool is_busy; /* still being written: stop before it */
	int given;
};

static int take_record(struct ring *r, struct taking *t, ring_fn *fn, void *arg)
{
	const unsigned char *data = r->pages + page_size();
	const uint32_t *head = (const void *)(data + (t->at & (r->size - 1)));
	uint32_t len = __atomic_load_n(head, __ATOMIC_ACQUIRE);
	bool is_discarded = len & DISCARDED;
	const unsigned char *bytes;

	t->step = 0;
	t->is_busy = len & BUSY;
	if (t->is_busy)
		return 0;
	len &= ~DISCARDED;
	t->step = (HEAD + (size_t)len + 7) & ~(size_t)7;
	if (t->step > t->limit - t->at)
		return -EPROTO;
	if (is_discarded)
		return 0;
	bytes = in_one_piece(r, t->at + HEAD, len);
	if (!bytes)
		return -ENOMEM;
	t->given++;
	return fn(arg, str_of((const char *)bytes, len));
}

/* Everything up to where the kernel was when we looked. Each position and header is read with
 * acquire: what the kernel wrote before it is seen, too. The kernel may use a part of the ring
 * again as soon as set_consumed() has passed it; until then `fn` reads records where they are. */
static int drain_once(struct ring *r, struct taking *t, ring_fn *fn, void *arg)
{
	uint64_t released = t->at;
	int err = 0;

	t->limit = __atomic_load_n((const uint64_t *)(const void *)r->pages, __ATOMIC_ACQUIRE);
	t->is_busy = false;
	if (t->limit - t->at > r->size || t->at % 8)
		return -EPROTO;
	while (t->at < t->limit && !err && !t->is_busy) {
		err = take_record(r, t, fn, arg);
		t->at += t->step;
		if (t->at - released > GIVE_BACK || t->at - released > r->size / 8) {
			set_consumed(r, t->at);
			released = t->at;
		}
	}
	set_consumed(r, t->at);
	return err;
}

int ring_drain(struct ring *r, ring_fn *fn, void *arg)
{
	struct taking t = {0};
	int err = r->pages ? 0 : map_pages(r), before;

	if (err)
		return err;
	t.at = *r->consumer;
	do { /* again for what came meanwhile; but a fast writer must not keep us here */
		before = t.given;
		err = drain_once(r, &t, fn, arg);
	} while (!err && !t.is_busy && t.given != before && t.given < ONE_DRAIN);
	return err ? err : t.given;
}
