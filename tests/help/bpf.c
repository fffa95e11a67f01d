#include "help/bpf.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the traced program: tests/targets/bpf_sites.c, a private copy */

long target_tell(struct target *t, const char *line)
{
	return puppet_tell(&t->puppet, line, "sema");
}

static void target_copy(struct target *t)
{
	const char *dir = getenv("TARGETS") ? getenv("TARGETS") : "build/targets";
	char command[1024];

	snprintf(t->path, sizeof(t->path), "/tmp/nopal-bpf-test.%d.XXXXXX", getpid());
	close(mkstemp(t->path));
	snprintf(command, sizeof(command), "cp %s/bpf_sites %s && chmod 755 %s", dir, t->path,
		 t->path);
	assert_int_equal(system(command), 0);
}

void target_start(struct target *t)
{
	char line[128];

	memset(t, 0, sizeof(*t));
	target_copy(t);
	puppet_start(&t->puppet, t->path, 0);
	while (fgets(line, sizeof(line), t->puppet.from) && strcmp(line, "ready\n"))
		if (sscanf(line, "%15s %lu", t->sites[t->site_count].name,
			   &t->sites[t->site_count].offset) == 2)
			t->site_count++;
	assert_true(t->site_count > 5);
}

void target_stop(struct target *t)
{
	puppet_stop(&t->puppet);
	unlink(t->path);
}

unsigned long target_offset(const struct target *t, const char *name)
{
	for (int i = 0; i < t->site_count; i++)
		if (!strcmp(t->sites[i].name, name))
			return t->sites[i].offset;
	fail_msg("no site '%s'", name);
	return 0;
}

/* ---- a program made by hand */

struct make *make_new(void)
{
	struct make *m = calloc(1, sizeof(*m));

	m->p.arena = &m->arena;
	m->p.clauses = m->clauses;
	m->p.maps = m->maps;
	m->p.formats = m->formats;
	m->p.literals = m->literals;
	m->p.names = m->names;
	m->p.spans = m->spans;
	m->p.span_count = 64;
	m->names[m->p.name_count++] = STR("usdt:test");
	m->names[m->p.name_count++] = STR("main");
	return m;
}

void make_free(struct make *m)
{
	file_drop(m->file);
	arena_free(&m->arena);
	free(m);
}

struct clause *make_clause(struct make *m, uint32_t regs)
{
	struct clause *c = &m->clauses[m->p.clause_count];

	c->code = m->code[m->p.clause_count];
	c->slots = m->slots[m->p.clause_count];
	c->attaches = m->attaches[m->p.clause_count];
	c->reg_count = regs;
	m->p.clause_count++;
	return c;
}

struct attach *make_place(struct make *m, enum attach_kind kind)
{
	struct clause *c = &m->clauses[m->p.clause_count - 1];
	struct attach *a = &m->attaches[m->p.clause_count - 1][c->attach_count++];

	a->kind = kind;
	a->func = 1;
	a->arch = arch_host();
	return a;
}

struct attach *make_site(struct make *m, const struct target *t, const char *name, const char *args)
{
	struct attach *a = make_place(m, ATTACH_UPROBE);
	struct argument *args_read = NULL;

	a->path = str_from(t->path);
	if (!m->file)
		assert_int_equal(file_open(t->path, &m->file, NULL), 0);
	a->file = m->file;
	a->offset = target_offset(t, name);
	a->is_static = true;
	assert_int_equal(
		arguments_parse(a->arch, str_from(args), &m->arena, &args_read, &a->arg_count), 0);
	a->args = args_read;
	return a;
}

struct attach *make_function(struct make *m, const struct target *t, const char *name)
{
	struct attach *a = make_site(m, t, name, "");

	a->is_static = false;
	return a;
}

uint16_t make_slot(struct make *m, struct type type)
{
	struct clause *c = &m->clauses[m->p.clause_count - 1];

	m->slots[m->p.clause_count - 1][c->slot_count].type = type;
	return (uint16_t)c->slot_count++;
}

uint32_t make_insn(struct make *m, struct insn in)
{
	struct clause *c = &m->clauses[m->p.clause_count - 1];

	in.span = in.span ? in.span : c->insn_count;
	m->code[m->p.clause_count - 1][c->insn_count] = in;
	return c->insn_count++;
}

uint16_t make_map(struct make *m, struct type key, struct type value, uint32_t most)
{
	m->maps[m->p.map_count] = (struct map_def){
		.name = STR("@m"), .key = key, .value = value, .max_entries = most};
	return (uint16_t)m->p.map_count++;
}

int64_t make_format(struct make *m, enum format_kind kind, const struct type *fields,
		    unsigned count)
{
	m->formats[m->p.format_count] = (struct format){
		.kind = kind, .text = STR("x"), .fields = fields, .field_count = count};
	return m->p.format_count++;
}

void make_print(struct make *m, const struct type *types, const struct field *fields,
		unsigned count)
{
	ADD(m, .op = OP_EMIT, .imm = make_format(m, FORMAT_PRINTF, types, count),
	    .field_count = (uint8_t)count, .fields = fields);
}

struct make *make_counter(const struct target *t)
{
	struct make *m = make_new();

	make_clause(m, 1);
	make_site(m, t, "int", ARGS_INT);
	make_map(m, none, counter, 1);
	ADD(m, .op = OP_AGGREGATE, .s = SLOT_NO, .a = REG_NO);
	return m;
}

/* ---- an engine that runs it */

void show_messages(struct run *r)
{
	struct buf b = BUF_INIT;

	diag_render(&r->d, &b);
	if (b.len)
		print_message("%s", b.ptr);
	buf_free(&b);
}

