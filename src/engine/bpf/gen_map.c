/* Maps. Everything that changes a value is one atomic instruction or a compare-and-exchange loop:
 * the programs are preemptible, so even what belongs to one CPU has several writers. A key that two
 * programs insert at once is inserted by one of them and found by the other. */
#include "engine/bpf/gen.h"

#include <errno.h>

#define INSERT_TRIES	   3
#define EXTREME_ROUNDS	   64
#define FUNC_PERCPU_LOOKUP 195

/* The kernel map to ask and where its key lies. */
struct key {
	int fd;
	struct home home;
};

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

/* Generate `fn` for the key of an instruction; twice when short and long keys live apart. */
static void with_key(struct gen *g, const struct insn *in, map_fn *fn)
{
	const struct store *s = store_of(g, in);
	struct key key = {s->fd, {false, STACK_KEY}};
	int is_long, done;

	if (s->kind != STORE_HASH || in->s == SLOT_NO) {
		if (s->kind != STORE_CELL)
			code_store_imm(g->code, 8, FRAME, STACK_KEY, 0);
		fn(g, in, s, &key);
		return;
	}
	key.home = gen_slot(g, in->s);
	if (s->long_fd < 0) {
		fn(g, in, s, &key);
		return;
	}
	is_long = code_label(g->code);
	done = code_label(g->code);
	check_short(g, &s->def->key, key.home, 0, is_long);
	if (s->def->key.kind == TYPE_TUPLE) {
		int32_t from = 0, to = 0;

		make_short(g, &s->def->key, key.home, &from, &to);
		fn(g, in, s, &(struct key){s->fd, {true, g->frame->key}});
	} else { /* the start of the slot is the short key */
		fn(g, in, s, &key);
	}
	code_jump(g->code, done);
	code_bind(g->code, is_long);
	key.fd = s->long_fd;
	fn(g, in, s, &key);
	code_bind(g->code, done);
}

