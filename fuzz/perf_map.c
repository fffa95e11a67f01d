/* Any bytes as a perf map, read at once and in pieces as it grows: each address has the same name
 * either way, and the name is of the file. The first byte says where it is cut. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/jit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_to(const char *path, int fd, const uint8_t *data, size_t from, size_t to,
		    struct budget *pool, struct jit_names **names)
{
	if (pwrite(fd, data + from, to - from, (off_t)from) != (ssize_t)(to - from))
		abort();
	if (jit_names_read(path, getuid(), pool, names))
		abort();
}

static void compare_at(const struct jit_names *one, const struct jit_names *two, uint64_t address)
{
	struct str a, b;
	uint64_t into_a, into_b;
	bool has = jit_names_at(one, address, &a, &into_a);

	if (has != jit_names_at(two, address, &b, &into_b))
		abort();
	if (!has)
		return;
	if (!str_eq(a, b) || into_a != into_b || !a.len || memchr(a.ptr, '\n', a.len))
		abort();
}

/* Every word that looks like a number is an address to ask for. */
static void compare_all(const struct jit_names *one, const struct jit_names *two, struct str text)
{
	char digits[17];

	for (unsigned n = 0; text.len && n < 50; n++) {
		struct str word = str_cut(&text, text.len % 2 ? ' ' : '\n');
		size_t len = word.len < 16 ? word.len : 16;

		memcpy(digits, word.ptr, len);
		digits[len] = 0;
		compare_at(one, two, strtoull(digits, NULL, 16));
		compare_at(one, two, strtoull(digits, NULL, 16) + n);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct budget pool = budget_for_file(-1);
	struct jit_names *whole = NULL, *grown = NULL;
	char path[64] = "/dev/shm/nopal-fuzz-XXXXXX";
	size_t cut = size ? data[0] * size / 256 : 0;
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd < 0)
		abort();
	read_to(path, fd, data, 0, cut, &pool, &grown);
	read_to(path, fd, data, cut, size, &pool, &grown);
	if (jit_names_read(path, getuid(), &pool, &whole))
		abort();
	unlink(path);
	close(fd);
	if (whole && grown)
		compare_all(whole, grown, str_of((const char *)data, size));
	jit_names_free(whole);
	jit_names_free(grown);
	if (pool.memory != BUDGET_FILE_MEMORY)
		abort();
	return 0;
}
