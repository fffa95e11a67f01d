/* Maps. Everything that changes a value is one atomic instruction or a compare-and-exchange loop:
 * the programs are preemptible, so even what belongs to one CPU has several writers. A key that two
 * programs insert at once is inserted by one of them and found by the other. */
#include "engine/bpf/gen.h"

#include <errno.h>

#define INSERT_TRIES	   3
#define FUNC_PERCPU_LOOKUP 195

/* The kernel map to ask and where its key lies. */
struct key {
	const struct store_map *map;
	struct home home;
};

/* R1 = the kernel map; a map of a group is looked up, which ruins R0 to R5. It is always there:
 * the way out is only for the verifier. */
static void take_map(struct gen *g, const struct store_map *map)
{
	struct code *c = g->code;

	if (map->group_fd < 0) {
		code_map(c, R1, map->fd);
		return;
	}
	code_store_imm(c, 4, FRAME, STACK_D, (int32_t)map->group_at);
	code_map(c, R1, map->group_fd);
	gen_address(g, R2, (struct home){false, STACK_D}, 0);
	code_call(c, BPF_FUNC_map_lookup_elem);
	code_jump_imm(c, BPF_JEQ, R0, 0, g->end);
	code_mov(c, R1, R0);
}

static const struct store *store_of(const struct gen *g, const struct insn *in)
{
	return &g->world->stores[in->map];
}

typedef void map_fn(struct gen *g, const struct insn *in, const struct store *s,
		    const struct key *key);

/* Are all texts and stacks of the key short? Else jump to `is_long`. */
static void check_short(struct gen *g, const struct type *t, struct home at, int32_t more,
			int is_long)
{
	if (t->kind == TYPE_TUPLE) {
		for (unsigned i = 0; i < t->element_count; i++) {
			check_short(g, &t->elements[i], at, more, is_long);
			more += (int32_t)type_memory(&t->elements[i]);
		}
		return;
	}
	if (store_short_size(t) == type_memory(t))
		return;
	code_load(g->code, 4, R1, gen_base(at), at.offset + more);
	code_jump_imm(g->code, BPF_JGT, R1, (int32_t)STORE_SHORT, is_long);
}

/* Put the short form of a tuple together in the frame's place for it. */
static void make_short(struct gen *g, const struct type *t, struct home from, int32_t *from_at,
		       int32_t *to_at)
{
	struct home to = {true, g->frame->key};

	if (t->kind == TYPE_TUPLE) {
		for (unsigned i = 0; i < t->element_count; i++)
			make_short(g, &t->elements[i], from, from_at, to_at);
		return;
	}
	gen_copy(g, to, *to_at, from, *from_at, store_short_size(t));
	*from_at += (int32_t)type_memory(t);
	*to_at += (int32_t)store_short_size(t);
}

/* A number that code reaches without a call. */
static bool is_named_cell(const struct store *s)
{
	return s->kind == STORE_CELL && s->map.group_fd < 0;
}

/* Generate `fn` for the key of an instruction; twice when short and long keys live apart. */
static void with_key(struct gen *g, const struct insn *in, map_fn *fn)
{
	const struct store *s = store_of(g, in);
	struct key key = {&s->map, {false, STACK_KEY}};
	int is_long, done;

	if (s->kind != STORE_HASH || in->s == SLOT_NO) {
		if (!is_named_cell(s))
			code_store_imm(g->code, 8, FRAME, STACK_KEY, 0);
		fn(g, in, s, &key);
		return;
	}
	key.home = gen_slot(g, in->s);
	if (s->long_map.fd < 0) {
		fn(g, in, s, &key);
		return;
	}
	is_long = code_label(g->code);
	done = code_label(g->code);
	check_short(g, &s->def->key, key.home, 0, is_long);
	if (s->def->key.kind == TYPE_TUPLE) {
		int32_t from = 0, to = 0;

		make_short(g, &s->def->key, key.home, &from, &to);
		fn(g, in, s, &(struct key){&s->map, {true, g->frame->key}});
	} else { /* the start of the slot is the short key */
		fn(g, in, s, &key);
	}
	code_jump(g->code, done);
	code_bind(g->code, is_long);
	key.map = &s->long_map;
	fn(g, in, s, &key);
	code_bind(g->code, done);
}

