/* Recorded events, as state.h describes them. */

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/file.h"
#include "engine/interp/state.h"

#define FILE_MOST  ((size_t)64 << 20)
#define EVENT_STEP 1000	      /* ns from one event to the next that gives no time */
#define CODE_AT	   0x400000   /* where a file's code is mapped */
#define TEXT_AT	   0x10000000 /* text of the first argument; of each other TEXT_STEP after it */
#define TEXT_STEP  0x1000000
#define BASE_AT	   0x7fff00000000 /* what base registers hold: BASE_STEP apart */
#define BASE_STEP  0x1000000

/* word = character { character }, up to a blank */
static struct str take_word(struct str *rest)
{
	size_t len = 0;

	while (len < rest->len && !memchr(" \t\r", rest->ptr[len], 3))
		len++;
	*rest = str_of(rest->ptr + len, rest->len - len);
	return str_of(rest->ptr - len, len);
}

/* text = '"' { character | '\' character } '"'; \n is a new line. */
static const char *take_text(struct str *rest, struct arena *a, struct str *out)
{
	char *to = arena_alloc(a, rest->len + 1);
	size_t at = 1, len = 0;

	if (!to)
		return "out of memory";
	for (; at < rest->len && rest->ptr[at] != '"'; at++) {
		bool escaped = rest->ptr[at] == '\\' && at + 1 < rest->len;

		at += escaped;
		to[len++] = escaped && rest->ptr[at] == 'n' ? '\n' : rest->ptr[at];
	}
	if (at >= rest->len)
		return "unterminated quote";
	to[len] = '\0';
	*out = str_of(to, len);
	*rest = str_of(rest->ptr + at + 1, rest->len - at - 1);
	return NULL;
}

/* "pid=12" */
static const char *take_setting(struct str word, struct recorded *out)
{
	struct context *c = &out->context;
	/* clang-format off */
	const struct {
		const char *name;
		uint32_t *narrow;
		uint64_t *wide;
	} settings[] = {
		{ "pid",    &c->pid,  NULL       }, { "tid",    &c->tid,  NULL       },
		{ "uid",    &c->uid,  NULL       }, { "gid",    &c->gid,  NULL       },
		{ "cpu",    &c->cpu,  NULL       }, { "nsecs",  NULL,     &c->nsecs  },
		{ "ip",     NULL,     &c->ip     }, { "rand",   &c->rand, NULL       },
		{ "cgroup", NULL,     &c->cgroup },
	};
	/* clang-format on */
	struct str name = str_cut(&word, '=');
	uint64_t value;

	if (str_to_u64(word, &value))
		return "a setting is NAME=NUMBER";
	for (size_t i = 0; i < COUNT(settings); i++) {
		if (!str_eq_text(name, settings[i].name))
			continue;
		if (!settings[i].wide && value > UINT32_MAX)
			return "pid, tid, uid, gid, cpu and rand have 32 bits";
		if (settings[i].wide)
			*settings[i].wide = value;
		else
			*settings[i].narrow = (uint32_t)value;
		return NULL;
	}
	return "unknown setting: use pid, tid, uid, gid, cpu, nsecs, ip, rand or cgroup";
}

static bool is_number(struct str word)
{
	uint64_t bits;
	int64_t value;
	char *end;

	if (!str_to_u64(word, &bits) || !str_to_s64(word, &value))
		return true;
	strtod(word.ptr, &end); /* the line ends in a newline or NUL */
	return word.len && end == word.ptr + word.len;
}

static const char *take_part(struct str *rest, struct arena *a, struct recorded *out)
{
	struct recorded_arg *arg = &out->args[out->arg_count];
	struct str word;

	if (out->arg_count == REPLAY_ARGS)
		return "too many arguments: the limit is 16";
	if (*rest->ptr == '"') {
		out->arg_count++;
		return take_text(rest, a, &arg->text);
	}
	word = take_word(rest);
	if (str_index(word, '=') > 0)
		return take_setting(word, out);
	if (!is_number(word))
		return "an argument is a number or a text in double quotes";
	arg->raw = word;
	out->arg_count++;
	return NULL;
}

