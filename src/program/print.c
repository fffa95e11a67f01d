/* The text of --dump=program: maps, literals, names and formats, then each clause with its places,
 * slots and code, one instruction a line. What an instruction shows is in the table of op.c. */
#include "base/buf.h"
#include "program/op.h"

static void print_text(struct str s, struct buf *out)
{
	buf_char(out, '"');
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			buf_printf(out, "\\x%02x", c);
		else
			buf_char(out, (char)c);
	}
	buf_char(out, '"');
}

static void print_texts(const char *what, const struct str *texts, uint32_t count, struct buf *out)
{
	for (uint32_t i = 0; i < count; i++) {
		buf_printf(out, "%s %u ", what, i);
		print_text(texts[i], out);
		buf_char(out, '\n');
	}
}

static void print_reg(uint16_t reg, struct buf *out)
{
	if (reg == REG_NO)
		buf_char(out, '-');
	else
		buf_printf(out, "r%u", reg);
}

static void print_fields(const struct insn *i, struct buf *out)
{
	buf_printf(out, "%lld(", (long long)i->imm);
	for (unsigned n = 0; n < i->field_count; n++) {
		buf_text(out, n ? ", " : "");
		if (i->fields[n].slot == SLOT_NO)
			print_reg(i->fields[n].reg, out);
		else
			buf_printf(out, "s%u", i->fields[n].slot);
	}
	buf_char(out, ')');
}

static void print_operand(char letter, const struct insn *i, struct buf *out)
{
	switch (letter) {
	case 'd':
	case 'D': print_reg(i->d, out); break;
	case 'a':
	case 'A': print_reg(i->a, out); break;
	case 'b':
	case 'B': print_reg(i->b, out); break;
	case 's': buf_printf(out, "s%u", i->s); break;
	case 't': buf_printf(out, "s%u", i->t); break;
	case 'p':
	case 'g': buf_printf(out, "s%u[%lld]", i->s, (long long)i->imm); break;
	case 'q': buf_printf(out, "s%u[%lld]", i->t, (long long)i->imm); break;
	case 'E': buf_printf(out, "m%u", i->map); break;
	case 'k':
		buf_printf(out, "m%u", i->map);
		if (i->s != SLOT_NO)
			buf_printf(out, "[s%u]", i->s);
		break;
	case 'x': buf_printf(out, "%c%u", i->is_signed ? 'i' : 'u', 8u * i->size); break;
	case 'h': buf_u64(out, i->size); break;
	case 'l': buf_u64(out, i->target); break;
	case 'o':
		if (i->imm >= 0 && builtin_name((unsigned)i->imm))
			buf_text(out, builtin_name((unsigned)i->imm));
		else
			buf_s64(out, i->imm);
		break;
	case 'e': print_fields(i, out); break;
	default: buf_s64(out, i->imm); break;
	}
}

static void print_insn(uint32_t number, const struct insn *i, struct buf *out)
{
	const struct op_info *info = op_info(i->op);
	bool is_result = false;

	buf_printf(out, "%5u  ", number);
	if (!info) {
		buf_printf(out, "?%u\n", i->op);
		return;
	}
	for (const char *letter = info->results; *letter; letter++) {
		if (*letter == 'D' && i->d == REG_NO)
			continue;
		buf_text(out, letter == info->results ? "" : ", ");
		print_operand(*letter, i, out);
		is_result = true;
	}
	buf_text(out, is_result ? " = " : "");
	buf_text(out, info->name);
	for (const char *letter = info->operands; *letter; letter++) {
		if (*letter == 'm' && !i->imm)
			continue;
		buf_text(out, letter == info->operands ? " " : ", ");
		print_operand(*letter, i, out);
	}
	buf_char(out, '\n');
}