/* R0 = the value, or 0 when there is none. */
static void look_up(struct gen *g, const struct store *s, const struct key *key)
{
	if (is_named_cell(s)) {
		code_map_value(g->code, R0, s->map.fd, 0);
		return;
	}
	take_map(g, key->map);
	gen_address(g, R2, key->home, 0);
	code_call(g->code, BPF_FUNC_map_lookup_elem);
	if (s->kind == STORE_CELL)
		code_jump_imm(g->code, BPF_JEQ, R0, 0, g->end);
}

/* Are keys counted here, since two kernel maps share one limit? */
static bool is_counted(const struct store *s)
{
	return s->long_map.fd >= 0;
}

/* R2 = `by`, then the number of keys there were before; ruins R1. */
static void count_key(struct gen *g, const struct store *s, int by)
{
	code_map_value(g->code, R1, g->world->control_fd, s->used_at * 8);
	code_const(g->code, R2, by);
	code_atomic(g->code, BPF_ADD | BPF_FETCH, R1, 0, R2);
}

/* R0 = 0: the key, which was not there, has the value at `value` now. A place is taken before and
 * given back when the kernel refuses: so there are never more keys than the limit. */
static void insert(struct gen *g, const struct store *s, const struct key *key, struct home value,
		   bool zeros)
{
	struct code *c = g->code;
	int back = code_label(c), done = code_label(c);

	if (is_counted(s)) {
		count_key(g, s, 1);
		code_const(c, R0, -E2BIG);
		code_jump_imm(c, BPF_JGE, R2, (int32_t)s->def->max_entries, back);
	}
	take_map(g, key->map);
	gen_address(g, R2, key->home, 0);
	if (zeros)
		code_map_value(c, R3, g->world->zeros_fd, 0);
	else
		gen_address(g, R3, value, 0);
	code_const(c, R4, BPF_NOEXIST);
	code_call(c, BPF_FUNC_map_update_elem);
	if (is_counted(s))
		code_jump_imm(c, BPF_JEQ, R0, 0, done);
	code_bind(c, back);
	if (is_counted(s))
		count_key(g, s, -1);
	code_bind(c, done);
}

/* R0 = the value, inserted as zeros when it is not there; else to `full`. Ruins TMP. */
static void look_up_or_insert(struct gen *g, const struct store *s, const struct key *key, int full)
{
	struct code *c = g->code;
	int found = code_label(c), again = code_label(c);

	if (s->kind == STORE_CELL) {
		look_up(g, s, key);
		code_bind(c, found);
		code_bind(c, again);
		return;
	}
	if (s->kind == STORE_CPU_CELL) {
		look_up(g, s, key);
		code_jump_imm(c, BPF_JEQ, R0, 0, full);
		code_bind(c, found);
		code_bind(c, again);
		return;
	}
	look_up(g, s, key);
	code_jump_imm(c, BPF_JNE, R0, 0, found);
	code_const(c, TMP, INSERT_TRIES);
	code_bind(c, again);
	insert(g, s, key, key->home, true);
	look_up(g, s, key);
	code_jump_imm(c, BPF_JNE, R0, 0, found);
	code_alu_imm(c, BPF_SUB, TMP, 1);
	code_jump_imm(c, BPF_JNE, TMP, 0, again);
	code_jump(c, full);
	code_bind(c, found);
}

static void count_full(struct gen *g, const struct insn *in)
{
	gen_count(g, CONTROL_LOST_UPDATES);
	gen_fault(g, in, FAULT_MAP_FULL);
}

/* ---- aggregates */

static void map_aggregate(struct gen *g, const struct insn *in, const struct store *s,
			  const struct key *key)
{
	int full = code_label(g->code), done = code_label(g->code);

	look_up_or_insert(g, s, key, full);
	gen_take_in(g, in, s);
	code_jump(g->code, done);
	code_bind(g->code, full);
	count_full(g, in);
	code_bind(g->code, done);
}

/* ---- reading */

/* All CPUs of a single aggregate. */
static void gather_cpus(struct gen *g, const struct store *s)
{
	struct code *c = g->code;
	int again = code_label(c), end = code_label(c);

	code_const(c, TMP, 0);
	code_bind(c, again);
	take_map(g, &s->map);
	gen_address(g, R2, (struct home){false, STACK_KEY}, 0);
	code_mov(c, R3, TMP);
	code_call(c, FUNC_PERCPU_LOOKUP);
	code_jump_imm(c, BPF_JEQ, R0, 0, end);
	gen_gather(g, &s->def->value);
	code_alu_imm(c, BPF_ADD, TMP, 1);
	code_jump_imm(c, BPF_JLT, TMP, (int32_t)g->world->cpus, again);
	code_bind(c, end);
}

