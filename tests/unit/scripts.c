/* Random scripts at a probe, loaded into the kernel but attached to nothing: what our checker
 * accepts is never refused in the verifier's words. SCRIPTS=N loads N of them, SCRIPTS_SEED=S
 * begins with another one; SCRIPTS_SHOW=1 prints what was refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "help/random_script.h"

#include "engine/engine.h"
#include "script/script.h"

#define SCRIPTS 40

/* One probe, a:b, whose arguments are a number and an address. */
static int source_sites(void *self, const struct find_query *q, found_fn *fn, void *arg,
			struct diag *d)
{
	static struct argument args[2];
	static const size_t found = 0;
	static struct site site = {.provider = {"a", 1},
				   .name = {"b", 1},
				   .location = 0x1000,
				   .offset = 0x1000,
				   .args = args,
				   .arg_count = 2};
	struct site_list list = {.arch = arch_host(), .sites = &site, .count = 1};
	const struct found_image image = {
		.path = STR("./a"), .open_path = STR("./a"), .sites = &list};

	(void)self, (void)q, (void)d;
	for (unsigned i = 0; i < 2; i++) {
		operand_call_arg(list.arch, i, &args[i].operand);
		args[i].operand.size = 8;
		args[i].operand.is_signed = i == 0;
		args[i].operand.raw = STR("8@");
	}
	return fn(arg, &image, &found, 1);
}

static struct str source_function_at(void *self, const struct found_image *image, uint64_t offset)
{
	(void)self, (void)image, (void)offset;
	return STR("");
}

enum outcome { LOADED, REFUSED_BY_US, REFUSED_BY_KERNEL };

static bool load(struct str text, struct diag *d, bool *compiled)
{
	struct script_source source = {.sites = source_sites, .function_at = source_function_at};
	const struct script_options options = {.path = STR("random"), .max_strlen = 64};
	const struct engine_options engine_options = {0};
	struct script *script = NULL;
	struct program *p = NULL;
	struct engine *e = NULL;
	int err;

	err = script_parse(text, &options, &script, d);
	if (!err)
		err = script_resolve(script, &source, d);
	if (!err)
		err = script_compile(script, &p, d);
	*compiled = !err;
	if (!err)
		err = engine_bpf.open(&engine_options, &e, d);
	if (!err)
		err = engine_bpf.build(e, p, d);
	engine_bpf.close(e);
	script_free(script);
	return !err;
}

static void show(uint64_t seed, struct str text, const struct diag *d)
{
	struct buf why = BUF_INIT;

	diag_render(d, &why);
	printf("# script %llu, %zu bytes: %s\n", (unsigned long long)seed, text.len,
	       why.ptr ? why.ptr : "");
	if (getenv("SCRIPTS_SHOW"))
		printf("%.*s\n", STR_FMT(text));
	buf_free(&why);
}

static bool has_error(const struct diag *d, const char *tag)
{
	for (const struct message *m = d->first; m; m = m->next)
		if (m->tag && !strcmp(m->tag, tag))
			return true;
	return false;
}

static enum outcome try_script(uint64_t seed)
{
	struct script_maker m = {
		.number = "arg0", .text = "str(arg1, 40)", .address = seed % 2 ? "arg1" : NULL};
	struct diag d = DIAG_INIT;
	enum outcome out = LOADED;
	bool compiled;

	make_script(&m, seed, "usdt:./a:a:b");
	if (!load(buf_as_str(&m.out), &d, &compiled)) {
		out = REFUSED_BY_KERNEL;
		if (!compiled || has_error(&d, "too-complex"))
			out = REFUSED_BY_US;
		show(seed, buf_as_str(&m.out), &d);
	}
	diag_free(&d);
	buf_free(&m.out);
	return out;
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void no_script_was_refused_in_the_words_of_the_verifier(void **state)
{
	uint64_t first = setting("SCRIPTS_SEED", 1), count = setting("SCRIPTS", SCRIPTS);
	unsigned outcomes[3] = {0};

	(void)state;
	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	for (uint64_t seed = first; seed < first + count; seed++)
		outcomes[try_script(seed)]++;
	print_message("%u scripts loaded, %u refused by us, %u by the kernel\n", outcomes[LOADED],
		      outcomes[REFUSED_BY_US], outcomes[REFUSED_BY_KERNEL]);
	assert_int_equal(outcomes[REFUSED_BY_KERNEL], 0);
	assert_true(outcomes[LOADED] * 100 >= count * 95);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_script_was_refused_in_the_words_of_the_verifier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
