/* Types that are made only to be shown: what usym() and strftime() give. Each is one row here and
 * one builtin in src/script that makes its words: nothing between them knows what the words mean.
 *
 * Comes in: the words, as bits (the first), extra and third of a value; untrusted. Goes out:
 * text, which JSON puts in quotes and printf pads as a string. */
#include <arpa/inet.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "program/enum_text.h"
#include "report/cgroup.h"
#include "report/inside.h"
#include "report/moment.h"
#include "report/render.h"
#include "report/stack.h"
#include "symbols/symbols.h"

#include "base/array.h"

/* Names come from untrusted files, so a terminal gets them escaped. */
void render_symbol(const struct renderer *r, bool kernel, uint64_t pid, uint64_t address,
		   unsigned flags, struct buf *out)
{
	struct symbols_frame frame = {.function = BUF_INIT};
	struct buf name = BUF_INIT;

	if (!r->symbols || pid > INT32_MAX) {
		symbols_number(address, &name);
	} else if (r->frames) {
		if (kernel)
			symbols_frame_kernel(r->symbols, address, &frame);
		else
			symbols_frame_user(r->symbols, (pid_t)pid, address, false, &frame);
		stack_bcc_frame(r, &frame, kernel, out);
		buf_free(&frame.function);
		return;
	} else if (kernel) {
		symbols_kernel(r->symbols, address, flags, &name);
	} else {
		symbols_user(r->symbols, (pid_t)pid, address, flags, &name);
	}
	render_bytes(r, buf_as_str(&name), out);
	buf_free(&name);
}

/* usym(): an address and its process */
static void print_usym(const struct renderer *r, const struct value *v, struct buf *out)
{
	render_symbol(r, false, v->extra, v->bits, 0, out);
}

/* ksym(): an address */
static void print_ksym(const struct renderer *r, const struct value *v, struct buf *out)
{
	render_symbol(r, true, 0, v->bits, 0, out);
}

/* What to add for the time of day. */
static int64_t clock_offset(const struct renderer *r, uint64_t clock)
{
	if (clock == CLOCK_OF_DAY)
		return 0;
	return clock == CLOCK_WITH_SLEEP ? r->wall_offset - clock_slept() : r->wall_offset;
}

/* strftime(): nanoseconds; the number of the format, which is the record's, and so may name any
 * text there is; and enum type_clock. */
static void print_time(const struct renderer *r, const struct value *v, struct buf *out)
{
	struct str format = STR("%H:%M:%S");
	struct buf text = BUF_INIT;

	if (v->extra < r->name_count)
		format = r->names[v->extra];
	moment_format(format, (int64_t)((uint64_t)clock_offset(r, v->third) + v->bits),
		      render_is_for_programs(r), &text);
	render_lines(r, buf_as_str(&text), out);
	out->failed |= text.failed;
	buf_free(&text);
}

/* macaddr(): 4 and 2 bytes, each in the order of memory */
static void print_mac(const struct renderer *r, const struct value *v, struct buf *out)
{
	uint32_t first = (uint32_t)v->bits;
	uint16_t last = (uint16_t)v->extra;
	uint8_t bytes[6];

	(void)r;
	memcpy(bytes, &first, 4);
	memcpy(bytes + 4, &last, 2);
	for (size_t i = 0; i < sizeof(bytes); i++)
		buf_printf(out, "%s%02X", i ? ":" : "", bytes[i]);
}

/* strerror(), signal_name(), syscall_name() */
static void print_enum_text(const struct renderer *r, const struct value *v, struct buf *out)
{
	(void)r;
	enum_text_at(v->type, enum_text_number(v->type, v->bits), out);
}

/* comm(pid): what /proc says now; threads may call themselves anything */
static void print_comm(const struct renderer *r, const struct value *v, struct buf *out)
{
	struct buf name = BUF_INIT;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%llu/comm", (unsigned long long)v->bits);
	if (command_cat(path, 64, &name) || !name.len)
		buf_text(out, "N/A");
	else
		render_bytes(r, str_of(name.ptr, name.len - 1), out);
	buf_free(&name);
}

/* The name comes from this machine's users; one without a name is its number. */
static void print_user(const struct renderer *r, const struct value *v, struct buf *out)
{
	const struct passwd *user = getpwuid((uid_t)v->bits);

	if (user)
		render_bytes(r, str_from(user->pw_name), out);
	else
		buf_u64(out, v->bits);
}

/* ntop(): AF_INET or AF_INET6, then 4 or 16 bytes in the order of memory; text for no other kind */
static void print_inet(const struct renderer *r, const struct value *v, struct buf *out)
{
	uint32_t v4 = (uint32_t)v->extra;
	uint64_t v6[2] = {v->extra, v->third};
	char text[INET6_ADDRSTRLEN] = "";

	(void)r;
	if (v->bits == AF_INET)
		inet_ntop(AF_INET, &v4, text, sizeof(text));
	else if (v->bits == AF_INET6)
		inet_ntop(AF_INET6, v6, text, sizeof(text));
	buf_text(out, text);
}

/* cgroup_path(): a number, and the number of the filter among the record's names */
static void print_cgroup(const struct renderer *r, const struct value *v, struct buf *out)
{
	struct str filter = v->extra < r->name_count ? r->names[v->extra] : STR("*");
	struct buf text = BUF_INIT;

	cgroup_path(v->bits, filter, &text);
	render_bytes(r, buf_as_str(&text), out);
	out->failed |= text.failed;
	buf_free(&text);
}

/* A tuple, struct or array without elements: the type is called as it is shown. */
static void print_empty(const struct renderer *r, const struct value *v, struct buf *out)
{
	(void)r;
	buf_text(out, v->type->display);
}

struct display {
	const char *name; /* of the type, see DISPLAY_TYPE */
	void (*print)(const struct renderer *r, const struct value *v, struct buf *out);
};

static const struct display displays[] = {
	{"usym", print_usym},	      {"ksym", print_ksym},	  {"time", print_time},
	{"mac", print_mac},	      {"errno", print_enum_text}, {"signal", print_enum_text},
	{"syscall", print_enum_text}, {"comm", print_comm},	  {"user", print_user},
	{"inet", print_inet},	      {"cgroup", print_cgroup},	  {"()", print_empty},
	{"{}", print_empty},	      {"[]", print_empty},
};

void render_display(const struct renderer *r, const struct value *v, struct buf *out)
{
	for (size_t i = 0; i < COUNT(displays); i++) {
		if (!strcmp(v->type->display, displays[i].name)) {
			displays[i].print(r, v, out);
			return;
		}
	}
}
