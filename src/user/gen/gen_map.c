/* Maps and records. A map's shape and a record's are constants after the code. */
#include "user/gen/gen_state.h"

#include <stdlib.h>

#include "user/memory/store.h"

int native_map_shape(struct gen *g, const struct insn *in)
{
	return native_pool(g, &g->place->maps[in->map], sizeof(struct map_shape));
}

/* The arguments that all operations on maps begin with. */
#define MAP_ARGS(shape) HIT, LABEL(shape), native_key(g, in)

struct native_arg native_key(const struct gen *g, const struct insn *in)
{
	if (in->s == SLOT_NO)
		return (struct native_arg)NOTHING;
	return (struct native_arg)MEMORY(native_slot(g, in->s, 0));
}

void native_map_get(struct gen *g, const struct insn *in)
{
	int shape = native_map_shape(g, in);

	native_call(g, INSIDE_MAP_GET, MAP_ARGS(shape));
	native_write(g, in->d, ACC);
}

void native_percentile(struct gen *g, const struct insn *in)
{
	int shape = native_map_shape(g, in);

	native_call(g, INSIDE_PERCENTILE, MAP_ARGS(shape), IMM(in->imm));
	native_write(g, in->d, ACC);
}

void native_map_has(struct gen *g, const struct insn *in)
{
	int shape = native_map_shape(g, in);

	native_call(g, INSIDE_MAP_HAS, MAP_ARGS(shape));
	native_write(g, in->d, ACC);
}

void native_map_del(struct gen *g, const struct insn *in)
{
	int shape = native_map_shape(g, in);

	native_call(g, INSIDE_MAP_DEL, MAP_ARGS(shape));
	native_write(g, in->d, ACC);
}

void native_map_copy(struct gen *g, const struct insn *in)
{
	int shape = native_map_shape(g, in);

	native_call(g, INSIDE_MAP_COPY, MAP_ARGS(shape), MEMORY(native_slot(g, in->t, 0)));
}

void native_map_put(struct gen *g, const struct insn *in)
{
	int shape = native_map_shape(g, in);

	native_call(g, INSIDE_MAP_PUT, MAP_ARGS(shape), MEMORY(native_slot(g, in->t, 0)),
		    IMM(in->span));
}

void native_map_set(struct gen *g, const struct insn *in)
{
	int shape = native_map_shape(g, in);

	native_call(g, INSIDE_MAP_SET, MAP_ARGS(shape), REG(in->a), IMM(in->span));
}

void native_map_add(struct gen *g, const struct insn *in)
{
	int shape = native_map_shape(g, in);

	native_call(g, INSIDE_MAP_ADD, MAP_ARGS(shape), REG(in->a), IMM(in->span));
	native_write(g, in->d, ACC);
}

void native_aggregate(struct gen *g, const struct insn *in)
{
	struct native_arg value = {ARG_REG, in->a, 0, {0}};
	int shape;

	if (native_has_cell(g, in)) {
		native_cell_aggregate(g, in);
		return;
	}
	shape = native_map_shape(g, in);
	if (in->a == REG_NO)
		value = (struct native_arg)NOTHING;
	native_call(g, INSIDE_AGGREGATE, MAP_ARGS(shape), value, IMM(in->span));
}

/* ---- records */

static struct emit_field field_of(const struct gen *g, const struct field *f, uint32_t word_at)
{
	const struct type *t;
	struct emit_field out = {.at = word_at, .form = FORM_WORDS, .words = 1};

	if (f->slot == SLOT_NO)
		return out;
	t = native_slot_type(g, f->slot);
	out.at = g->frame.slot_at[f->slot];
	out.words = (uint32_t)type_memory(t) / 8;
	out.form = (uint16_t)native_form(t);
	return out;
}

int native_record_shape(struct gen *g, const struct insn *in, uint32_t words_at)
{
	size_t size = sizeof(struct emit_shape) + in->field_count * sizeof(struct emit_field);
	const struct format *f = &g->program->formats[in->imm];
	struct emit_shape *shape = calloc(1, size);
	int label = 0;

	if (!shape) {
		g->code->failed = true;
		return label;
	}
	shape->format = (uint16_t)in->imm;
	shape->is_control = format_is_control(f);
	shape->is_exit = f->kind == FORMAT_EXIT;
	shape->field_count = in->field_count;
	for (uint32_t i = 0; i < in->field_count; i++)
		shape->fields[i] = field_of(g, &in->fields[i], words_at + 8 * i);
	label = native_pool(g, shape, size);
	free(shape);
	return label;
}

void native_put_fields(struct gen *g, const struct insn *in, struct asm_mem m)
{
	for (uint32_t i = 0; i < in->field_count; i++, m.disp += 8) {
		int32_t imm;

		if (in->fields[i].slot != SLOT_NO)
			continue;
		if (native_is_imm(g, in->fields[i].reg, &imm)) {
			asm_store_imm(g->code, 8, m, imm);
			continue;
		}
		native_read(g, in->fields[i].reg, ACC);
		asm_store(g->code, 8, m, ACC);
	}
}

void native_record(struct gen *g, const struct insn *in)
{
	int shape;

	if (native_is_inline(g, in)) {
		native_inline_record(g, in);
		return;
	}
	shape = native_record_shape(g, in, g->frame.emit_at);
	native_put_fields(g, in, native_frame(g, g->frame.emit_at));
	native_call(g, INSIDE_EMIT, HIT, LABEL(shape), MEMORY(native_frame(g, 0)));
	if (g->has_time)
		asm_alu_mem_imm(g->code, ALU_ADD, 8, native_at(g, g->tsc_at), 1);
}