static void map_get(struct gen *g, const struct insn *in, const struct store *s,
		    const struct key *key)
{
	struct code *c = g->code;
	const struct type *t = &s->def->value;
	int absent = code_label(c), done = code_label(c);

	if (type_is_aggregate(t)) {
		code_store_imm(c, 8, FRAME, STACK_B, 0);
		code_store_imm(c, 8, FRAME, STACK_C, 0);
		if (s->kind == STORE_CPU_CELL) {
			gather_cpus(g, s);
		} else {
			look_up(g, s, key);
			code_jump_imm(c, BPF_JEQ, R0, 0, absent);
			gen_gather(g, t);
		}
		gen_conclude(g, t);
	} else {
		look_up(g, s, key);
		if (s->kind != STORE_CELL)
			code_jump_imm(c, BPF_JEQ, R0, 0, absent);
		code_load(c, 8, R1, R0, 0);
	}
	code_jump(c, done);
	code_bind(c, absent);
	code_const(c, R1, 0);
	code_bind(c, done);
	gen_set(g, in->d, R1);
}

static void map_copy(struct gen *g, const struct insn *in, const struct store *s,
		     const struct key *key)
{
	struct code *c = g->code;
	struct home t = gen_slot(g, in->t);
	int absent = code_label(c), done = code_label(c);

	look_up(g, s, key);
	code_jump_imm(c, BPF_JEQ, R0, 0, absent);
	gen_address(g, R1, t, 0);
	code_const(c, R2, s->value_size);
	code_mov(c, R3, R0);
	code_call(c, BPF_FUNC_probe_read_kernel);
	if (type_is_text(&s->def->value))
		gen_zero(g, t, (int32_t)s->value_size, TEXT_SLOP);
	code_jump(c, done);
	code_bind(c, absent);
	gen_zero(g, t, 0, slot_used(gen_slot_type(g, in->t)));
	code_bind(c, done);
}

static void map_has(struct gen *g, const struct insn *in, const struct store *s,
		    const struct key *key)
{
	struct code *c = g->code;
	int yes = code_label(c), done = code_label(c), again = code_label(c);

	if (s->kind == STORE_CPU_CELL) {
		code_const(c, TMP, 0);
		code_bind(c, again);
		take_map(g, &s->map);
		gen_address(g, R2, key->home, 0);
		code_mov(c, R3, TMP);
		code_call(c, FUNC_PERCPU_LOOKUP);
		code_jump_imm(c, BPF_JEQ, R0, 0, yes);
		code_load(c, 8, R0, R0, (int)s->value_size);
		code_jump_imm(c, BPF_JNE, R0, 0, yes);
		code_alu_imm(c, BPF_ADD, TMP, 1);
		code_jump_imm(c, BPF_JLT, TMP, (int32_t)g->world->cpus, again);
		code_const(c, R0, 0);
	} else {
		look_up(g, s, key);
		if (s->kind == STORE_CELL)
			code_load(c, 8, R0, R0, (int)s->value_size);
		code_bind(c, again);
	}
	code_bind(c, yes);
	code_const(c, R1, 0);
	code_jump_imm(c, BPF_JEQ, R0, 0, done);
	code_const(c, R1, 1);
	code_bind(c, done);
	gen_set(g, in->d, R1);
}

/* ---- writing */

/* Replace or insert the value at `home`. A full allocator is tried again, a full map is counted. */
static void update(struct gen *g, const struct insn *in, const struct store *s,
		   const struct key *key, struct home value)
{
	struct code *c = g->code;
	int done = code_label(c), again = code_label(c), absent = code_label(c),
	    next = code_label(c);

	code_const(c, TMP, INSERT_TRIES);
	code_bind(c, again);
	if (is_counted(s)) {
		look_up(g, s, key);
		code_jump_imm(c, BPF_JEQ, R0, 0, absent);
	}
	take_map(g, key->map);
	gen_address(g, R2, key->home, 0);
	gen_address(g, R3, value, 0);
	code_const(c, R4, is_counted(s) ? BPF_EXIST : BPF_ANY);
	code_call(c, BPF_FUNC_map_update_elem);
	code_jump_imm(c, BPF_JEQ, R0, 0, done);
	if (is_counted(s))
		code_jump(c, next);
	code_bind(c, absent);
	if (is_counted(s)) {
		insert(g, s, key, value, false);
		code_jump_imm(c, BPF_JEQ, R0, 0, done);
	}
	code_bind(c, next);
	code_alu_imm(c, BPF_SUB, TMP, 1);
	code_jump_imm(c, BPF_JNE, TMP, 0, again);
	count_full(g, in);
	code_bind(c, done);
}

