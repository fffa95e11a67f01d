#include "help/spy.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct spy spied;

static void spy_note(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
		     uint64_t g, uint64_t h, uint64_t i, uint64_t j, uint64_t k, uint64_t l)
{
	const uint64_t words[] = {a, b, c, d, e, f, g, h, i, j, k, l};

	memcpy(spied.words, words, sizeof(words));
	__atomic_fetch_add(&spied.calls, 1, __ATOMIC_RELAXED);
}

unsigned char *spy_stub(const struct nopal_probe *p)
{
	return (unsigned char *)(uintptr_t)p - NOPAL_PROBE_DISTANCE;
}

void spy_write(const struct nopal_probe *p, const void *bytes, size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *stub = spy_stub(p);
	void *start = (void *)((uintptr_t)stub / page * page);

	mprotect(start, page, PROT_READ | PROT_WRITE);
	memcpy(stub, bytes, len);
	mprotect(start, page, PROT_READ | PROT_EXEC);
	__builtin___clear_cache((char *)stub, (char *)stub + len);
}

void spy_on(const struct nopal_probe *p)
{
#if defined __x86_64__
	unsigned char jump[16] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip) */
	const size_t at = 6;
#elif defined __aarch64__
	unsigned char jump[16] = {0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6}; /* ldr x16, 8; br x16 */
	const size_t at = 8;
#else
	/* auipc t0, 0; c.nop; ld t0, 8(t0)... does not fit: only the check can be tested */
	unsigned char jump[16] = {0x02, 0x90};
	const size_t at = 8;
#endif
	void (*target)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
		       uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) = spy_note;

	memcpy(jump + at, &target, sizeof(target));
	memset(&spied, 0, sizeof(spied));
	spy_write(p, jump, sizeof(jump));
}
