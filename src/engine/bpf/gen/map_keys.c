/* Keys: what the kernel's hash is given for a slot of the program. Of a stack that is a hash of 64
 * bits, and the entry has the stack itself, after the value:
 *
 *	slot			key			entry
 *
 *	head | frame ...	hash of the stack	value | head | frame ...
 *
 * A stack that is looked up is compared with that of the entry, word by word. Another one with the
 * same hash counts as none and is not inserted: that is an update that the map refuses, and
 * counted. Of a million different stacks, two have the same hash in one of 40 million runs. */
#include "engine/bpf/gen/map_entry.h"

#define LANES 4				   /* words that are hashed side by side */
#define LANE  R1			   /* R1 to R4: their hashes */
#define MIX   INT64_C(-0x61c8864680b583eb) /* 2^64 / golden ratio, odd */

/* ---- stacks */

/* A stack of a key. */
struct key_stack {
	struct spill at; /* in the slot */
	int32_t kept;	 /* in the entry */
	uint32_t size;	 /* bytes that it may have there, with its head */
};

typedef void stack_fn(struct emitter *g, const struct key_stack *s, int arg);

/* `s` is where the next stack would be. */
static void each_stack(struct emitter *g, const struct gen_entry *at, const struct type *t,
		       struct key_stack *s, stack_fn *fn, int arg)
{
	if (t->kind == TYPE_TUPLE) {
		for (unsigned i = 0; i < t->element_count; i++)
			each_stack(g, at, &t->elements[i], s, fn, arg);
		return;
	}
	if (type_is_stack(t)) {
		s->size = store_stacks_size(t, at->map->is_short);
		fn(g, s, arg);
		s->kept += (int32_t)s->size;
	}
	s->at.offset += (int32_t)type_memory(t);
}

/* ---- their hashes and comparisons are functions: the verifier follows the loops of each once */

/* A loop over the words of the stack at SCRATCH, with its head, LANES at a time from the last to
 * the first: its start. `reg` is how many words are left, and the index of the next ones, of which
 * the verifier knows nothing in any round: so it follows the rounds once where the kernel has
 * may_goto, and else all of them. To `few` with those at the front. */
static int next_words(struct emitter *g, uint32_t size, int reg, int few)
{
	struct code *c = g->code;
	int again;

	code_load(c, 4, reg, SCRATCH, 0);
	if (!g->world->has_may_goto || size / 8 < LANES)
		code_limit(g->code, reg, size / 8 - 1);
	code_alu_imm(c, BPF_ADD, reg, 1);
	again = code_here(c);
	code_jump_imm(c, BPF_JLT, reg, LANES, few);
	if (g->world->has_may_goto)
		code_may_goto(c, few);
	code_alu_imm(c, BPF_SUB, reg, LANES);
	code_jump_imm(c, BPF_JGT, reg, (int32_t)(size / 8 - LANES), few); /* never */
	return again;
}

/* `dst` = where word `index` of a stack is. */
static void point_at(struct code *c, int dst, int index, int stack)
{
	code_mov(c, dst, index);
	code_alu_imm(c, BPF_LSH, dst, 3);
	code_alu(c, BPF_ADD, dst, stack);
}

/* Take the word in R0 into a hash. Each step can be undone: stacks that differ in one word never
 * have the same hash. Ruins R0; TMP2 is MIX. */
static void mix_word(struct code *c, int hash)
{
	code_alu(c, BPF_XOR, hash, R0);
	code_alu(c, BPF_MUL, hash, TMP2);
	code_mov(c, R0, hash);
	code_alu_imm(c, BPF_RSH, R0, 32);
	code_alu(c, BPF_XOR, hash, R0);
}

static void mix_words(struct code *c, int from, int count)
{
	for (int i = from; i < from + count; i++) {
		code_load(c, 8, R0, R5, 8 * i);
		mix_word(c, LANE + i);
	}
}

