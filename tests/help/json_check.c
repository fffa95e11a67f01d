#include "help/json_check.h"

#include <ctype.h>
#include <string.h>

struct json_text {
	const unsigned char *at, *end;
};

static void json_blanks(struct json_text *j)
{
	while (j->at < j->end && memchr(" \t\n\r", *j->at, 4))
		j->at++;
}

static bool json_take(struct json_text *j, char c)
{
	if (j->at == j->end || *j->at != (unsigned char)c)
		return false;
	j->at++;
	return true;
}

static bool json_word(struct json_text *j, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(j->end - j->at) < len || memcmp(j->at, word, len) != 0)
		return false;
	j->at += len;
	return true;
}

/* One character beyond ASCII: no surrogates, nothing longer than it need be. */
static bool json_utf8(struct json_text *j)
{
	static const struct {
		unsigned char first, mask, more;
		unsigned least;
	} forms[] = {{0xc0, 0xe0, 1, 0x80}, {0xe0, 0xf0, 2, 0x800}, {0xf0, 0xf8, 3, 0x10000}};
	unsigned char c = *j->at++;

	for (size_t i = 0; i < 3; i++) {
		unsigned value = c & (unsigned char)~forms[i].mask;

		if ((c & forms[i].mask) != forms[i].first)
			continue;
		for (unsigned n = 0; n < forms[i].more; n++) {
			if (j->at == j->end || (*j->at & 0xc0) != 0x80)
				return false;
			value = value << 6 | (*j->at++ & 0x3f);
		}
		return value >= forms[i].least && value <= 0x10ffff &&
		       (value < 0xd800 || value > 0xdfff);
	}
	return false;
}

static bool json_escape(struct json_text *j)
{
	if (j->at == j->end)
		return false;
	if (*j->at != 'u')
		return memchr("\"\\/bfnrt", *j->at++, 8);
	j->at++;
	for (int i = 0; i < 4; i++)
		if (j->at == j->end || !isxdigit(*j->at++))
			return false;
	return true;
}

static bool json_string(struct json_text *j)
{
	if (!json_take(j, '"'))
		return false;
	while (j->at < j->end) {
		unsigned char c = *j->at;

		if (c < ' ')
			return false;
		if (c >= 0x80) {
			if (!json_utf8(j))
				return false;
			continue;
		}
		j->at++;
		if (c == '"')
			return true;
		if (c == '\\' && !json_escape(j))
			return false;
	}
	return false;
}

static bool json_digits(struct json_text *j)
{
	const unsigned char *start = j->at;

	while (j->at < j->end && isdigit(*j->at))
		j->at++;
	return j->at > start;
}

static bool json_number(struct json_text *j)
{
	json_take(j, '-');
	if (!json_take(j, '0') && !json_digits(j))
		return false;
	if (json_take(j, '.') && !json_digits(j))
		return false;
	if (!json_take(j, 'e') && !json_take(j, 'E'))
		return true;
	if (!json_take(j, '+'))
		json_take(j, '-');
	return json_digits(j);
}

static bool json_value(struct json_text *j, int depth);

static bool json_members(struct json_text *j, bool named, char close, int depth)
{
	json_blanks(j);
	if (json_take(j, close))
		return true;
	do {
		json_blanks(j);
		if (named) {
			if (!json_string(j))
				return false;
			json_blanks(j);
			if (!json_take(j, ':'))
				return false;
		}
		if (!json_value(j, depth + 1))
			return false;
		json_blanks(j);
	} while (json_take(j, ','));
	return json_take(j, close);
}

static bool json_value(struct json_text *j, int depth)
{
	json_blanks(j);
	if (depth > 100 || j->at == j->end)
		return false;
	switch (*j->at) {
	case '{': j->at++; return json_members(j, true, '}', depth);
	case '[': j->at++; return json_members(j, false, ']', depth);
	case '"': return json_string(j);
	case 't': return json_word(j, "true");
	case 'f': return json_word(j, "false");
	case 'n': return json_word(j, "null");
	default: return json_number(j);
	}
}

bool json_is_valid(const char *text, size_t len)
{
	struct json_text j = {(const unsigned char *)text, (const unsigned char *)text + len};

	if (!json_value(&j, 0))
		return false;
	json_blanks(&j);
	return j.at == j.end;
}

bool json_lines_are_valid(const char *text, size_t len)
{
	while (len) {
		const char *end = memchr(text, '\n', len);

		if (!end || !json_is_valid(text, (size_t)(end - text)))
			return false;
		len -= (size_t)(end - text) + 1;
		text = end + 1;
	}
	return true;
}
