/* Probe patterns: what a script and an argument of `nopal list` make of the same text. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "find/pattern.h"
#include "script/script.h"

/* The parts as "PATH|PROVIDER|NAME", with unprintable bytes as \xNN. */
static void show_query(const struct find_query *q, struct buf *out)
{
	buf_escaped(out, q->path);
	buf_char(out, '|');
	buf_escaped(out, q->provider);
	buf_char(out, '|');
	buf_escaped(out, q->name);
}

static void show_message(const struct diag *d, struct buf *out)
{
	const struct message *m = d->first;

	assert_non_null(m);
	assert_null(m->next);
	buf_text(out, m->tag);
	if (m->span.path.len)
		buf_printf(out, " %zu+%zu", m->span.at + 1, m->span.len);
}

static void read_argument(const char *text, struct buf *out)
{
	struct arena a = ARENA_INIT;
	struct diag d = DIAG_INIT;
	struct find_query q;
	int err = pattern_query(str_from(text), &a, &q, &d);

	buf_clear(out);
	assert_true(!err || err == -EINVAL);
	if (err)
		show_message(&d, out);
	else
		show_query(&q, out);
	arena_free(&a);
	diag_free(&d);
}

static int take_query(void *run, const struct find_query *q, found_fn *fn, void *arg,
		      struct diag *d)
{
	(void)fn;
	(void)arg;
	(void)d;
	show_query(q, run);
	return 0;
}

static int ignore_probe(void *arg, struct str probe)
{
	(void)arg;
	(void)probe;
	return 0;
}

/* A pattern of `-l` is read as one at the start of a clause is. */
static void read_script(const char *text, struct buf *out)
{
	static const struct str params[] = {{"/bin/a b", 8}};
	const struct script_options options = {.pid = 7, .params = params, .param_count = 1};
	const struct script_source source = {.run = out, .sites = take_query};
	struct diag d = DIAG_INIT;

	buf_clear(out);
	if (script_list(str_from(text), &options, false, &source, ignore_probe, NULL, &d))
		show_message(&d, out);
	diag_free(&d);
}

#define SAME NULL /* as the argument */

