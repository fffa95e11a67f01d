/* The assembler: lines with symbolic jumps in, plain instructions out. A ld_imm64 is one line in
 * and two instructions out. */
#include "engine/bpf/kernel/insn.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define REACH	   32767 /* of a 16-bit offset */
#define JUMP_REACH 16000 /* half of it: the kernel inserts code of its own between */
#define INSNS_MOST 1000000
#define MAY_GOTO   0xe0 /* BPF_JCOND, since 6.9 */

void code_init(struct code *c)
{
	*c = (struct code){0};
}

void code_free(struct code *c)
{
	free(c->lines);
	free(c->labels);
	free(c->notes);
	code_init(c);
}

int code_label(struct code *c)
{
	if (c->failed || array_grow(c->labels, c->label_count, c->label_cap)) {
		c->failed = true;
		return 0;
	}
	c->labels[c->label_count] = -1;
	return (int)c->label_count++;
}

void code_bind(struct code *c, int label)
{
	if (!c->failed)
		c->labels[label] = (int32_t)c->count;
}

int code_here(struct code *c)
{
	int label = code_label(c);

	code_bind(c, label);
	return label;
}

void code_note(struct code *c, struct str text)
{
	if (c->failed || array_grow(c->notes, c->note_count, c->note_cap)) {
		c->failed = true;
		return;
	}
	c->notes[c->note_count++] = text;
	c->pending_note = (uint32_t)c->note_count;
}

/* The line is valid until the next one is added; after a failure it is a dummy. */
static struct code_line *add_line(struct code *c, int op, int dst, int src, int offset, int32_t imm)
{
	struct code_line *line;

	if (c->failed || array_grow(c->lines, c->count, c->cap)) {
		c->failed = true;
		return &c->dropped;
	}
	line = &c->lines[c->count++];
	*line = (struct code_line){
		.insn = {.code = (uint8_t)op,
			 .dst_reg = (uint8_t)(dst & 15),
			 .src_reg = (uint8_t)(src & 15),
			 .off = (int16_t)offset,
			 .imm = imm},
		.label = -1,
		.span = c->pending_note,
	};
	c->pending_note = 0;
	return line;
}

static struct code_line *add_wide(struct code *c, int dst, int src, uint64_t value)
{
	struct code_line *line = add_line(c, BPF_LD | BPF_IMM | BPF_DW, dst, src, 0, 0);

	line->is_wide = true;
	line->wide = value;
	return line;
}

void code_mov(struct code *c, int dst, int src)
{
	if (dst != src)
		code_alu(c, BPF_MOV, dst, src);
}

/* A 32-bit immediate is sign-extended, so it is half as long as ld_imm64 and does for most
 * constants. */
void code_const(struct code *c, int dst, int64_t value)
{
	if (value == (int32_t)value)
		code_alu_imm(c, BPF_MOV, dst, (int32_t)value);
	else
		add_wide(c, dst, 0, (uint64_t)value);
}

void code_alu(struct code *c, int op, int dst, int src)
{
	add_line(c, BPF_ALU64 | BPF_X | op, dst, src, 0, 0);
}

void code_alu_imm(struct code *c, int op, int dst, int32_t value)
{
	add_line(c, BPF_ALU64 | BPF_K | op, dst, 0, 0, value);
}

void code_alu32(struct code *c, int op, int dst, int src)
{
	add_line(c, BPF_ALU | BPF_X | op, dst, src, 0, 0);
}

static int width_of(int bytes)
{
	return bytes == 1 ? BPF_B : bytes == 2 ? BPF_H : bytes == 4 ? BPF_W : BPF_DW;
}

/* The part of an offset that the 16 bits of an instruction cannot hold: all of it, or 0. */
static int beyond_reach(int offset)
{
	return offset < -REACH || offset > REACH ? offset : 0;
}

static void move_base(struct code *c, int base, int by)
{
	if (by)
		code_alu_imm(c, BPF_ADD, base, by);
}

void code_address(struct code *c, int dst, int base, int32_t offset)
{
	code_mov(c, dst, base);
	move_base(c, dst, offset);
}

void code_load(struct code *c, int bytes, int dst, int base, int offset)
{
	int far = beyond_reach(offset);

	if (far)
		code_address(c, dst, base, far);
	add_line(c, BPF_LDX | BPF_MEM | width_of(bytes), dst, far ? dst : base, offset - far, 0);
}

/* A store has no register to spare: its base is moved there and back. (FRAME cannot be moved, but
 * its offsets are never far.) */
