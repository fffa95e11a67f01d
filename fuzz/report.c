/* Hostile records, map entries and formats through the report room. The first byte of the input
 * says what the rest is: a record as it stands, a record whose head is put right, the text of a
 * printf format with a record behind it, or an entry of each map. Output is text and JSON,
 * which must be valid. */
#include <assert.h>
#include <stdlib.h>

#include "help/json_check.h"
#include "nopal/show.h"
#include "program/record.h"
#include "report/moment.h"
#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct type pair[] = {
	{.kind = TYPE_STR, .size = 16},
	{.kind = TYPE_INT, .size = 4, .is_signed = true},
};

static const struct type fields[] = {
	{.kind = TYPE_INT, .size = 8, .is_signed = true},
	{.kind = TYPE_STR, .size = 64},
	{.kind = TYPE_INT, .size = 1},
	{.kind = TYPE_FLOAT, .size = 8},
	{.kind = TYPE_FLOAT, .size = 4},
	{.kind = TYPE_BUF, .size = 32},
	{.kind = TYPE_NAME},
	{.kind = TYPE_TUPLE, .elements = pair, .element_count = 2},
	{.kind = TYPE_USTACK, .size = 64},
	{.kind = TYPE_KSTACK, .size = 64},
	DISPLAY_TYPE("usym", 2),
	DISPLAY_TYPE("ksym", 2),
	DISPLAY_TYPE("time", 2),
};

#define FIELDS (sizeof(fields) / sizeof(*fields))

static const struct map_def maps[] = {
	{.name = {"@a", 2}, .key = {.kind = TYPE_STR, .size = 16}, .value = {.kind = TYPE_COUNT}},
	{.name = {"@b", 2},
	 .key = {.kind = TYPE_TUPLE, .elements = pair, .element_count = 2},
	 .value = {.kind = TYPE_STATS, .is_signed = true}},
	{.name = {"@c", 2}, .key = {.kind = TYPE_NONE}, .value = {.kind = TYPE_HIST, .bits = 1}},
	{.name = {"@d", 2},
	 .key = {.kind = TYPE_INT, .size = 8, .is_signed = true},
	 .value = {.kind = TYPE_LHIST, .min = -10, .max = 10, .step = 5}},
	{.name = {"@e", 2}, .key = {.kind = TYPE_USTACK, .size = 32}, .value = {.kind = TYPE_MIN}},
	{.name = {"@f", 2},
	 .key = {.kind = TYPE_BUF, .size = 8},
	 .value = {.kind = TYPE_AVG, .is_signed = true}},
	{.name = {"@g", 2},
	 .key = {.kind = TYPE_FLOAT, .size = 4},
	 .value = DISPLAY_TYPE("time", 2)},
};

#define MAPS (sizeof(maps) / sizeof(*maps))

static const struct str names[] = {{"usdt:/x:p:n", 11}, {"%H:%M %f", 8}, {"\x1b[2J", 4}};

static const struct format formats[] = {
	{.kind = FORMAT_PRINTF,
	 .text = {"%5d|%-8s|%x|%.3f|%e|%r|%20s|%s|%s|%s|%s|%s|%s\n", 46},
	 .fields = fields,
	 .field_count = FIELDS},
	{.kind = FORMAT_JOIN, .text = {",", 1}, .fields = &fields[1], .field_count = 1},
	{.kind = FORMAT_VALUE, .fields = &fields[7], .field_count = 1},
	{.kind = FORMAT_VALUE, .fields = &fields[8], .field_count = 1},
	{.kind = FORMAT_MAP_VALUE, .map = 1, .fields = &fields[7], .field_count = 2},
	{.kind = FORMAT_TIME},
	{.kind = FORMAT_PRINT, .map = 3, .top = 1, .div = 2},
	{.kind = FORMAT_CLEAR},
	{.kind = FORMAT_ZERO},
	{.kind = FORMAT_EXIT, .exit_code = 1},
	{.kind = FORMAT_PRINTF, .fields = fields, .field_count = FIELDS}, /* text: from the input */
};

#define FORMATS (sizeof(formats) / sizeof(*formats))

/* The maps: each has two entries cut from the input. */
struct input {
	const uint8_t *data;
	size_t len;
};

