/* What programs compiled against libstapsdt have in them: layouts and numbers, written down from
 * the library's documentation of its interface, not from our header. */
#ifndef NOPAL_TESTS_HELP_STAPSDT_ABI_H
#define NOPAL_TESTS_HELP_STAPSDT_ABI_H

#include <stddef.h>

struct old_probe {
	char *name;
	int formats[6];
	void *fire;
	struct old_provider *provider;
	int count;
};

struct old_list {
	struct old_probe probe;
	struct old_list *next;
};

struct old_provider {
	char *name;
	struct old_list *probes;
	int number;
	char *error;
	void *handle;
	char *filename;
	int memfd;
	int use_memfd;
};

/* field, offset */
#define OLD_PROVIDER_FIELDS(X) \
	X(name, 0)             \
	X(probes, 8)           \
	X(number, 16) X(error, 24) X(handle, 32) X(filename, 40) X(memfd, 48) X(use_memfd, 52)
#define OLD_PROBE_FIELDS(X) X(name, 0) X(formats, 8) X(fire, 32) X(provider, 40) X(count, 48)

enum {
	OLD_NO_ERROR = -1,
	OLD_ELF = 0,
	OLD_TMP = 1,
	OLD_OPEN = 2,
	OLD_SYMBOL = 3,
	OLD_CLOSE = 4,
	OLD_UINT8 = 1,
	OLD_INT32 = -4,
	OLD_UINT64 = 8,
	OLD_INT64 = -8,
};

#endif