/* In: R1 is a stack. Returns its hash. */
static void hash_body(struct emitter *g, uint32_t size)
{
	struct code *c = g->code;
	int few = code_label(c), done = code_label(c), none = code_label(c), again;

	code_const(c, R0, 0);
	code_jump_imm(c, BPF_JEQ, R1, 0, none); /* never */
	code_mov(c, SCRATCH, R1);
	code_const(c, TMP2, MIX);
	for (int i = 0; i < LANES; i++)
		code_const(c, LANE + i, i);
	again = next_words(g, size, TMP, few);
	point_at(c, R5, TMP, SCRATCH);
	mix_words(c, 0, LANES);
	code_jump(c, again);
	code_bind(c, few);
	code_mov(c, R5, SCRATCH);
	for (int i = 0; i < LANES - 1; i++) {
		code_jump_imm(c, BPF_JLE, TMP, i, done);
		mix_words(c, i, 1);
	}
	code_bind(c, done);
	for (int i = 1; i < LANES; i++) {
		code_mov(c, R0, LANE + i);
		mix_word(c, LANE);
	}
	code_mov(c, R0, LANE);
	code_bind(c, none);
	code_exit(c);
}

/* To `other` unless words at R4 and R5 are equal. */
static void compare_words(struct code *c, int from, int count, int other)
{
	for (int i = from; i < from + count; i++) {
		code_load(c, 8, R1, R4, 8 * i);
		code_load(c, 8, R2, R5, 8 * i);
		code_jump_if(c, BPF_JNE, R1, R2, other);
	}
}

/* In: R1 and R2 are stacks. Returns 1 if they are equal, else 0. */
static void compare_body(struct emitter *g, uint32_t size)
{
	struct code *c = g->code;
	int few = code_label(c), equal = code_label(c), other = code_label(c), again;

	code_const(c, R0, 0);
	code_jump_imm(c, BPF_JEQ, R1, 0, other); /* never */
	code_jump_imm(c, BPF_JEQ, R2, 0, other); /* never */
	code_mov(c, SCRATCH, R1);
	code_mov(c, TMP, R2);
	again = next_words(g, size, R3, few);
	point_at(c, R4, R3, SCRATCH);
	point_at(c, R5, R3, TMP);
	compare_words(c, 0, LANES, other);
	code_jump(c, again);
	code_bind(c, few);
	code_mov(c, R4, SCRATCH);
	code_mov(c, R5, TMP);
	for (int i = 0; i < LANES - 1; i++) {
		code_jump_imm(c, BPF_JLE, R3, i, equal);
		compare_words(c, i, 1, other);
	}
	code_bind(c, equal);
	code_const(c, R0, 1);
	code_bind(c, other);
	code_exit(c);
}

void gen_key_functions(struct emitter *g)
{
	for (size_t i = 0; i < g->key_count; i++) {
		const struct key_function *f = &g->key_functions[i];

		code_bind(g->code, f->label);
		if (f->compares)
			compare_body(g, f->size);
		else
			hash_body(g, f->size);
	}
}

/* The label of a function, one for all that are alike. */
static int key_function(struct emitter *g, bool compares, uint32_t size)
{
	struct key_function *f;

	for (size_t i = 0; i < g->key_count; i++) {
		f = &g->key_functions[i];
		if (f->compares == compares && f->size == size)
			return f->label;
	}
	if (array_grow(g->key_functions, g->key_count, g->key_cap)) {
		g->code->failed = true;
		return 0;
	}
	f = &g->key_functions[g->key_count++];
	*f = (struct key_function){compares, size, code_label(g->code)};
	return f->label;
}

/* ---- their calls */

/* The hash of the stack goes to `key` in scratch memory. Ruins R0 to R5. */
static void hash_stack(struct emitter *g, const struct key_stack *s, int key)
{
	gen_address(g, R1, s->at, 0);
	code_call_function(g->code, key_function(g, false, s->size), s->size, 0);
	if (g->world->one_hash)
		code_const(g->code, R0, 0);
	code_store(g->code, 8, SCRATCH, key, R0);
}

/* To `other` unless it is the stack of the entry at TMP2. */
static void compare_stack(struct emitter *g, const struct key_stack *s, int other)
{
	gen_address(g, R1, s->at, 0);
	code_address(g->code, R2, TMP2, s->kept);
	code_call_function(g->code, key_function(g, true, s->size), s->size, s->size);
	code_jump_imm(g->code, BPF_JEQ, R0, 0, other);
}

void gen_compare_stacks(struct emitter *g, const struct gen_entry *at)
{
	struct key_stack s = {.at = at->slot, .kept = (int32_t)at->store->value_size};
	int other = code_label(g->code), equal = code_label(g->code);

	code_mov(g->code, TMP2, R0);
	each_stack(g, at, &at->store->def->key, &s, compare_stack, other);
	code_mov(g->code, R0, TMP2);
	code_jump(g->code, equal);
	code_bind(g->code, other);
	code_const(g->code, R0, 0);
	code_bind(g->code, equal);
}

