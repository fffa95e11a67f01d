/* Whatever bytes names, arguments and values have, what is written is valid JSON. The first byte
 * says what the rest is: calls of the JSON writer, or an ELF file whose sites are listed with
 * --json. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/json.h"
#include "help/json_check.h"
#include "nopal/sites.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct str take_text(struct cursor *c)
{
	struct str out = STR("");
	uint8_t len = 0;

	cursor_u8(c, &len);
	cursor_bytes(c, len < cursor_left(c) ? len : cursor_left(c), &out);
	return out;
}

static void write_value(struct json *j, struct cursor *c, unsigned depth);

static void write_members(struct json *j, struct cursor *c, char open, char close, unsigned depth)
{
	uint8_t more = 0;

	json_open(j, open);
	while (cursor_u8(c, &more) && more & 3) {
		if (open == '{')
			json_key_str(j, take_text(c));
		write_value(j, c, depth + 1);
	}
	json_close(j, close);
}

static void write_value(struct json *j, struct cursor *c, unsigned depth)
{
	uint64_t number = 0;
	uint8_t kind = 0;

	cursor_u8(c, &kind);
	if (cursor_left(c) >= 8 && kind % 8 >= 3 && kind % 8 <= 5)
		cursor_u64(c, &number);
	switch (depth < 20 ? kind % 8 : 2) {
	case 0: write_members(j, c, '{', '}', depth); break;
	case 1: write_members(j, c, '[', ']', depth); break;
	case 3: json_s64(j, (int64_t)number); break;
	case 4: json_u64(j, number); break;
	case 5: json_hex(j, number); break;
	case 6: json_bool(j, kind & 128); break;
	default: json_str(j, take_text(c)); break;
	}
}

static void write_calls(const uint8_t *data, size_t size)
{
	struct cursor c = cursor_of(data, size, false);
	struct buf out = BUF_INIT;
	struct json j = {&out, false};

	write_value(&j, &c, 0);
	if (!json_is_valid(out.ptr, out.len))
		abort();
	buf_free(&out);
}

static void list_sites(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct nopal_sites *probes;
	char path[64];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || nopal_sites_new(&probes))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	nopal_sites_file(probes, path, NULL);
	for (size_t i = 0; i < nopal_sites_count(probes) && i < 20; i++) {
		char *text = nopal_site_json(nopal_sites_at(probes, i));

		if (!text || !json_is_valid(text, strlen(text)))
			abort();
		free(text);
	}
	nopal_sites_free(probes);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] & 1)
		list_sites(data + 1, size - 1);
	else
		write_calls(data + 1, size - 1);
	return 0;
}
