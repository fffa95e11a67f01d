/* A site as text: the pattern that names it, an argument in words, its declaration, JSON. */
#include "base/export.h"
#include "base/json.h"
#include "script/script.h"
#include "api/site.h"

/* The buffer's bytes, for the caller to free. */
static char *give_text(struct buf *b)
{
	buf_char(b, '\0');
	if (!b->failed)
		return b->ptr;
	buf_free(b);
	return NULL;
}

NOPAL_EXPORT char *nopal_site_pattern(const struct nopal_site *s)
{
	struct buf text = BUF_INIT;

	if (!s)
		return NULL;
	buf_text(&text, "usdt:");
	script_quote(s->image->path, &text);
	buf_char(&text, ':');
	script_quote(s->site->provider, &text);
	buf_char(&text, ':');
	script_quote(s->site->name, &text);
	return give_text(&text);
}

NOPAL_EXPORT char *nopal_site_arg_text(const struct nopal_site *s, unsigned index)
{
	struct buf text = BUF_INIT;

	if (!s)
		return NULL;
	if (index < s->site->operand_count)
		operand_describe(&s->site->operands[index], s->image->sites->arch, &text);
	return give_text(&text);
}

NOPAL_EXPORT char *nopal_site_declaration(const struct nopal_site *s)
{
	const struct known_site *known = site_know(s);
	struct buf text = BUF_INIT;

	if (!s)
		return NULL;
	if (known)
		known_site_show(known, s->site, &text);
	return give_text(&text);
}

NOPAL_EXPORT char *nopal_site_description(const struct nopal_site *s)
{
	const struct known_site *known = site_know(s);
	struct buf text = BUF_INIT;

	if (!s)
		return NULL;
	if (known)
		buf_escaped(&text, known->text);
	return give_text(&text);
}

static void json_optional(struct json *j, const char *key, const char *text)
{
	if (!text)
		return;
	json_key(j, key);
	json_text(j, text);
}

static void json_number(struct json *j, const char *key, int64_t value)
{
	json_key(j, key);
	json_s64(j, value);
}

static void json_flag(struct json *j, const char *key, bool value)
{
	json_key(j, key);
	json_bool(j, value);
}

/* What the program or a provider file tells of an argument. */
static void json_description(struct json *j, const struct nopal_arg *arg)
{
	json_optional(j, "name", arg->name);
	json_optional(j, "type", arg->type);
	json_optional(j, "class", arg->type_class);
	json_optional(j, "source", arg->source);
	if (arg->name || arg->type || arg->source)
		json_flag(j, "string", arg->is_string);
	if (arg->length >= 0)
		json_number(j, "length_argument", arg->length);
}

static void json_arg(struct json *j, const struct nopal_arg *arg)
{
	static const char *const kinds[] = {
		[NOPAL_ARG_CONSTANT] = "constant",
		[NOPAL_ARG_REGISTER] = "register",
		[NOPAL_ARG_MEMORY] = "memory",
		[NOPAL_ARG_UNKNOWN] = "unknown",
	};

	json_open(j, '{');
	json_description(j, arg);
	json_number(j, "size", arg->size);
	json_flag(j, "signed", arg->is_signed);
	json_flag(j, "float", arg->is_float);
	json_key(j, "kind");
	json_text(j, kinds[arg->kind]);
	json_optional(j, "register", arg->reg);
	if (arg->shift)
		json_number(j, "shift", arg->shift);
	json_optional(j, "base", arg->base);
	json_optional(j, "index", arg->index);
	if (arg->index)
		json_number(j, "scale", arg->scale);
	if (arg->kind == NOPAL_ARG_CONSTANT)
		json_number(j, "value", arg->value);
	if (arg->kind == NOPAL_ARG_MEMORY)
		json_number(j, "offset", arg->value);
	json_key(j, "raw");
	json_str(j, str_of(arg->raw, arg->raw_len));
	json_optional(j, "problem", arg->problem);
	json_close(j, '}');
}

static void json_field(struct json *j, const char *key, struct str text)
{
	json_key(j, key);
	json_str(j, text);
}

static void json_address(struct json *j, const char *key, uint64_t value)
{
	json_key(j, key);
	json_hex(j, value);
}

static void json_site(struct json *j, const struct nopal_site *s)
{
	const struct known_site *known = site_know(s);
	struct nopal_arg arg;

	json_open(j, '{');
	json_field(j, "file", s->image->path);
	json_field(j, "build_id", s->image->sites->build_id);
	json_field(j, "provider", s->site->provider);
	json_field(j, "name", s->site->name);
	json_address(j, "location", s->site->location);
	json_address(j, "base", s->site->base);
	json_address(j, "semaphore", s->site->semaphore);
	json_optional(j, "source_file", nopal_site_source_file(s));
	if (nopal_site_source_line(s))
		json_number(j, "source_line", nopal_site_source_line(s));
	if (known && known->text.len)
		json_field(j, "description", known->text);
	json_field(j, "args", s->site->args);
	json_key(j, "arguments");
	json_open(j, '[');
	for (unsigned i = 0; !nopal_site_arg(s, i, &arg); i++)
		json_arg(j, &arg);
	json_close(j, ']');
	json_optional(j, "problem", s->site->problem);
	json_close(j, '}');
}

NOPAL_EXPORT char *nopal_site_json(const struct nopal_site *s)
{
	struct buf text = BUF_INIT;
	struct json j = {.out = &text};

	if (!s)
		return NULL;
	json_site(&j, s);
	return give_text(&text);
}