void code_store(struct code *c, int bytes, int base, int offset, int src)
{
	int far = beyond_reach(offset);

	move_base(c, base, far);
	add_line(c, BPF_STX | BPF_MEM | width_of(bytes), base, src, offset - far, 0);
	move_base(c, base, -far);
}

void code_store_imm(struct code *c, int bytes, int base, int offset, int32_t value)
{
	int far = beyond_reach(offset);

	move_base(c, base, far);
	add_line(c, BPF_ST | BPF_MEM | width_of(bytes), base, 0, offset - far, value);
	move_base(c, base, -far);
}

void code_atomic(struct code *c, int op, int base, int offset, int src)
{
	add_line(c, BPF_STX | BPF_ATOMIC | BPF_DW, base, src, offset, op);
}

void code_map(struct code *c, int dst, int map_fd)
{
	add_wide(c, dst, BPF_PSEUDO_MAP_FD, (uint32_t)map_fd);
}

void code_map_value(struct code *c, int dst, int map_fd, uint32_t offset)
{
	add_wide(c, dst, BPF_PSEUDO_MAP_VALUE, (uint64_t)offset << 32 | (uint32_t)map_fd);
}

void code_call(struct code *c, int helper)
{
	add_line(c, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

void code_helper_args(struct code *c, int helper, const struct code_arg *args)
{
	for (int to = R1; args->kind != ARG_END; to++, args++)
		switch (args->kind) {
		case ARG_IMM: code_const(c, to, args->value); break;
		case ARG_MAP: code_map(c, to, args->reg); break;
		case ARG_MAP_VALUE: code_map_value(c, to, args->reg, (uint32_t)args->value); break;
		default: code_address(c, to, args->reg, (int32_t)args->value); break;
		}
	code_call(c, helper);
}

void code_jump(struct code *c, int label)
{
	add_line(c, BPF_JMP | BPF_JA, 0, 0, 0, 0)->label = label;
}

void code_jump_if(struct code *c, int op, int a, int b, int label)
{
	add_line(c, BPF_JMP | BPF_X | op, a, b, 0, 0)->label = label;
}

void code_jump_imm(struct code *c, int op, int a, int32_t b, int label)
{
	add_line(c, BPF_JMP | BPF_K | op, a, 0, 0, b)->label = label;
}

void code_may_goto(struct code *c, int label)
{
	add_line(c, BPF_JMP | MAY_GOTO, 0, 0, 0, 0)->label = label;
}

void code_function(struct code *c, int dst, int label)
{
	add_wide(c, dst, BPF_PSEUDO_FUNC, 0)->label = label;
}

void code_call_function(struct code *c, int label, uint32_t first, uint32_t second)
{
	struct code_line *line = add_line(c, BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 0);

	line->label = label;
	line->wide = (uint64_t)second << 32 | first;
}

void code_exit(struct code *c)
{
	add_line(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static bool is_call(const struct code_line *line)
{
	return line->insn.code == (BPF_JMP | BPF_CALL);
}

static bool is_jump_always(const struct code_line *line)
{
	return line->insn.code == (BPF_JMP | BPF_JA);
}

/* Mark every line that some path leads to. Emitters may leave code after a jump that nothing leads
 * to, and the verifier refuses a program that contains any. Most jumps go down, so one pass nearly
 * does it; a jump up to a line that was not marked yet needs another. */
static void mark_reached(struct code *c)
{
	bool again = true;

	if (c->count)
		c->lines[0].is_reached = true;
	while (again) {
		again = false;
		for (size_t i = 0; i < c->count; i++) {
			struct code_line *line = &c->lines[i];

			if (!line->is_reached)
				continue;
			if (line->insn.code != (BPF_JMP | BPF_EXIT) && !is_jump_always(line) &&
			    i + 1 < c->count)
				c->lines[i + 1].is_reached = true;
			if (line->label < 0)
				continue;
			size_t to = (size_t)c->labels[line->label];

			if (to < c->count && !c->lines[to].is_reached) {
				c->lines[to].is_reached = true;
				again |= to <= i;
			}
		}
	}
}

/* A jump to the next line that is kept has no effect. */
static void drop_empty_jumps(struct code *c)
{
	size_t next = c->count;

	for (size_t i = c->count; i-- > 0;) {
		struct code_line *line = &c->lines[i];

		if (!line->is_reached)
			continue;
		if (is_jump_always(line)) {
			size_t to = (size_t)c->labels[line->label];

			while (to < c->count && !c->lines[to].is_reached)
				to++;
			if (to == next && to > i) {
				line->is_reached = false;
				continue;
			}
		}
		next = i;
	}
}

/* A conditional jump has 16 bits for its distance. A far one becomes three instructions:
 *
 *	if condition goto +1	to the far jump
 *	goto +1			over it
 *	goto far		32 bits */
static uint32_t line_size(const struct code_line *line)
{
	if (line->is_wide)
		return 2;
	return line->is_far && !is_jump_always(line) ? 3 : 1;
}

/* Dropped lines have the position of the next line that is kept, so labels before them are right.
 */
static int64_t jump_distance(const struct code *c, const struct code_line *line)
{
	int32_t to = c->labels[line->label];

	assert(to >= 0 && (size_t)to < c->count); /* every program ends in an exit */
	return (int64_t)c->lines[to].at - line->at - line_size(line);
}

/* Place all lines until nothing moves: a jump that turns out to be far grows, and moves what
 * follows it out of reach of others. A jump never shrinks again, so this ends. */
static size_t settle_jumps(struct code *c)
{
	bool again = true;
	size_t total = 0;

	while (again) {
		again = false;
		total = 0;
		for (size_t i = 0; i < c->count; i++) {
			c->lines[i].at = (uint32_t)total;
			if (c->lines[i].is_reached)
				total += line_size(&c->lines[i]);
		}
		for (size_t i = 0; i < c->count; i++) {
			struct code_line *line = &c->lines[i];

			if (!line->is_reached || line->label < 0 || line->is_far || line->is_wide ||
			    is_call(line))
				continue;
			line->is_far = jump_distance(c, line) > JUMP_REACH ||
				       jump_distance(c, line) < -JUMP_REACH;
			c->has_long_jump |= line->is_far;
			again |= line->is_far;
		}
	}
	return total;
}

static void write_line(const struct code *c, const struct code_line *line, struct bpf_insn *to)
{
	*to = line->insn;
	if (line->is_wide && line->label >= 0) { /* a function: relative to the next instruction */
		to[0].imm = (int32_t)jump_distance(c, line) + 1;
		to[1] = (struct bpf_insn){0};
		return;
	}
	if (line->is_wide) {
		to[0].imm = (int32_t)(uint32_t)line->wide;
		to[1] = (struct bpf_insn){.imm = (int32_t)(line->wide >> 32)};
		return;
	}
	if (line->label < 0)
		return;
	if (is_call(line)) {
		to->imm = (int32_t)jump_distance(c, line);
		return;
	}
	if (!line->is_far) {
		to->off = (int16_t)jump_distance(c, line);
		return;
	}
	if (!is_jump_always(line)) {
		to[0].off = 1;
		to[1] = (struct bpf_insn){.code = BPF_JMP | BPF_JA, .off = 1};
		to += 2;
	}
	*to = (struct bpf_insn){.code = BPF_JMP32 | BPF_JA, .imm = (int32_t)jump_distance(c, line)};
}

int code_finish(struct code *c, struct bpf_insn **out, size_t *count)
{
	struct bpf_insn *insns;
	size_t total;

	if (c->failed)
		return -ENOMEM;
	mark_reached(c);
	drop_empty_jumps(c);
	total = settle_jumps(c);
	if (total > INSNS_MOST)
		return -E2BIG;
	insns = calloc(total ? total : 1, sizeof(*insns));
	if (!insns)
		return -ENOMEM;
	for (size_t i = 0; i < c->count; i++) {
		if (c->lines[i].is_reached)
			write_line(c, &c->lines[i], insns + c->lines[i].at);
	}
	*out = insns;
	*count = total;
	return 0;
}

static int compare_functions(const void *a, const void *b)
{
	const struct code_function *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static void set_bytes(struct code_function *f, uint64_t wide)
{
	f->bytes[0] = (uint32_t)wide;
	f->bytes[1] = (uint32_t)(wide >> 32);
}

int code_functions(const struct code *c, struct code_function **out, size_t *count)
{
	struct code_function *all = calloc(c->count + 1, sizeof(*all));
	size_t calls = 0, n = 0;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < c->count; i++) {
		const struct code_line *line = &c->lines[i];

		if (!line->is_reached || line->label < 0 || !(line->is_wide || is_call(line)))
			continue;
		all[calls] = (struct code_function){.at = c->lines[c->labels[line->label]].at};
		if (is_call(line))
			set_bytes(&all[calls], line->wide);
		calls++;
	}
	qsort(all, calls, sizeof(*all), compare_functions);
	for (size_t i = 0; i < calls; i++)
		if (!n || all[i].at != all[n - 1].at)
			all[n++] = all[i];
	*out = all;
	*count = n;
	return 0;
}
