/* Maps. Everything that changes a value is one atomic instruction or a compare-and-exchange loop:
 * the programs are preemptible, so even what belongs to one CPU has several writers. A key that two
 * programs insert at once is inserted by one of them and found by the other. */
#include "engine/bpf/gen/map_entry.h"

#include <errno.h>

#define INSERT_TRIES	   3   /* another program may delete the key, or an allocation fail */
#define FUNC_PERCPU_LOOKUP 195 /* bpf_map_lookup_percpu_elem, which older headers do not have */

typedef void map_fn(struct emitter *g, const struct insn *in, const struct gen_entry *at);

/* R1 = the kernel map. A map of a group is looked up first, which ruins R0 to R5; the lookup never
 * fails, but the verifier requires the branch. */
void gen_take_map(struct emitter *g, const struct store_map *map)
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
static void look_up(struct emitter *g, const struct gen_entry *at)
{
	int none;

	if (is_named_cell(at->store)) {
		code_map_value(g->code, R0, at->map->fd, 0);
		return;
	}
	call_map(g, at, BPF_FUNC_map_lookup_elem);
	if (at->store->kind == STORE_CELL)
		code_jump_imm(g->code, BPF_JEQ, R0, 0, g->end);
	if (!at->map->stacks_size)
		return;
	none = code_label(g->code);
	code_jump_imm(g->code, BPF_JEQ, R0, 0, none);
	gen_compare_stacks(g, at);
	code_bind(g->code, none);
}

/* A program on one CPU reads what the others have counted: the value of an aggregate without keys
 * is only in their sum. They go on counting meanwhile, so it is not of one moment. A loop over the
 * CPUs' values of a single aggregate: R0 is the value of CPU number TMP, or 0 and `end` when there
 * are no more. Returns the label for next_cpu(). */
static int each_cpu(struct emitter *g, const struct gen_entry *at, int end)
{
	int again;

	code_const(g->code, TMP, 0);
	again = code_here(g->code);
	call_map(g, at, FUNC_PERCPU_LOOKUP, REG(TMP));
	code_jump_imm(g->code, BPF_JEQ, R0, 0, end);
	return again;
}

static void next_cpu(struct emitter *g, int again)
{
	code_alu_imm(g->code, BPF_ADD, TMP, 1);
	code_jump_imm(g->code, BPF_JLT, TMP, (int32_t)g->world->cpus, again);
}

/* R2 = `by`, then the number of keys there were before; ruins R1. */
static void count_key(struct emitter *g, const struct store *s, int by)
{
	code_map_value(g->code, R1, g->world->control_fd, s->used_at * 8);
	code_const(g->code, R2, by);
	code_atomic(g->code, BPF_ADD | BPF_FETCH, R1, 0, R2);
}

/* Write the value at `value` (NULL: zeros), and after it the stacks of the key. */
static void write_entry(struct emitter *g, const struct gen_entry *at, const struct spill *value,
			int64_t flags)
{
	struct spill entry = in_scratch(g->frame->entry);
	uint32_t size = at->store->value_size;

	if (at->map->stacks_size) {
		if (value)
			code_copy(g->code, SCRATCH, entry.offset, spill_base(*value), value->offset,
				  size);
		else
			gen_zero(g, entry, 0, size);
		gen_copy_stacks(g, at, entry.offset + (int32_t)size);
		value = &entry;
	}
	if (value)
		call_map(g, at, BPF_FUNC_map_update_elem, MEM(*value, 0), IMM(flags));
	else
		call_map(g, at, BPF_FUNC_map_update_elem, MAP_VALUE(g->world->zeros_fd, 0),
			 IMM(flags));
}

/* R0 = 0: the key, which did not exist, now has the value at `value` (NULL: zeros). The key is
 * counted before and taken off again when the kernel refuses it: so there are never more keys than
 * the limit, though two programs insert at once. */
