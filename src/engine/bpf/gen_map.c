/* Maps. Everything that changes a value is one atomic instruction or a compare-and-exchange loop:
 * the programs are preemptible, so even what belongs to one CPU has several writers. A key that two
 * programs insert at once is inserted by one of them and found by the other. */
#include "engine/bpf/gen.h"

#include <errno.h>

#define INSERT_TRIES	   3   /* another program may delete the key, or an allocation fail */
#define FUNC_PERCPU_LOOKUP 195 /* bpf_map_lookup_percpu_elem, which older headers do not have */

/* The entry that an instruction is about: one kernel map of a store, and where its key is. */
struct entry_at {
	const struct store *store;
	const struct store_map *map;
	struct spill key;
};

typedef void map_fn(struct gen *g, const struct insn *in, const struct entry_at *at);

/* R1 = the kernel map. A map of a group is looked up first, which ruins R0 to R5; the lookup never
 * fails, but the verifier requires the branch. */
void gen_take_map(struct gen *g, const struct store_map *map)
{
	struct code *c = g->code;

	if (map->group_fd < 0) {
		code_map(c, R1, map->fd);
		return;
	}
	code_store_imm(c, 4, FRAME, STACK_GROUP, (int32_t)map->group_at);
	code_helper(c, BPF_FUNC_map_lookup_elem, MAP(map->group_fd), SUM(FRAME, STACK_GROUP));
	code_jump_imm(c, BPF_JEQ, R0, 0, g->end);
	code_mov(c, R1, R0);
}