int run_start(struct run *r, struct make *m, struct engine_options o)
{
	int err;

	*r = (struct run){.m = m, .d = DIAG_INIT, .text = BUF_INIT};
	for (uint32_t i = 0; i < m->p.clause_count; i++) {
		struct clause *c = &m->clauses[i];

		if (!c->insn_count || c->code[c->insn_count - 1].op != OP_RETURN)
			m->code[i][c->insn_count++] = (struct insn){.op = OP_RETURN};
	}
	err = program_check(&m->p, &r->d);
	if (err) {
		show_messages(r);
		fail();
	}
	assert_int_equal(engine_bpf.open(&o, &r->e, &r->d), 0);
	err = engine_bpf.build(r->e, &m->p, &r->d);
	if (err && getenv("DUMP")) {
		struct buf b = BUF_INIT;
		engine_bpf.dump(r->e, &b);
		fprintf(stderr, "%s", b.ptr);
		buf_free(&b);
	}
	if (!err)
		err = engine_bpf.attach(r->e, &r->d);
	return err;
}

void run_stop(struct run *r)
{
	engine_bpf.close(r->e);
	diag_free(&r->d);
	buf_free(&r->text);
	make_free(r->m);
}

static void show_value(struct buf *b, const struct value *v)
{
	switch (v->type->kind) {
	case TYPE_STR:
	case TYPE_BUF:
		buf_printf(b, "'%.*s'", STR_FMT(v->bytes));
		if (v->flags)
			buf_printf(b, "!%u", v->flags);
		break;
	case TYPE_USTACK:
	case TYPE_KSTACK:
	case TYPE_LSTACK: buf_printf(b, "stack of %zu", v->bytes.len / 8); break;
	default: buf_s64(b, (int64_t)v->bits); break;
	}
}

static int take_record(void *arg, struct str bytes)
{
	struct run *r = arg;
	struct record record;
	struct value v;

	assert_int_equal(record_open(&r->m->p, bytes, &record), 0);
	r->records++;
	if (record.format->kind != FORMAT_PRINTF)
		buf_printf(&r->text, "<%d>", (int)record.format->kind);
	for (unsigned i = 0; i < record.format->field_count; i++) {
		assert_int_equal(record_field(&record, &record.format->fields[i], &v), 0);
		if (i)
			buf_char(&r->text, ' ');
		show_value(&r->text, &v);
	}
	assert_int_equal(cursor_left(&record.rest), 0);
	buf_char(&r->text, ';');
	return 0;
}

const char *run_text(struct run *r)
{
	while (engine_bpf.drain(r->e, 0, take_record, r) > 0)
		;
	return r->text.ptr ? r->text.ptr : "";
}

int show_entry(void *arg, struct str key, struct str value)
{
	struct map_text *t = arg;
	const struct map_def *def = &t->r->m->maps[t->map];
	struct cursor c = cursor_of(key.ptr, key.len, false);
	struct value v;
	uint64_t word;

	if (def->key.kind == TYPE_TUPLE) {
		for (unsigned i = 0; i < def->key.element_count; i++) {
			assert_int_equal(value_decode(&def->key.elements[i], &c, &v), 0);
			show_value(&t->out, &v);
			buf_char(&t->out, ',');
		}
	} else if (def->key.kind != TYPE_NONE) {
		assert_int_equal(value_decode(&def->key, &c, &v), 0);
		show_value(&t->out, &v);
	}
	buf_char(&t->out, ':');
	c = cursor_of(value.ptr, value.len, false);
	if (def->value.kind == TYPE_STR) {
		assert_int_equal(value_decode(&def->value, &c, &v), 0);
		show_value(&t->out, &v);
	} else if (def->value.kind == TYPE_HIST || def->value.kind == TYPE_LHIST) {
		for (unsigned i = 0; cursor_u64(&c, &word); i++)
			if (word)
				buf_printf(&t->out, "[%u]=%llu ", i, (unsigned long long)word);
	} else {
		for (unsigned i = 0; cursor_u64(&c, &word); i++)
			buf_printf(&t->out, i ? " %lld" : "%lld", (long long)word);
	}
	buf_char(&t->out, ';');
	return 0;
}

void assert_map(struct run *r, uint32_t map, const char *want)
{
	struct map_text t = {r, map, BUF_INIT};

	assert_int_equal(map_each(&r->e->maps, map, show_entry, &t), 0);
	assert_string_equal(t.out.ptr ? t.out.ptr : "", want);
	buf_free(&t.out);
}

/* ---- clauses that need no traced program: BEGIN, run by the kernel on demand */

void assert_run(struct make *m, const char *want)
{
	struct run r;

	EXPECT_START(r, m, 0);
	for (uint32_t i = 0; i < m->p.clause_count; i++)
		assert_int_equal(engine_bpf.run(r.e, ATTACH_BEGIN, 0, i, &r.d), 0);
	assert_string_equal(run_text(&r), want);
	run_stop(&r);
}

struct make *make_begin(uint32_t regs)
{
	struct make *m = make_new();

	make_clause(m, regs);
	make_place(m, ATTACH_BEGIN);
	return m;
}

void add_unknown(struct make *m, uint16_t d, int64_t value)
{
	uint16_t map = make_map(m, none, int_type, 1);

	ADD(m, .op = OP_CONST, .d = d, .imm = value);
	ADD(m, .op = OP_MAP_SET, .s = SLOT_NO, .map = map, .a = d);
	ADD(m, .op = OP_MAP_GET, .d = d, .s = SLOT_NO, .map = map);
}
