/* Arguments of a function at its return: args.x of a uretprobe. A clause of our own at the entry
 * keeps their words in a hidden map, and the clause of the return takes them out.
 *
 *	entry				return
 *
 *	m[call, 0] = 1, words		words = m[call, 0]; delete it; none: count it and leave
 *
 *	call = thread, stack pointer, name of the probe
 *
 * A recursive call has another stack pointer. Functions that end with calls of each other have the
 * same one, and return together, the last one first: the first word is the number of these calls,
 * and the words of all but the first are at m[call, 1] and so on. A call is one of them if the
 * address to return to is where a page begins: there the kernel has put the address of its
 * trampoline. Any other call begins again from 0, so that nothing is left of what longjmp() or the
 * end of a thread left in the map; and what is used no more is forgotten when the map is full.
 *
 * So a return has the arguments of its own call, or is counted (FAULT_UNSEEN): when it was called
 * before the tracer came, or in the parent of its process, or too many calls are open.
 *
 * The kernel's uprobe sessions (Linux 6.14) would need no stack pointer; older kernels have none.
 */
#include "script/lower/saved_args.h"

#include <elf.h>
#include <errno.h>

#include "base/array.h"
#include "program/op.h"
#include "script/check/map.h"
#include "script/lower/emit.h"
#include "script/resolve/attachment.h"
#include "script/resolve/uses.h"

enum { KEY_THREAD, KEY_STACK, KEY_PROBE, KEY_NUMBER, KEY_WORDS };

bool saved_args_wanted(const struct variant *v)
{
	const struct uses *u = v->clause->uses;

	return v->count && v->attachments[0]->spec->type == PROBE_URETPROBE &&
	       (u->field_count || (u->needs & NEED_ALL_ARGS));
}

static const struct arch *arch_of(const struct lower *l)
{
	const struct arch *arch = l->v->attachments[0]->attach.arch;

	return arch ? arch : arch_host();
}

/* Does a call put the return address on the stack? */
static bool pushes_return(const struct arch *arch)
{
	return arch->machine == EM_X86_64 || arch->machine == EM_386;
}

static struct type words_type(struct lower *l, unsigned count)
{
	struct type *words = arena_array(l->arena, struct type, count);

	if (!words)
		lower_fail(l, -ENOMEM);
	for (unsigned i = 0; words && i < count; i++)
		words[i] = type_int(8, false);
	return (struct type){
		.kind = TYPE_TUPLE, .elements = words, .element_count = words ? count : 0};
}

/* The slot of the key. At the return the stack pointer is above the return address. */
static uint16_t make_key(struct lower *l, bool at_return)
{
	const struct arch *arch = arch_of(l);
	struct type type = words_type(l, KEY_WORDS);
	uint16_t key = lower_slot(l, &type), word = lower_reg(l);

	emit_di(l, OP_BUILTIN, word, BUILTIN_INIT_TID);
	emit_put(l, key, 8 * KEY_THREAD, word);
	emit_di(l, OP_REG, word, arch->sp);
	if (at_return && pushes_return(arch))
		emit_operator(l, OPERATOR_SUB, false, word, lower_const(l, arch->word), word);
	emit_put(l, key, 8 * KEY_STACK, word);
	emit_di(l, OP_BUILTIN, word, BUILTIN_PROBE);
	emit_put(l, key, 8 * KEY_PROBE, word);
	emit_put(l, key, 8 * KEY_NUMBER, lower_const(l, 0));
	return key;
}

/* m[key] = slot; when there is no memory for it, nothing is there. */
static void replace_value(struct lower *l, const struct map *m, uint16_t key, uint16_t slot)
{
	emit_map(l, OP_MAP_DEL, m, key);
	emit_map(l, OP_MAP_PUT, m, key)->t = slot;
}

/* ---- The return ---- */

/* The last one of several calls: the first has its words, and their number, in `slot`. */
static void take_last(struct lower *l, const struct map *m, uint16_t key, uint16_t slot,
		      uint16_t number)
{
	emit_operator(l, OPERATOR_SUB, false, number, lower_const(l, 1), number);
	emit_put(l, slot, 0, number);
	replace_value(l, m, key, slot);
	emit_put(l, key, 8 * KEY_NUMBER, number);
	emit_map(l, OP_MAP_COPY, m, key)->t = slot;
}

void saved_args_open(struct lower *l, struct saved_args *k, struct label *end)
{
	static const struct map unknown = {.index = 0};
	struct type type = words_type(l, 1);
	struct label known = {0}, missing = {0}, only = {0};
	uint32_t before = l->next_reg;
	uint16_t key = make_key(l, true), number = lower_reg(l), is_one = lower_reg(l);

	k->slot = lower_slot(l, &type);
	emit_map(l, OP_MAP_COPY, &unknown, key)->t = k->slot;
	emit_ds(l, OP_GET, number, k->slot, 0);
	lower_goto(l, OP_JUMP_NOT, number, &missing);
	emit_operator(l, OPERATOR_EQ, false, number, lower_const(l, 1), is_one);
	lower_goto(l, OP_JUMP_IF, is_one, &only);
	take_last(l, &unknown, key, k->slot, number);
	lower_bind(l, &only);
	emit_map(l, OP_MAP_DEL, &unknown, key)->d = number;
	lower_goto(l, OP_JUMP_IF, number, &known);
	lower_bind(l, &missing);
	lower_op(l, OP_FAULT)->imm = FAULT_UNSEEN;
	lower_goto(l, OP_JUMP, REG_NO, end);
	lower_bind(l, &known);
	k->end = l->count;
	lower_free_slot(l, key);
	l->next_reg = before;
}