int replay_next(struct replay *r, struct arena *a, struct recorded *out, struct diag *d)
{
	struct str line = str_trim(str_cut(&r->rest, '\n'));
	const char *why = NULL;

	*out = (struct recorded){.context = {.pid = 1000,
					     .tid = 1000,
					     .ncpus = 1,
					     .comm = STR("recorded"),
					     .nsecs = r->nsecs + EVENT_STEP}};
	r->line++;
	if (line.len && *line.ptr != '#')
		out->site = take_word(&line);
	for (line = str_trim(line); out->site.len && line.len && !why; line = str_trim(line))
		why = take_part(&line, a, out);
	if (why)
		return diag_error(d, -EINVAL, "bad-events", "%s:%u: %s", r->path, r->line, why);
	out->context.stack_pid = out->context.pid;
	if (out->site.len)
		r->nsecs = out->context.nsecs;
	return 0;
}

int replay_open(struct replay *r, const char *path, struct diag *d)
{
	struct arena a = ARENA_INIT;
	int err;

	*r = (struct replay){.path = path};
	err = file_slurp(path, FILE_MOST, &r->text);
	if (err)
		return diag_error(d, err, "bad-events", "cannot read the events in '%s': %s", path,
				  strerror(-err));
	for (r->rest = buf_as_str(&r->text); r->rest.len && !err;) {
		struct recorded unused;

		err = replay_next(r, &a, &unused, d);
		arena_free(&a);
	}
	r->rest = buf_as_str(&r->text);
	r->line = 0;
	r->nsecs = 0;
	return err;
}

void replay_close(struct replay *r)
{
	buf_free(&r->text);
	*r = (struct replay){0};
}

bool recorded_is_at(const struct recorded *event, struct str name)
{
	size_t before = name.len - event->site.len;

	return event->site.len && str_ends(name, event->site) &&
	       (!before || name.ptr[before - 1] == ':');
}

/* The bits that an operand is to read. */
static uint64_t arg_bits(const struct recorded_arg *arg, const struct operand *o, unsigned n)
{
	uint64_t bits = 0;
	double wide;
	float narrow;

	if (!arg->raw.len)
		return TEXT_AT + (uint64_t)n * TEXT_STEP;
	if (!o->is_float) {
		if (str_to_u64(arg->raw, &bits))
			str_to_s64(arg->raw, (int64_t *)&bits);
		return bits;
	}
	wide = strtod(arg->raw.ptr, NULL);
	narrow = (float)wide;
	memcpy(&bits, o->size == 4 ? (void *)&narrow : (void *)&wide, o->size == 4 ? 4 : 8);
	return bits;
}

int recorded_fill(const struct recorded *event, const struct attach *at, struct arena *a,
		  struct context *out)
{
	unsigned count = event->arg_count < at->arg_count ? event->arg_count : at->arg_count;
	struct area *areas = arena_array(a, struct area, 2 * count + 1);
	uint64_t *words = arena_array(a, uint64_t, count + 1);
	struct context *c = out;

	if (!areas || !words)
		return -ENOMEM;
	*c = event->context;
	c->areas = areas;
	c->ip = c->ip ? c->ip : CODE_AT + at->offset;
	for (unsigned i = 0; i < count; i++) {
		const struct operand *o = &at->args[i].operand;

		if ((o->kind == OPERAND_MEM || o->kind == OPERAND_ADDRESS) && o->base != REG_NONE &&
		    o->base != at->arch->pc)
			c->regs[o->base] = BASE_AT + (uint64_t)o->base * BASE_STEP;
	}
	for (unsigned i = 0; i < count; i++) /* these may be bases, too */
		if (at->args[i].operand.kind == OPERAND_REG)
			c->regs[at->args[i].operand.reg] =
				arg_bits(&event->args[i], &at->args[i].operand, i)
				<< at->args[i].operand.reg_shift;
	for (unsigned i = 0; i < count; i++) {
		const struct operand *o = &at->args[i].operand;
		const struct recorded_arg *arg = &event->args[i];

		if (!arg->raw.len)
			areas[c->area_count++] = (struct area){
				arg_bits(arg, o, i), str_of(arg->text.ptr, arg->text.len + 1)};
		if (o->kind != OPERAND_MEM)
			continue;
		words[i] = arg_bits(arg, o, i); /* in host order */
		if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
			words[i] <<= 64 - 8 * o->size;
		areas[c->area_count++] = (struct area){operand_address(c, at->arch, o),
						       str_of((const char *)&words[i], o->size)};
	}
	return 0;
}