static void copy_stack(struct emitter *g, const struct key_stack *s, int to)
{
	code_copy(g->code, SCRATCH, to + s->kept, spill_base(s->at), s->at.offset, s->size);
}

void gen_copy_stacks(struct emitter *g, const struct gen_entry *at, int32_t to)
{
	struct key_stack s = {.at = at->slot};

	each_stack(g, at, &at->store->def->key, &s, copy_stack, to);
}

/* ---- keys */

static void check_short(struct emitter *g, const struct type *t, struct spill at, int is_long)
{
	if (t->kind == TYPE_TUPLE) {
		for (unsigned i = 0; i < t->element_count; i++) {
			check_short(g, &t->elements[i], at, is_long);
			at.offset += (int32_t)type_memory(&t->elements[i]);
		}
		return;
	}
	if (store_key_size(t, true) == store_key_size(t, false) &&
	    store_stacks_size(t, true) == store_stacks_size(t, false))
		return;
	code_load(g->code, 4, R1, spill_base(at), at.offset); /* bytes, or words of a stack */
	code_jump_imm(g->code, BPF_JGT, R1,
		      (int32_t)(type_is_stack(t) ? STORE_SHORT_STACK / 8 : STORE_SHORT), is_long);
}

void gen_check_short(struct emitter *g, const struct gen_entry *at, int is_long)
{
	check_short(g, &at->store->def->key, at->slot, is_long);
}

/* `from` is where in the slot the next element is, at->key where its part of the key goes. */
static void pack_key(struct emitter *g, const struct type *t, struct gen_entry *at,
		     struct spill *from)
{
	uint32_t size = store_key_size(t, at->map->is_short);

	if (t->kind == TYPE_TUPLE) {
		for (unsigned i = 0; i < t->element_count; i++)
			pack_key(g, &t->elements[i], at, from);
		return;
	}
	if (type_is_stack(t))
		hash_stack(g,
			   &(struct key_stack){*from, 0, store_stacks_size(t, at->map->is_short)},
			   at->key.offset);
	else
		code_copy(g->code, SCRATCH, at->key.offset, spill_base(*from), from->offset, size);
	from->offset += (int32_t)type_memory(t);
	at->key.offset += (int32_t)size;
}

void gen_make_key(struct emitter *g, struct gen_entry *at)
{
	const struct type *t = &at->store->def->key;
	struct spill from = at->slot;

	at->key = at->slot; /* the first bytes of a text are its short key */
	if (!at->map->stacks_size &&
	    (t->kind != TYPE_TUPLE || at->map->key_size == at->store->full_key))
		return;
	at->key = in_scratch(g->frame->key);
	pack_key(g, t, at, &from);
	at->key = in_scratch(g->frame->key);
}

/* The other way: the key at TMP, the stacks of the entry at TMP2, and zeros for what short ones do
 * not have. */
static void unpack_key(struct emitter *g, const struct type *t, bool short_key, struct spill *to,
		       int32_t *key, int32_t *kept)
{
	uint32_t full = (uint32_t)type_memory(t), size = store_key_size(t, short_key), part = size;

	if (t->kind == TYPE_TUPLE) {
		for (unsigned i = 0; i < t->element_count; i++)
			unpack_key(g, &t->elements[i], short_key, to, key, kept);
		return;
	}
	if (type_is_stack(t)) {
		part = store_stacks_size(t, short_key);
		code_copy(g->code, spill_base(*to), to->offset, TMP2, *kept, part);
		*kept += (int32_t)part;
	} else {
		code_copy(g->code, spill_base(*to), to->offset, TMP, *key, part);
	}
	gen_zero(g, *to, (int32_t)part, full - part);
	*key += (int32_t)size;
	to->offset += (int32_t)full;
}

void gen_take_entry(struct emitter *g, const struct insn *in, const struct store_map *map)
{
	const struct store *s = &g->world->stores[in->map];
	const struct type *key = &s->def->key, *value = &s->def->value;
	struct spill k = gen_slot(g, in->s), end = k, v;
	int32_t from = 0, kept = (int32_t)s->value_size;

	unpack_key(g, key, map->is_short, &end, &from, &kept);
	if (type_is_text(key))
		gen_zero(g, k, (int32_t)type_memory(key), TEXT_SLOP);
	if (in->op == OP_EACH_COPY) {
		v = gen_slot(g, in->t);
		code_copy(g->code, spill_base(v), v.offset, TMP2, 0, s->value_size);
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