static void insert_entry(struct emitter *g, const struct gen_entry *at, const struct spill *value)
{
	struct code *c = g->code;
	int back = code_label(c), done = code_label(c);

	if (is_counted(at->store)) {
		count_key(g, at->store, 1);
		code_const(c, R0, -E2BIG);
		code_jump_imm(c, BPF_JGE, R2, (int32_t)at->store->def->max_entries, back);
	}
	write_entry(g, at, value, BPF_NOEXIST);
	if (!is_counted(at->store))
		return;
	code_jump_imm(c, BPF_JEQ, R0, 0, done);
	code_bind(c, back);
	count_key(g, at->store, -1);
	code_bind(c, done);
}

/* R0 = the value, inserted as zeros when it does not exist; else to `full`. Ruins TMP. */
static void look_up_or_insert(struct emitter *g, const struct gen_entry *at, int full)
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
	insert_entry(g, at, NULL);
	look_up(g, at);
	code_jump_imm(c, BPF_JNE, R0, 0, found);
	code_alu_imm(c, BPF_SUB, TMP, 1);
	code_jump_imm(c, BPF_JNE, TMP, 0, again);
	code_jump(c, full);
	code_bind(c, found);
}

static void count_full(struct emitter *g, const struct insn *in)
{
	gen_count(g, CONTROL_LOST_UPDATES);
	gen_fault(g, in, FAULT_MAP_FULL);
}

/* ---- reading */

static void read_aggregate(struct emitter *g, const struct gen_entry *at, int absent)
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

static void map_get(struct emitter *g, const struct insn *in, const struct gen_entry *at)
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
static void map_percentile(struct emitter *g, const struct insn *in, const struct gen_entry *at)
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

static void map_copy(struct emitter *g, const struct insn *in, const struct gen_entry *at)
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
static void map_has(struct emitter *g, const struct insn *in, const struct gen_entry *at)
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
 * be distinguished, because only one of them counts; and with a stack in the key, because the entry
 * that there is may be of another stack. A failure may be another program's insertion or a
 * momentary lack of memory, so it is tried again; then the map is full, which is counted. */
static void update_entry(struct emitter *g, const struct insn *in, const struct gen_entry *at,
			 struct spill value)
{
	struct code *c = g->code;
	bool apart = is_counted(at->store) || at->map->stacks_size;
	int done = code_label(c), absent = code_label(c), next = code_label(c), again;

	code_const(c, TMP, INSERT_TRIES);
	again = code_here(c);
	if (apart) {
		look_up(g, at);
		code_jump_imm(c, BPF_JEQ, R0, 0, absent);
	}
	write_entry(g, at, &value, apart ? BPF_EXIST : BPF_ANY);
	code_jump_imm(c, BPF_JEQ, R0, 0, done);
	if (apart) {
		code_jump(c, next);
		code_bind(c, absent);
		insert_entry(g, at, &value);
		code_jump_imm(c, BPF_JEQ, R0, 0, done);
	}
	code_bind(c, next);
	code_alu_imm(c, BPF_SUB, TMP, 1);
	code_jump_imm(c, BPF_JNE, TMP, 0, again);
	count_full(g, in);
	code_bind(c, done);
}

/* A number is written in place, so that it does not take an allocation. */
static void map_set(struct emitter *g, const struct insn *in, const struct gen_entry *at)
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
		update_entry(g, in, at, on_stack(STACK_A));
	}
	code_bind(c, done);
}

static void map_put(struct emitter *g, const struct insn *in, const struct gen_entry *at)
{
	update_entry(g, in, at, gen_slot(g, in->t));
}

static void map_add(struct emitter *g, const struct insn *in, const struct gen_entry *at)
{
	struct code *c = g->code;
	int full = code_label(c), done = code_label(c);

	look_up_or_insert(g, at, full);
	gen_get(g, R1, in->a);
	code_atomic(c, in->d == REG_NO ? BPF_ADD : BPF_ADD | BPF_FETCH, R0, 0, R1);
	gen_mark_set(g, at->store);
	gen_set(g, in->d, R1);
	code_jump(c, done);
	code_bind(c, full);
	count_full(g, in);
	code_const(c, R1, 0);
	gen_set(g, in->d, R1);
	code_bind(c, done);
}