/* R0 = the value, or 0 when there is none. */
static void look_up(struct gen *g, const struct store *s, const struct key *key)
{
	if (s->kind == STORE_CELL) {
		code_map_value(g->code, R0, s->fd, 0);
		return;
	}
	code_map(g->code, R1, key->fd);
	gen_address(g, R2, key->home, 0);
	code_call(g->code, BPF_FUNC_map_lookup_elem);
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
	code_map(c, R1, key->fd);
	gen_address(g, R2, key->home, 0);
	code_map_value(c, R3, g->world->zeros_fd, 0);
	code_const(c, R4, BPF_NOEXIST);
	code_call(c, BPF_FUNC_map_update_elem);
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

/* A cell has a word behind it that says it holds something. */
static void mark_set(struct gen *g, const struct store *s)
{
	if (s->kind != STORE_HASH)
		code_store_imm(g->code, 8, R0, (int)s->value_size, 1);
}

/* ---- aggregates: R0 is the value, R1 what it takes in */

/* R0 += offset of bucket R2; adds 1 there. */
static void add_bucket(struct gen *g, const struct store *s, uint32_t buckets)
{
	gen_limit(g, R2, (int32_t)buckets - 1);
	mark_set(g, s);
	code_alu_imm(g->code, BPF_LSH, R2, 3);
	code_alu(g->code, BPF_ADD, R0, R2);
	code_const(g->code, R1, 1);
	code_atomic(g->code, BPF_ADD, R0, 0, R1);
}

/* R3 = number of the highest bit set in R1; ruins R4. */
static void highest_bit(struct gen *g)
{
	struct code *c = g->code;

	code_const(c, R3, 0);
	code_mov(c, R4, R1);
	for (int shift = 32; shift; shift /= 2) {
		int low = code_label(c);

		code_mov(c, R5, R4);
		code_alu_imm(c, BPF_RSH, R5, shift);
		code_jump_imm(c, BPF_JEQ, R5, 0, low);
		code_mov(c, R4, R5);
		code_alu_imm(c, BPF_ADD, R3, shift);
		code_bind(c, low);
	}
}

/* R2 = hist_bucket(R1): see program/histogram.c. */
static void find_hist_bucket(struct gen *g, const struct type *t)
{
	struct code *c = g->code;
	int done = code_label(c), small = code_label(c);

	if (t->is_signed) {
		code_const(c, R2, 0);
		code_jump_imm(c, BPF_JSLT, R1, 0, done);
	}
	code_jump_imm(c, BPF_JLT, R1, 2 << t->bits, small);
	highest_bit(g);
	code_alu_imm(c, BPF_SUB, R3, t->bits);
	code_alu_imm(c, BPF_AND, R3, 63);
	code_alu(c, BPF_RSH, R1, R3);
	code_alu_imm(c, BPF_AND, R1, (1 << t->bits) - 1);
	code_alu_imm(c, BPF_ADD, R3, 1);
	code_alu_imm(c, BPF_LSH, R3, t->bits);
	code_mov(c, R2, R3);
	code_alu(c, BPF_ADD, R2, R1);
	code_alu_imm(c, BPF_ADD, R2, 1);
	code_jump(c, done);
	code_bind(c, small);
	code_mov(c, R2, R1);
	code_alu_imm(c, BPF_ADD, R2, 1);
	code_bind(c, done);
}

/* R2 = lhist_bucket(R1). */
static void find_lhist_bucket(struct gen *g, const struct type *t)
{
	struct code *c = g->code;
	int done = code_label(c), inside = code_label(c);
	uint32_t steps = lhist_buckets(t) - 2;

	code_const(c, R2, 0);
	code_const(c, R3, t->min);
	code_jump_if(c, BPF_JSLT, R1, R3, done);
	code_mov(c, R2, R1);
	code_alu(c, BPF_SUB, R2, R3);
	code_const(c, R3, t->step);
	code_alu(c, BPF_DIV, R2, R3);
	code_jump_imm(c, BPF_JLE, R2, (int32_t)steps, inside);
	code_const(c, R2, steps);
	code_bind(c, inside);
	code_alu_imm(c, BPF_ADD, R2, 1);
	code_bind(c, done);
}

/* Raise the stored extreme to R1 (already masked so that greater wins). */
static void raise_extreme(struct gen *g, const struct insn *in)
{
	struct code *c = g->code;
	int again = code_label(c), done = code_label(c);

	code_mov(c, R3, R0);
	code_store_imm(c, 8, R3, 8, 1);
	code_const(c, R5, EXTREME_ROUNDS);
	code_load(c, 8, R4, R3, 0);
	code_bind(c, again);
	code_jump_if(c, BPF_JGE, R4, R1, done);
	code_mov(c, R0, R4);
	code_atomic(c, BPF_CMPXCHG, R3, 0, R1);
	code_jump_if(c, BPF_JEQ, R0, R4, done);
	code_mov(c, R4, R0);
	code_alu_imm(c, BPF_SUB, R5, 1);
	code_jump_imm(c, BPF_JNE, R5, 0, again);
	gen_count(g, CONTROL_LOST_UPDATES);
	(void)in;
	code_bind(c, done);
}

static void take_in(struct gen *g, const struct insn *in, const struct store *s)
{
	const struct type *t = &s->def->value;
	struct code *c = g->code;

	if (t->kind == TYPE_COUNT)
		code_const(c, R1, 1);
	else
		gen_get(g, R1, in->a);
	switch (t->kind) {
	case TYPE_COUNT:
	case TYPE_SUM:
		mark_set(g, s);
		code_atomic(c, BPF_ADD, R0, 0, R1);
		break;
	case TYPE_MIN:
	case TYPE_MAX:
		mark_set(g, s);
		code_const(c, R2, (int64_t)extreme_mask(t));
		code_alu(c, BPF_XOR, R1, R2);
		raise_extreme(g, in);
		break;
	case TYPE_AVG:
	case TYPE_STATS:
		mark_set(g, s);
		code_atomic(c, BPF_ADD, R0, 8, R1);
		code_const(c, R1, 1);
		code_atomic(c, BPF_ADD, R0, 0, R1);
		break;
	case TYPE_HIST:
		find_hist_bucket(g, t);
		add_bucket(g, s, hist_buckets(t->bits));
		break;
	case TYPE_LHIST:
		find_lhist_bucket(g, t);
		add_bucket(g, s, lhist_buckets(t));
		break;
	default: gen_fail(g, -EINVAL, "bad-program", "the map takes no aggregate"); break;
	}
}

static void map_aggregate(struct gen *g, const struct insn *in, const struct store *s,
			  const struct key *key)
{
	int full = code_label(g->code), done = code_label(g->code);

	look_up_or_insert(g, s, key, full);
	take_in(g, in, s);
	code_jump(g->code, done);
	code_bind(g->code, full);
	count_full(g, in);
	code_bind(g->code, done);
}

/* ---- reading */

/* Add one CPU's aggregate at R0 to what is being gathered: STACK_B value or total, STACK_C count,
 * STACK_D greatest. */
static void gather(struct gen *g, const struct type *t)
{
	struct code *c = g->code;
	int skip = code_label(c);

	code_load(c, 8, R1, R0, 0);
	if (t->kind == TYPE_MIN || t->kind == TYPE_MAX) {
		code_load(c, 8, R2, R0, 8);
		code_jump_imm(c, BPF_JEQ, R2, 0, skip);
		code_store_imm(c, 8, FRAME, STACK_C, 1);
		code_load(c, 8, R2, FRAME, STACK_B);
		code_jump_if(c, BPF_JGE, R2, R1, skip);
		code_store(c, 8, FRAME, STACK_B, R1);
	} else if (t->kind == TYPE_AVG) {
		code_load(c, 8, R2, FRAME, STACK_C);
		code_alu(c, BPF_ADD, R2, R1);
		code_store(c, 8, FRAME, STACK_C, R2);
		code_load(c, 8, R1, R0, 8);
		code_load(c, 8, R2, FRAME, STACK_B);
		code_alu(c, BPF_ADD, R2, R1);
		code_store(c, 8, FRAME, STACK_B, R2);
	} else {
		code_load(c, 8, R2, FRAME, STACK_B);
		code_alu(c, BPF_ADD, R2, R1);
		code_store(c, 8, FRAME, STACK_B, R2);
	}
	code_bind(c, skip);
}

/* R1 = what was gathered, as a script sees it. */
static void conclude(struct gen *g, const struct type *t)
{
	struct code *c = g->code;
	int done = code_label(c), positive = code_label(c);

	code_load(c, 8, R1, FRAME, STACK_B);
	if (t->kind == TYPE_MIN || t->kind == TYPE_MAX) {
		code_load(c, 8, R2, FRAME, STACK_C);
		code_jump_imm(c, BPF_JEQ, R2, 0, done);
		code_const(c, R2, (int64_t)extreme_mask(t));
		code_alu(c, BPF_XOR, R1, R2);
	} else if (t->kind == TYPE_AVG) {
		code_load(c, 8, R2, FRAME, STACK_C);
		if (t->is_signed) {
			code_jump_imm(c, BPF_JSGE, R1, 0, positive);
			code_alu_imm(c, BPF_NEG, R1, 0);
			code_alu(c, BPF_DIV, R1, R2);
			code_alu_imm(c, BPF_NEG, R1, 0);
			code_jump(c, done);
		}
		code_bind(c, positive);
		code_alu(c, BPF_DIV, R1, R2);
	}
	code_bind(c, done);
}

/* All CPUs of a single aggregate. */
static void gather_cpus(struct gen *g, const struct store *s)
{
	struct code *c = g->code;
	int again = code_label(c), end = code_label(c);

	code_const(c, TMP, 0);
	code_bind(c, again);
	code_map(c, R1, s->fd);
	gen_address(g, R2, (struct home){false, STACK_KEY}, 0);
	code_mov(c, R3, TMP);
	code_call(c, FUNC_PERCPU_LOOKUP);
	code_jump_imm(c, BPF_JEQ, R0, 0, end);
	gather(g, &s->def->value);
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
			gather(g, t);
		}
		conclude(g, t);
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
		code_map(c, R1, s->fd);
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
static void update(struct gen *g, const struct insn *in, const struct key *key, struct home value)
{
	struct code *c = g->code;
	int done = code_label(c), again = code_label(c);

	code_const(c, TMP, INSERT_TRIES);
	code_bind(c, again);
	code_map(c, R1, key->fd);
	gen_address(g, R2, key->home, 0);
	gen_address(g, R3, value, 0);
	code_const(c, R4, BPF_ANY);
	code_call(c, BPF_FUNC_map_update_elem);
	code_jump_imm(c, BPF_JEQ, R0, 0, done);
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
	mark_set(g, s);
	code_jump(c, done);
	code_bind(c, absent);
	if (s->kind != STORE_CELL) {
		gen_get(g, R1, in->a);
		code_store(c, 8, FRAME, STACK_A, R1);
		update(g, in, key, (struct home){false, STACK_A});
	}
	code_bind(c, done);
}

static void map_put(struct gen *g, const struct insn *in, const struct store *s,
		    const struct key *key)
{
	(void)s;
	update(g, in, key, gen_slot(g, in->t));
}

static void map_add(struct gen *g, const struct insn *in, const struct store *s,
		    const struct key *key)
{
	struct code *c = g->code;
	int full = code_label(c), done = code_label(c);

	look_up_or_insert(g, s, key, full);
	gen_get(g, R1, in->a);
	mark_set(g, s);
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
		code_map(c, R1, key->fd);
		gen_address(g, R2, key->home, 0);
		code_call(c, BPF_FUNC_map_delete_elem);
	} else if (s->kind == STORE_CELL) {
		look_up(g, s, key);
		code_store_imm(c, 8, R0, 0, 0);
		code_store_imm(c, 8, R0, (int)s->value_size, 0);
	} else {
		code_const(c, TMP, 0);
		code_bind(c, again);
		code_map(c, R1, s->fd);
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