void saved_args_argument(struct lower *l, unsigned n, uint16_t out)
{
	struct saved_args *k = l->saved;
	unsigned at = 0;

	while (at < k->count && k->numbers[at] != n)
		at++;
	if (at == k->count && at < COUNT(k->numbers))
		k->numbers[k->count++] = (uint16_t)n;
	else if (at == k->count && !l->err)
		l->err = diag_error_at(l->d, -E2BIG, "too-big",
				       script_span(l->s, l->v->clause->mark),
				       "too many arguments are read at the return: the limit is %u",
				       (unsigned)COUNT(k->numbers));
	emit_ds(l, OP_GET, out, k->slot, 8 * (at + 1));
}

/* The map for this many words; variants of one clause share it: they are of different probes. */
static struct map *find_map(struct lower *l, const struct type *value)
{
	struct map **last = &l->s->maps;
	struct map *m;

	for (; *last; last = &(*last)->next)
		if ((*last)->keeper == l->v->clause &&
		    (*last)->value.element_count == value->element_count)
			return *last;
	m = arena_new(&l->s->arena, struct map);
	if (!m) {
		lower_fail(l, -ENOMEM);
		return NULL;
	}
	*m = (struct map){.name = arena_printf(&l->s->arena, "@args.%u", l->s->map_count),
			  .index = l->s->map_count++,
			  .has_key = true,
			  .has_value = true,
			  .is_hidden = true,
			  .keeper = l->v->clause,
			  .key = words_type(l, KEY_WORDS),
			  .value = *value};
	*last = m;
	return m;
}

void saved_args_close(struct lower *l)
{
	struct saved_args *k = l->saved;
	struct type value = words_type(l, k->count + 1);

	k->map = l->err ? NULL : find_map(l, &value);
	if (!k->map)
		return;
	l->slots[k->slot].type = value;
	for (size_t i = 0; i < k->end; i++)
		if (op_uses_map(l->code[i].op))
			l->code[i].map = (uint16_t)k->map->index;
}

/* ---- The entry ---- */

/* The address that the function returns to. */
static uint16_t return_address(struct lower *l)
{
	const struct arch *arch = arch_of(l);
	const struct arch_reg *link =
		arch_find_reg(arch, STR("lr")) ?: arch_find_reg(arch, STR("ra"));
	const struct type word = type_int(arch->word, false);
	uint16_t out = lower_reg(l);

	if (pushes_return(arch)) {
		emit_di(l, OP_REG, out, arch->sp);
		emit_load(l, out, out, &word);
	} else if (link) {
		emit_di(l, OP_REG, out, link->id);
	} else {
		emit_di(l, OP_CONST, out, 1);
	}
	return out;
}

static void lower_entry(struct lower *l, const struct saved_args *k)
{
	const struct map *m = k->map;
	uint16_t key = make_key(l, false), slot = lower_slot(l, &m->value);
	uint16_t first = lower_slot(l, &m->value);
	uint16_t word = lower_reg(l), number = lower_reg(l), page = return_address(l);
	struct label alone = {0};

	for (unsigned i = 0; i < k->count; i++) {
		emit_di(l, OP_ARG, word, k->numbers[i]);
		emit_put(l, slot, 8 * (i + 1), word);
	}
	emit_put(l, slot, 0, lower_const(l, 1));
	emit_operator(l, OPERATOR_BAND, false, page, lower_const(l, 0xfff), page);
	lower_goto(l, OP_JUMP_IF, page, &alone);
	emit_map(l, OP_MAP_COPY, m, key)->t = first;
	emit_ds(l, OP_GET, number, first, 0);
	lower_goto(l, OP_JUMP_NOT, number, &alone);
	emit_operator(l, OPERATOR_ADD, false, number, lower_const(l, 1), word);
	emit_put(l, first, 0, word);
	replace_value(l, m, key, first);
	emit_put(l, key, 8 * KEY_NUMBER, number);
	lower_bind(l, &alone);
	replace_value(l, m, key, slot);
	lower_op(l, OP_RETURN);
}

int saved_args_clause(struct script *s, const struct variant *v, const struct saved_args *k,
		      struct clause *out, struct diag *d)
{
	struct variant entry = *v;
	struct lower l = {.s = s, .v = &entry, .d = d, .arena = &s->arena, .rounds = 1};
	struct attach *attaches = arena_array(&s->arena, struct attach, v->count + 1);

	if (!attaches)
		return -ENOMEM;
	l.span = v->clause->span - 1;
	lower_entry(&l, k);
	for (size_t i = 0; i < v->count; i++) {
		attaches[i] = v->attachments[i]->attach;
		attaches[i].kind = ATTACH_UPROBE;
	}
	out->attaches = attaches;
	out->attach_count = (uint32_t)v->count;
	return lower_finish(&l, out);
}