static int each(void *self, uint32_t map, map_entry_fn *fn, void *arg)
{
	const struct input *e = self;
	size_t half = e->len / 2;
	int err = 0;

	for (size_t skip = 0; skip < 2 && !err && skip <= half; skip++)
		err = fn(arg, str_of((const char *)e->data + skip, half - skip),
			 str_of((const char *)e->data + half, e->len - half));
	(void)map;
	return err;
}

static int touch(void *self, uint32_t map)
{
	(void)self;
	return map < MAPS ? 0 : -1;
}

static void check_json(const struct buf *out)
{
	assert(json_lines_are_valid(out->ptr, out->len));
}

static void check_terminal(const struct buf *out)
{
	for (size_t i = 0; i < out->len; i++)
		assert(out->ptr[i] != '\x1b' && out->ptr[i] != '\x07');
}

static void show(struct report *r, const struct map_store *store, struct str record,
		 struct buf *out)
{
	enum report_action action;
	size_t before = out->len;
	int code;

	if (report_record(r, store, record, out, &action, &code))
		assert(out->len == before);
}

static void run(const struct program *p, enum report_style style, const struct map_store *store,
		struct str record, const struct nopal_look *look, bool own_format, bool rows)
{
	const struct report_options options = {.style = style,
					       .terminal = true,
					       .trunc_trailer = {"..", 2},
					       .structured = rows && style == REPORT_JSON,
					       .folded = rows && !record.ptr,
					       .csv = rows && record.ptr,
					       .look = look,
					       .titles = "one, two"};
	struct report *r = NULL;
	struct buf out = BUF_INIT;

	if (report_new(p, &options, NULL, &r))
		return;
	if (record.ptr)
		show(r, store, record, &out);
	for (uint32_t i = 0; i < MAPS && !record.ptr; i++)
		report_map(r, store, i, 0, 0, &out);
	if (style == REPORT_JSON)
		check_json(&out);
	else if (!own_format)
		check_terminal(&out);
	report_free(r);
	buf_free(&out);
}

/* A record with a head that is right. */
static struct str put_head(struct buf *b, const uint8_t *data, size_t len, size_t format)
{
	struct record_head head = {(uint32_t)(sizeof(head) + (len & ~(size_t)7)), (uint16_t)format,
				   0};

	buf_add(b, &head, sizeof(head));
	buf_add(b, data, len & ~(size_t)7);
	return buf_as_str(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct nopal_look look = {.width = 60, .utf8 = true};
	struct format own[FORMATS];
	struct arena arena = ARENA_INIT;
	struct program p = {.maps = maps,
			    .map_count = MAPS,
			    .formats = own,
			    .format_count = FORMATS,
			    .names = names,
			    .name_count = 3};
	struct input e = {data, len};
	const struct map_store store = {&e, each, touch, touch, NULL};
	struct buf record = BUF_INIT, moment = BUF_INIT;
	struct str bytes = {NULL, 0};
	size_t text = 0;

	if (len < 2)
		return 0;
	memcpy(own, formats, sizeof(own));
	format_parse(own[0].text, &arena, &own[0]);
	switch (data[0] % 4) {
	case 0: bytes = str_of((const char *)data + 1, len - 1); break;
	case 1: bytes = put_head(&record, data + 2, len - 2, data[1] % FORMATS); break;
	case 2:
		text = data[1] % len;
		text = text > len - 2 ? len - 2 : text;
		own[FORMATS - 1].text = str_of((const char *)data + 2, text);
		format_parse(own[FORMATS - 1].text, &arena, &own[FORMATS - 1]);
		bytes = put_head(&record, data + 2 + text, len - 2 - text, FORMATS - 1);
		moment_format(own[FORMATS - 1].text, (int64_t)((uint64_t)len << (data[1] % 64)),
			      data[0] & 1, &moment);
		break;
	default: e = (struct input){data + 1, len - 1}; break;
	}
	for (int rows = 0; rows < 2; rows++) {
		run(&p, REPORT_TEXT, &store, bytes, NULL, data[0] % 4 == 2, rows);
		run(&p, REPORT_TEXT, &store, bytes, &look, data[0] % 4 == 2, rows);
		run(&p, REPORT_JSON, &store, bytes, NULL, true, rows);
	}
	buf_free(&record);
	buf_free(&moment);
	arena_free(&arena);
	return 0;
}