static void map_aggregate(struct emitter *g, const struct insn *in, const struct gen_entry *at)
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
static void clear_is_set(struct emitter *g, uint32_t is_set)
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
static void map_del(struct emitter *g, const struct insn *in, const struct gen_entry *at)
{
	struct code *c = g->code;
	uint32_t size = at->store->value_size;
	int done = code_label(c), again;

	code_store_imm(c, 8, FRAME, STACK_A, 0);
	if (at->store->kind == STORE_HASH) {
		if (at->map->stacks_size) { /* it may be of another stack */
			look_up(g, at);
			code_jump_imm(c, BPF_JEQ, R0, 0, done);
		}
		call_map(g, at, BPF_FUNC_map_delete_elem);
		code_jump_imm(c, BPF_JNE, R0, 0, done);
		code_store_imm(c, 8, FRAME, STACK_A, 1);
		if (is_counted(at->store))
			count_key(g, at->store, -1);
	} else if (at->store->kind == STORE_CELL) {
		look_up(g, at);
		clear_is_set(g, size);
		code_store_imm(c, 8, R0, 0, 0);
	} else {
		again = each_cpu(g, at, done);
		clear_is_set(g, size);
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
static void map_operation(struct emitter *g, const struct insn *in, const struct store *s)
{
	/* clang-format off */
	static map_fn *const operations[OP_COUNT_] = {
		[OP_MAP_GET] = map_get, [OP_MAP_COPY] = map_copy, [OP_MAP_SET] = map_set,
		[OP_MAP_PUT] = map_put, [OP_MAP_ADD] = map_add,   [OP_MAP_DEL] = map_del,
		[OP_MAP_HAS] = map_has, [OP_AGGREGATE] = map_aggregate,
		[OP_PERCENTILE] = map_percentile,
	};
	/* clang-format on */
	struct gen_entry at = {.store = s, .map = &s->map, .key = on_stack(STACK_KEY)};
	int is_long = code_label(g->code), done = code_label(g->code);
	bool has_key = s->kind == STORE_HASH && in->s != SLOT_NO;

	if (has_key)
		at.slot = gen_slot(g, in->s);
	else if (!is_named_cell(s))
		code_store_imm(g->code, 8, FRAME, STACK_KEY, 0);
	if (has_key && s->long_map.fd >= 0) {
		gen_check_short(g, &at, is_long);
		gen_make_key(g, &at);
		operations[in->op](g, in, &at);
		code_jump(g->code, done);
		code_bind(g->code, is_long);
		at.map = &s->long_map;
	}
	if (has_key)
		gen_make_key(g, &at);
	operations[in->op](g, in, &at);
	code_bind(g->code, done);
}

int gen_twin(struct emitter *g, const struct store *s)
{
	int twin = code_label(g->code);

	code_map_value(g->code, R1, g->world->control_fd, s->turn_at * 8);
	code_load(g->code, 8, R1, R1, 0);
	code_jump_imm(g->code, BPF_JNE, R1, 0, twin);
	return twin;
}

/* A map with a twin: who uses the one that is no longer in use is counted until it has done so. */
void gen_map(struct emitter *g, const struct insn *in)
{
	const struct store *s = &g->world->stores[in->map];
	int done, twin;

	if (!s->twin) {
		map_operation(g, in, s);
		return;
	}
	done = code_label(g->code);
	control_count_running(g->code, g->world->control_fd, CONTROL_IN_MAPS, 1);
	twin = gen_twin(g, s);
	map_operation(g, in, s);
	code_jump(g->code, done);
	code_bind(g->code, twin);
	map_operation(g, in, s->twin);
	code_bind(g->code, done);
	control_count_running(g->code, g->world->control_fd, CONTROL_IN_MAPS, -1);
}