/* Call a helper of maps: R1 is the map, R2 the key, and so on. */
#define call_map(g, at, helper, ...) \
	(gen_take_map(g, (at)->map), \
	 code_helper((g)->code, helper, REG(R1), MEM((at)->key, 0), ##__VA_ARGS__))

/* A single number that code reaches by its address, without a call. */
static bool is_named_cell(const struct store *s)
{
	return s->kind == STORE_CELL && s->map.group_fd < 0;
}

/* Do two kernel maps share one limit, so that code counts their keys? */
static bool is_counted(const struct store *s)
{
	return s->long_map.fd >= 0;
}

/* R0 = the value, or 0 when there is none. */
static void look_up(struct gen *g, const struct entry_at *at)
{
	if (is_named_cell(at->store)) {
		code_map_value(g->code, R0, at->map->fd, 0);
		return;
	}
	call_map(g, at, BPF_FUNC_map_lookup_elem);
	if (at->store->kind == STORE_CELL)
		code_jump_imm(g->code, BPF_JEQ, R0, 0, g->end);
}

/* A program on one CPU reads what the others have counted: the value of an aggregate without keys
 * is only in their sum. They go on counting meanwhile, so it is not of one moment. A loop over the
 * CPUs' values of a single aggregate: R0 is the value of CPU number TMP, or 0 and `end` when there
 * are no more. Returns the label for next_cpu(). */
static int each_cpu(struct gen *g, const struct entry_at *at, int end)
{
	int again;

	code_const(g->code, TMP, 0);
	again = code_here(g->code);
	call_map(g, at, FUNC_PERCPU_LOOKUP, REG(TMP));
	code_jump_imm(g->code, BPF_JEQ, R0, 0, end);
	return again;
}

static void next_cpu(struct gen *g, int again)
{
	code_alu_imm(g->code, BPF_ADD, TMP, 1);
	code_jump_imm(g->code, BPF_JLT, TMP, (int32_t)g->world->cpus, again);
}

/* R2 = `by`, then the number of keys there were before; ruins R1. */
static void count_key(struct gen *g, const struct store *s, int by)
{
	code_map_value(g->code, R1, g->world->control_fd, s->used_at * 8);
	code_const(g->code, R2, by);
	code_atomic(g->code, BPF_ADD | BPF_FETCH, R1, 0, R2);
}

/* R0 = 0: the key, which did not exist, now has the value at `value` (NULL: zeros). The key is
 * counted before and taken off again when the kernel refuses it: so there are never more keys than
 * the limit, though two programs insert at once. */
static void insert(struct gen *g, const struct entry_at *at, const struct spill *value)
{
	struct code *c = g->code;
	int back = code_label(c), done = code_label(c);

	if (is_counted(at->store)) {
		count_key(g, at->store, 1);
		code_const(c, R0, -E2BIG);
		code_jump_imm(c, BPF_JGE, R2, (int32_t)at->store->def->max_entries, back);
	}
	if (value)
		call_map(g, at, BPF_FUNC_map_update_elem, MEM(*value, 0), IMM(BPF_NOEXIST));
	else
		call_map(g, at, BPF_FUNC_map_update_elem, MAP_VALUE(g->world->zeros_fd, 0),
			 IMM(BPF_NOEXIST));
	if (!is_counted(at->store))
		return;
	code_jump_imm(c, BPF_JEQ, R0, 0, done);
	code_bind(c, back);
	count_key(g, at->store, -1);
	code_bind(c, done);
}

/* R0 = the value, inserted as zeros when it does not exist; else to `full`. Ruins TMP. */
static void look_up_or_insert(struct gen *g, const struct entry_at *at, int full)
{
	struct code *c = g->code;
	int found = code_label(c), again;

	look_up(g, at);
	if (at->store->kind == STORE_CPU_CELL)
		code_jump_imm(c, BPF_JEQ, R0, 0, full);
	if (at->store->kind != STORE_HASH)
		return;
	code_jump_imm(c, BPF_JNE, R0, 0, found);
	code_const(c, TMP, INSERT_TRIES);
	again = code_here(c);
	insert(g, at, NULL);
	look_up(g, at);
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

/* ---- reading */

static void read_aggregate(struct gen *g, const struct entry_at *at, int absent)
{
	struct code *c = g->code;
	const struct type *t = &at->store->def->value;
	int end = code_label(c), again;

	code_store_imm(c, 8, FRAME, STACK_B, 0);
	code_store_imm(c, 8, FRAME, STACK_C, 0);
	if (at->store->kind == STORE_CPU_CELL) {
		again = each_cpu(g, at, end);
		gen_gather(g, t);
		next_cpu(g, again);
		code_bind(c, end);
	} else {
		look_up(g, at);
		code_jump_imm(c, BPF_JEQ, R0, 0, absent);
		gen_gather(g, t);
	}
	gen_conclude(g, t);
}

static void map_get(struct gen *g, const struct insn *in, const struct entry_at *at)
{
	struct code *c = g->code;
	int absent = code_label(c), done = code_label(c);

	if (type_is_aggregate(&at->store->def->value)) {
		read_aggregate(g, at, absent);
	} else {
		look_up(g, at);
		if (at->store->kind != STORE_CELL)
			code_jump_imm(c, BPF_JEQ, R0, 0, absent);
		code_load(c, 8, R1, R0, 0);
	}
	code_jump(c, done);
	code_bind(c, absent);
	code_const(c, R1, 0);
	code_bind(c, done);
	gen_set(g, in->d, R1);
}

/* A histogram that is read is in a hash, one for all CPUs: make_store() in build.c. */
static void map_percentile(struct gen *g, const struct insn *in, const struct entry_at *at)
{
	struct code *c = g->code;
	int absent = code_label(c), done = code_label(c);

	look_up(g, at);
	code_jump_imm(c, BPF_JEQ, R0, 0, absent);
	gen_percentile(g, &at->store->def->value, in->imm);
	code_jump(c, done);
	code_bind(c, absent);
	code_const(c, R1, 0);
	code_bind(c, done);
	gen_set(g, in->d, R1);
}

static void map_copy(struct gen *g, const struct insn *in, const struct entry_at *at)
{
	struct code *c = g->code;
	struct spill t = gen_slot(g, in->t);
	int absent = code_label(c), done = code_label(c);

	look_up(g, at);
	code_jump_imm(c, BPF_JEQ, R0, 0, absent);
	code_helper(c, BPF_FUNC_probe_read_kernel, MEM(t, 0), IMM(at->store->value_size), REG(R0));
	if (type_is_text(&at->store->def->value))
		gen_zero(g, t, (int32_t)at->store->value_size, TEXT_SLOP);
	code_jump(c, done);
	code_bind(c, absent);
	gen_zero(g, t, 0, slot_used(gen_slot_type(g, in->t)));
	code_bind(c, done);
}

/* A cell exists when the word after its value says so; of an aggregate, when it does on any CPU. */
static void map_has(struct gen *g, const struct insn *in, const struct entry_at *at)
{
	struct code *c = g->code;
	int32_t is_set = (int32_t)at->store->value_size;
	int known = code_label(c), done = code_label(c), again;

	if (at->store->kind == STORE_CPU_CELL) {
		again = each_cpu(g, at, known);
		code_load(c, 8, R0, R0, is_set);
		code_jump_imm(c, BPF_JNE, R0, 0, known);
		next_cpu(g, again);
		code_const(c, R0, 0);
	} else {
		look_up(g, at);
		if (at->store->kind == STORE_CELL)
			code_load(c, 8, R0, R0, is_set);
	}
	code_bind(c, known);
	code_const(c, R1, 0);
	code_jump_imm(c, BPF_JEQ, R0, 0, done);
	code_const(c, R1, 1);
	code_bind(c, done);
	gen_set(g, in->d, R1);
}

/* ---- writing */

/* Replace or insert the value at `value`. When two maps share a limit, replacing and inserting must
 * be distinguished, because only one of them counts. A failure may be another program's insertion
 * or a momentary lack of memory, so it is tried again; then the map is full, which is counted. */
static void update(struct gen *g, const struct insn *in, const struct entry_at *at,
		   struct spill value)
{
	struct code *c = g->code;
	bool counted = is_counted(at->store);
	int done = code_label(c), absent = code_label(c), next = code_label(c), again;

	code_const(c, TMP, INSERT_TRIES);
	again = code_here(c);
	if (counted) {
		look_up(g, at);
		code_jump_imm(c, BPF_JEQ, R0, 0, absent);
	}
	call_map(g, at, BPF_FUNC_map_update_elem, MEM(value, 0),
		 IMM(counted ? BPF_EXIST : BPF_ANY));
	code_jump_imm(c, BPF_JEQ, R0, 0, done);
	if (counted) {
		code_jump(c, next);
		code_bind(c, absent);
		insert(g, at, &value);
		code_jump_imm(c, BPF_JEQ, R0, 0, done);
	}
	code_bind(c, next);
	code_alu_imm(c, BPF_SUB, TMP, 1);
	code_jump_imm(c, BPF_JNE, TMP, 0, again);
	count_full(g, in);
	code_bind(c, done);
}

/* A number is written in place, so that it does not take an allocation. */
static void map_set(struct gen *g, const struct insn *in, const struct entry_at *at)
{
	struct code *c = g->code;
	int absent = code_label(c), done = code_label(c);

	look_up(g, at);
	if (at->store->kind != STORE_CELL)
		code_jump_imm(c, BPF_JEQ, R0, 0, absent);
	gen_get(g, R1, in->a);
	code_store(c, 8, R0, 0, R1);
	gen_mark_set(g, at->store);
	if (at->store->kind != STORE_CELL) {
		code_jump(c, done);
		code_bind(c, absent);
		gen_get(g, R1, in->a);
		code_store(c, 8, FRAME, STACK_A, R1);
		update(g, in, at, on_stack(STACK_A));
	}
	code_bind(c, done);
}

static void map_put(struct gen *g, const struct insn *in, const struct entry_at *at)
{
	update(g, in, at, gen_slot(g, in->t));
}

static void map_add(struct gen *g, const struct insn *in, const struct entry_at *at)
{
	struct code *c = g->code;
	int full = code_label(c), done = code_label(c);

	look_up_or_insert(g, at, full);
	gen_get(g, R1, in->a);
	gen_mark_set(g, at->store);
	code_atomic(c, in->d == REG_NO ? BPF_ADD : BPF_ADD | BPF_FETCH, R0, 0, R1);
	gen_set(g, in->d, R1);
	code_jump(c, done);
	code_bind(c, full);
	count_full(g, in);
	code_const(c, R1, 0);
	gen_set(g, in->d, R1);
	code_bind(c, done);
}

static void map_aggregate(struct gen *g, const struct insn *in, const struct entry_at *at)
{
	int full = code_label(g->code), done = code_label(g->code);

	look_up_or_insert(g, at, full);
	gen_take_in(g, in, at->store);
	code_jump(g->code, done);
	code_bind(g->code, full);
	count_full(g, in);
	code_bind(g->code, done);
}

/* STACK_A = 1 when the word at R0, which says whether a cell holds anything, is not 0; it is 0
 * then. Of two programs that remove a value at once, one finds it. Ruins R1. */
static void unset(struct gen *g, uint32_t is_set)
{
	struct code *c = g->code;
	int absent = code_label(c);

	code_const(c, R1, 0);
	code_atomic(c, BPF_XCHG, R0, (int)is_set, R1);
	code_jump_imm(c, BPF_JEQ, R1, 0, absent);
	code_store_imm(c, 8, FRAME, STACK_A, 1);
	code_bind(c, absent);
}

/* Arrays keep their entries: a cell is set to zero, on one or all CPUs. */
static void map_del(struct gen *g, const struct insn *in, const struct entry_at *at)
{
	struct code *c = g->code;
	uint32_t size = at->store->value_size;
	int done = code_label(c), again;

	code_store_imm(c, 8, FRAME, STACK_A, 0);
	if (at->store->kind == STORE_HASH) {
		call_map(g, at, BPF_FUNC_map_delete_elem);
		code_jump_imm(c, BPF_JNE, R0, 0, done);
		code_store_imm(c, 8, FRAME, STACK_A, 1);
		if (is_counted(at->store))
			count_key(g, at->store, -1);
	} else if (at->store->kind == STORE_CELL) {
		look_up(g, at);
		unset(g, size);
		code_store_imm(c, 8, R0, 0, 0);
	} else {
		again = each_cpu(g, at, done);
		unset(g, size);
		code_helper(c, BPF_FUNC_probe_read_kernel, REG(R0), IMM(size),
			    MAP_VALUE(g->world->zeros_fd, 0));
		next_cpu(g, again);
	}
	code_bind(c, done);
	if (in->d == REG_NO)
		return;
	code_load(c, 8, R1, FRAME, STACK_A);
	gen_set(g, in->d, R1);
}

/* ---- keys */

/* Are all texts and stacks of the key short? Else to `is_long`. */
static void check_short(struct gen *g, const struct type *t, struct spill at, int32_t more,
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
	code_load(g->code, 4, R1, gen_base(at), at.offset + more); /* bytes, or words of a stack */
	code_jump_imm(g->code, BPF_JGT, R1,
		      (int32_t)(type_is_stack(t) ? STORE_SHORT_STACK / 8 : STORE_SHORT), is_long);
}

/* Pack the short form of a tuple: each element without what a short one cannot have. */
static void pack_short(struct gen *g, const struct type *t, struct spill from, int32_t *from_at,
		       int32_t *to_at)
{
	if (t->kind == TYPE_TUPLE) {
		for (unsigned i = 0; i < t->element_count; i++)
			pack_short(g, &t->elements[i], from, from_at, to_at);
		return;
	}
	gen_copy(g, SCRATCH, g->frame->key + *to_at, gen_base(from), from.offset + *from_at,
		 store_short_size(t));
	*from_at += (int32_t)type_memory(t);
	*to_at += (int32_t)store_short_size(t);
}

/* The other way of pack_short: the key at TMP, with zeros for what a short one does not have. */
static void unpack_key(struct gen *g, const struct type *t, bool is_short, struct spill to,
		       int32_t *from_at, int32_t *to_at)
{
	uint32_t full = (uint32_t)type_memory(t), len = is_short ? store_short_size(t) : full;

	if (t->kind == TYPE_TUPLE && len != full) {
		for (unsigned i = 0; i < t->element_count; i++)
			unpack_key(g, &t->elements[i], is_short, to, from_at, to_at);
		return;
	}
	gen_copy(g, gen_base(to), to.offset + *to_at, TMP, *from_at, len);
	gen_zero(g, to, *to_at + (int32_t)len, full - len);
	*from_at += (int32_t)len;
	*to_at += (int32_t)full;
}

void gen_take_entry(struct gen *g, const struct insn *in, const struct store_map *map)
{
	const struct store *s = &g->world->stores[in->map];
	const struct type *key = &s->def->key, *value = &s->def->value;
	struct spill k = gen_slot(g, in->s), v;
	int32_t from = 0, to = 0;

	unpack_key(g, key, map == &s->map, k, &from, &to);
	if (type_is_text(key))
		gen_zero(g, k, (int32_t)type_memory(key), TEXT_SLOP);
	if (in->op == OP_EACH_COPY) {
		v = gen_slot(g, in->t);
		gen_copy(g, gen_base(v), v.offset, TMP2, 0, s->value_size);
		if (type_is_text(value))
			gen_zero(g, v, (int32_t)s->value_size, TEXT_SLOP);
	} else if (in->d != REG_NO && type_is_aggregate(value)) {
		code_store_imm(g->code, 8, FRAME, STACK_B, 0);
		code_store_imm(g->code, 8, FRAME, STACK_C, 0);
		code_mov(g->code, R0, TMP2);
		gen_gather(g, value);
		gen_conclude(g, value);
		gen_set(g, in->d, R1);
	} else if (in->d != REG_NO) {
		code_load(g->code, 8, R1, TMP2, 0);
		gen_set(g, in->d, R1);
	}
}

/* An operation on a map. A store with two hashes, for short keys and for long ones, gets the code
 * of the operation twice: a helper call that meets only one map is inlined by the kernel, and
 * hashes as many bytes as the key really has.
 *
 *	one hash, or none	two hashes
 *
 *	operation		a text or stack that is not short? -> long
 *				operation on `map`, short form of the key; -> done
 *			long:	operation on `long_map`, full key
 *			done:						*/
void gen_map(struct gen *g, const struct insn *in)
{
	/* clang-format off */
	static map_fn *const operations[OP_COUNT_] = {
		[OP_MAP_GET] = map_get, [OP_MAP_COPY] = map_copy, [OP_MAP_SET] = map_set,
		[OP_MAP_PUT] = map_put, [OP_MAP_ADD] = map_add,   [OP_MAP_DEL] = map_del,
		[OP_MAP_HAS] = map_has, [OP_AGGREGATE] = map_aggregate,
		[OP_PERCENTILE] = map_percentile,
	};
	/* clang-format on */
	const struct store *s = &g->world->stores[in->map];
	struct entry_at at = {s, &s->map, on_stack(STACK_KEY)};
	int is_long = code_label(g->code), done = code_label(g->code);

	if (s->kind == STORE_HASH && in->s != SLOT_NO)
		at.key = gen_slot(g, in->s);
	else if (!is_named_cell(s))
		code_store_imm(g->code, 8, FRAME, STACK_KEY, 0);
	if (s->long_map.fd >= 0 && in->s != SLOT_NO) {
		const struct type *key = &s->def->key;
		struct entry_at shorter = at;
		int32_t from = 0, to = 0;

		check_short(g, key, at.key, 0, is_long);
		if (key->kind == TYPE_TUPLE) { /* else the first bytes are the short key */
			pack_short(g, key, at.key, &from, &to);
			shorter.key = in_scratch(g->frame->key);
		}
		operations[in->op](g, in, &shorter);
		code_jump(g->code, done);
		code_bind(g->code, is_long);
		at.map = &s->long_map;
	}
	operations[in->op](g, in, &at);
	code_bind(g->code, done);
}