/* The file, function or tracepoint that an attachment is at. */
static void print_place(const struct attach *a, struct buf *out)
{
	bool is_file = attach_has(a->kind, HAS_FILE), is_symbol = attach_has(a->kind, HAS_SYMBOL);

	buf_char(out, ' ');
	print_text(is_file ? a->path : is_symbol ? a->function : a->tracepoint, out);
	if (is_file || is_symbol)
		buf_printf(out, "%s0x%llx", is_file ? " " : "+", (unsigned long long)a->offset);
	if (is_file && a->sema_offset)
		buf_printf(out, " semaphore 0x%llx", (unsigned long long)a->sema_offset);
}

static void print_attach(const struct attach *a, struct buf *out)
{
	const char *name = attach_name(a->kind);

	buf_printf(out, "  %s", name ? name : "?");
	if (attach_has(a->kind, HAS_COUNTER))
		buf_printf(out, " %u %llu every", a->counter_type, (unsigned long long)a->counter);
	if (attach_has(a->kind, HAS_PERIOD))
		buf_printf(out, " %llu", (unsigned long long)a->period);
	if (attach_has(a->kind, HAS_WATCH))
		buf_printf(out, " 0x%llx %u %u", (unsigned long long)a->offset, a->length, a->mode);
	if (attach_has(a->kind, HAS_FILE | HAS_SYMBOL | HAS_EVENT | HAS_TRACEPOINT))
		print_place(a, out);
	buf_printf(out, " name %u func %u", a->name, a->func);
	for (unsigned i = 0; i < a->arg_count; i++) {
		buf_text(out, i ? " " : " args ");
		print_text(a->args[i].operand.raw, out);
	}
	buf_char(out, '\n');
}

static void print_format(uint32_t number, const struct format *f, struct buf *out)
{
	const char *name = format_name(f->kind);
	struct buf source = BUF_INIT;

	buf_printf(out, "format %u %s ", number, name ? name : "?");
	if (f->piece_count)
		format_source(f, &source);
	print_text(f->piece_count ? buf_as_str(&source) : f->text, out);
	buf_free(&source);
	buf_text(out, " (");
	for (unsigned i = 0; i < f->field_count; i++) {
		buf_text(out, i ? ", " : "");
		type_print(&f->fields[i], out);
	}
	buf_printf(out, ") m%u top %lld div %lld exit %lld%s\n", f->map, (long long)f->top,
		   (long long)f->div, (long long)f->exit_code,
		   f->take == TAKE_ENTRIES  ? " and clear"
		   : f->take == TAKE_VALUES ? " and zero"
					    : "");
}

void program_print(const struct program *p, struct buf *out)
{
	for (uint32_t i = 0; i < p->map_count; i++) {
		buf_printf(out, "map m%u ", i);
		print_text(p->maps[i].name, out);
		buf_char(out, ' ');
		type_print(&p->maps[i].key, out);
		buf_text(out, " -> ");
		type_print(&p->maps[i].value, out);
		buf_printf(out, ", %u entries", p->maps[i].max_entries);
		if (p->maps[i].forgets)
			buf_text(out, ", forgets");
		if (p->maps[i].series.count)
			buf_printf(out, ", %u intervals of %llu ns", p->maps[i].series.count,
				   (unsigned long long)p->maps[i].series.interval);
		buf_char(out, '\n');
	}
	print_texts("literal", p->literals, p->literal_count, out);
	print_texts("name", p->names, p->name_count, out);
	for (uint32_t i = 0; i < p->format_count; i++)
		print_format(i, &p->formats[i], out);
	for (uint32_t i = 0; i < p->clause_count; i++) {
		const struct clause *c = &p->clauses[i];

		buf_printf(out, "clause %u: %u registers\n", i, c->reg_count);
		for (uint32_t k = 0; k < c->attach_count; k++)
			print_attach(&c->attaches[k], out);
		for (uint32_t k = 0; k < c->slot_count; k++) {
			buf_printf(out, "  s%u ", k);
			type_print(&c->slots[k].type, out);
			buf_char(out, '\n');
		}
		for (uint32_t k = 0; k < c->insn_count; k++)
			print_insn(k, &c->code[k], out);
	}
}