static void map_set(struct gen *g, const struct insn *in, const struct store *s,
		    const struct key *key)
{
	struct code *c = g->code;
	int absent = code_label(c), done = code_label(c);

	look_up(g, s, key);
	if (s->kind != STORE_CELL)
		code_jump_imm(c, BPF_JEQ, R0, 0, absent);
	gen_get(g, R1, in->a);
	code_store(c, 8, R0, 0, R1);
	gen_mark_set(g, s);
	code_jump(c, done);
	code_bind(c, absent);
	if (s->kind != STORE_CELL) {
		gen_get(g, R1, in->a);
		code_store(c, 8, FRAME, STACK_A, R1);
		update(g, in, s, key, (struct home){false, STACK_A});
	}
	code_bind(c, done);
}

static void map_put(struct gen *g, const struct insn *in, const struct store *s,
		    const struct key *key)
{
	update(g, in, s, key, gen_slot(g, in->t));
}

static void map_add(struct gen *g, const struct insn *in, const struct store *s,
		    const struct key *key)
{
	struct code *c = g->code;
	int full = code_label(c), done = code_label(c);

	look_up_or_insert(g, s, key, full);
	gen_get(g, R1, in->a);
	gen_mark_set(g, s);
	code_atomic(c, in->d == REG_NO ? BPF_ADD : BPF_ADD | BPF_FETCH, R0, 0, R1);
	gen_set(g, in->d, R1);
	code_jump(c, done);
	code_bind(c, full);
	count_full(g, in);
	code_const(c, R1, 0);
	gen_set(g, in->d, R1);
	code_bind(c, done);
}

/* Zero a cell of one or all CPUs; a hash really removes. */
static void map_del(struct gen *g, const struct insn *in, const struct store *s,
		    const struct key *key)
{
	struct code *c = g->code;
	int again = code_label(c), done = code_label(c);

	(void)in;
	if (s->kind == STORE_HASH) {
		take_map(g, key->map);
		gen_address(g, R2, key->home, 0);
		code_call(c, BPF_FUNC_map_delete_elem);
		if (is_counted(s)) {
			code_jump_imm(c, BPF_JNE, R0, 0, done);
			count_key(g, s, -1);
		}
	} else if (s->kind == STORE_CELL) {
		look_up(g, s, key);
		code_store_imm(c, 8, R0, 0, 0);
		code_store_imm(c, 8, R0, (int)s->value_size, 0);
	} else {
		code_const(c, TMP, 0);
		code_bind(c, again);
		take_map(g, &s->map);
		gen_address(g, R2, key->home, 0);
		code_mov(c, R3, TMP);
		code_call(c, FUNC_PERCPU_LOOKUP);
		code_jump_imm(c, BPF_JEQ, R0, 0, done);
		code_mov(c, R1, R0);
		code_const(c, R2, s->value_size + 8);
		code_map_value(c, R3, g->world->zeros_fd, 0);
		code_call(c, BPF_FUNC_probe_read_kernel);
		code_alu_imm(c, BPF_ADD, TMP, 1);
		code_jump_imm(c, BPF_JLT, TMP, (int32_t)g->world->cpus, again);
	}
	code_bind(c, done);
}

void gen_map(struct gen *g, const struct insn *in)
{
	static map_fn *const ops[OP_COUNT_] = {
		[OP_MAP_GET] = map_get, [OP_MAP_COPY] = map_copy,	[OP_MAP_SET] = map_set,
		[OP_MAP_PUT] = map_put, [OP_MAP_ADD] = map_add,		[OP_MAP_DEL] = map_del,
		[OP_MAP_HAS] = map_has, [OP_AGGREGATE] = map_aggregate,
	};

	with_key(g, in, ops[in->op]);
}