/* clang-format off */
static const struct {
	const char *text, *argument;
	const char *script; /* refused: the tag, and column+length of the mark */
} cases[] = {
	/* parts */
	{"usdt:/bin/x:p:n",               "/bin/x|p|n",     SAME},
	{"U:/bin/x:p:n",                  "/bin/x|p|n",     SAME},
	{"usdt:/bin/x:n",                 "/bin/x||n",      SAME},
	{"usdt::p:n",                     "|p|n",           SAME},
	{"usdt:*:*:*start*",              "*|*|*start*",    SAME},
	{"usdt:/lib/a+b-1.so@%=~^:p:n",   "/lib/a+b-1.so@%=~^|p|n", SAME},
	/* strings: a whole part, or some of its bytes */
	{"usdt:\"/a:b c\":p:n",           "/a:b c|p|n",     SAME},
	{"usdt:\"\":p:n",                 "|p|n",           SAME},
	{"usdt:/a\":\"b\" {\"c:p:n",      "/a:b {c|p|n",    SAME},
	{"usdt:/x:\"p:q\":\"n,m\"",       "/x|p:q|n,m",     SAME},
	{"usdt:\"/\303\244\":p:n",        "/\303\244|p|n",  SAME},
	{"usdt:\"$1\":p:n",               "$1|p|n",         SAME},
	/* escapes */
	{"usdt:\"\\\"\\\\\\'\":p:n",      "\"\\'|p|n",      SAME},
	{"usdt:\"\\n\\t\\r\\a\\b\\f\\v\":p:n", "\\x0a\\x09\\x0d\\x07\\x08\\x0c\\x0b|p|n", SAME},
	{"usdt:\"\\x41\\x4a1\\x9.\":p:n", "AJ1\\x09.|p|n",  SAME},
	{"usdt:\"\\101\\0601\\1.\":p:n",  "A01\\x01.|p|n",  SAME},
	{"usdt:\\x41:p:n",                "\\x41|p|n",      SAME},
	/* an argument may leave parts out */
	{"/bin/x:p:n",                    "/bin/x|p|n",     "syntax 1+1"},
	{"/bin/x",                        "/bin/x||",       "||/bin/x"},
	{"usdt:/bin/x",                   "/bin/x||",       "||/bin/x"},
	{"usdt:*",                        "*||",            "||*"},
	{"",                              "||",             "syntax 1+0"},
	/* what ends a pattern in a script is plain in an argument */
	{"usdt:/a b:p:n",                 "/a b|p|n",       "syntax 9+1"},
	{"usdt:/a:p:n,m",                 "/a|p|n,m",       "/a|p|n||m"},
	{"usdt:/a:p:n{",                  "/a|p|n{",        "syntax 12+1"},
	{"usdt:/a:p:n;",                  "/a|p|n;",        "syntax 12+1"},
	{"usdt:/a:p:n/m",                 "/a|p|n/m",       "syntax 12+1"},
	{"usdt:/a\n:p:n",                 "/a\\x0a|p|n",    "syntax 1+1"},
	/* in an argument, a string may have any byte, and any escape */
	{"usdt:\"/a\nb\":p:n",            "/a\\x0ab|p|n",   "open-string 6+3"},
	{"usdt:\"/a\\:b\":p:n",           "/a:b|p|n",       "bad-escape 9+2"},
	{"usdt:\"\\xg\":p:n",             "xg|p|n",         "bad-escape 7+2"},
	/* parameters are a script's */
	{"usdt:$1:p:n",                   "$1|p|n",         "/bin/a b|p|n"},
	{"usdt:/x$1$:p:n",                "/x$1$|p|n",      "/x/bin/a b$|p|n"},
	{"usdt:$2:p:n",                   "$2|p|n",         "missing-param 6+2"},
	/* mistakes */
	{"usdt:a:b:c:d",                  "bad-pattern",    "bad-probe 1+12"},
	{"usdt:a:b:c:d:e:f",              "bad-pattern",    "bad-probe 1+15"},
	{"a:b:c:d:e:f",                   "bad-pattern",    "unknown-probe-type 1+1"},
	{"usdt:\"a:b:c",                  "bad-pattern",    "open-string 6+6"},
	{"usdt:\"a\\\":b:c",              "bad-pattern",    "open-string 6+8"},
	{"usdt:\"a\\",                    "bad-pattern",    "bad-escape 8+2"},
	{"\"",                            "bad-pattern",    "bad-pattern"},
};
/* clang-format on */

static void both_faces_read_alike(void **state)
{
	struct buf out = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *script = cases[i].script ? cases[i].script : cases[i].argument;

		read_argument(cases[i].text, &out);
		assert_string_equal(out.ptr, cases[i].argument);
		read_script(cases[i].text, &out);
		assert_string_equal(out.ptr, script);
	}
	buf_free(&out);
}

/* Any bytes, quoted and read again, are the same bytes, on both faces. */
static void quoting_is_undone_by_reading(void **state)
{
	struct buf text = BUF_INIT, want = BUF_INIT, out = BUF_INIT;

	(void)state;
	for (unsigned c = 1; c < 256; c++) {
		char path[] = {'/', 'a', (char)c, 'b'};
		const struct find_query q = {
			.path = str_of(path, 4), .provider = STR("p"), .name = STR("n")};

		buf_clear(&text);
		buf_clear(&want);
		buf_text(&text, "usdt:");
		pattern_quote(q.path, &text);
		buf_text(&text, ":p:n");
		show_query(&q, &want);
		read_argument(text.ptr, &out);
		assert_string_equal(out.ptr, want.ptr);
		read_script(text.ptr, &out);
		assert_string_equal(out.ptr, want.ptr);
	}
	buf_free(&text);
	buf_free(&want);
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_faces_read_alike),
		cmocka_unit_test(quoting_is_undone_by_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
