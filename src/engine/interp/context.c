/* Reading what a context holds: arguments, memory, text, stacks. What cannot be read is a fault,
 * and reads as 0 or as an empty text that says so. */
#include "engine/interp/state.h"

/* Copy memory, which may lie in several areas that touch. */
static bool read_memory(const struct context *c, uint64_t address, void *out, size_t len)
{
	const struct area *end = c->areas + c->area_count;
	char *to = out;

	while (len) {
		const struct area *area = c->areas;
		size_t skip, part;

		while (area < end && address - area->address >= area->bytes.len)
			area++;
		if (area == end)
			return false;
		skip = address - area->address;
		part = area->bytes.len - skip < len ? area->bytes.len - skip : len;
		memcpy(to, area->bytes.ptr + skip, part);
		to += part;
		address += part;
		len -= part;
	}
	return true;
}

/* `size` bytes in host order as a number. */
static uint64_t load_number(const void *bytes, unsigned size, bool is_signed)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < size; i++) {
		unsigned at = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? i : size - 1 - i;

		bits = bits << 8 | ((const unsigned char *)bytes)[at];
	}
	return extend_bits(bits, size, is_signed);
}

uint64_t read_user(struct interp_run *r, uint64_t address, unsigned size, bool is_signed)
{
	char bytes[8];

	if (!read_memory(r->c, address, bytes, size)) {
		count_fault(r, FAULT_READ);
		return 0;
	}
	return load_number(bytes, size, is_signed);
}

static uint64_t context_reg(const struct context *c, const struct arch *arch, uint8_t id)
{
	return id == arch->zero ? 0 : c->regs[id];
}

uint64_t read_reg(const struct interp_run *r, uint8_t id)
{
	return context_reg(r->c, r->at->arch, id);
}

/* A register as part of an address. */
static uint64_t address_reg(const struct context *c, const struct arch *arch, uint8_t id)
{
	if (id == REG_NONE || id == arch->zero_base)
		return 0;
	return id == arch->pc ? c->ip : context_reg(c, arch, id);
}

uint64_t operand_address(const struct context *c, const struct arch *arch, const struct operand *o)
{
	uint64_t address = (uint64_t)o->value + address_reg(c, arch, o->base) +
			   (address_reg(c, arch, o->index) << o->scale_shift);

	return arch->word == 4 ? address & UINT32_MAX : address;
}

uint64_t read_arg(struct interp_run *r, const struct operand *o)
{
	bool is_signed = o->is_signed && !o->is_float;

	switch (o->kind) {
	case OPERAND_CONST: return extend_bits((uint64_t)o->value, o->size, is_signed);
	case OPERAND_REG:
		return extend_bits(read_reg(r, o->reg) >> o->reg_shift, o->size, is_signed);
	case OPERAND_MEM:
		return read_user(r, operand_address(r->c, r->at->arch, o), o->size, is_signed);
	case OPERAND_ADDRESS: return operand_address(r->c, r->at->arch, o);
	case OPERAND_CONTEXT:
	case OPERAND_BAD: break;
	}
	return 0;
}

static bool event_bytes(const struct interp_run *r, uint64_t offset, uint64_t len, struct str *out)
{
	struct str event = r->c->event;

	if (offset > event.len || len > event.len - offset)
		return false;
	*out = str_of(event.ptr + offset, len);
	return true;
}

uint64_t read_field(struct interp_run *r, const struct insn *i)
{
	struct str bytes;

	if (!event_bytes(r, (uint64_t)i->imm, i->size, &bytes)) {
		count_fault(r, FAULT_READ);
		return 0;
	}
	return load_number(bytes.ptr, i->size, i->is_signed);
}

uint64_t read_builtin(const struct interp_run *r, int64_t builtin)
{
	const struct context *c = r->c;

	switch ((enum builtin)builtin) {
	case BUILTIN_PID: return c->pid;
	case BUILTIN_TID: return c->tid;
	case BUILTIN_UID: return c->uid;
	case BUILTIN_GID: return c->gid;
	case BUILTIN_CPU: return c->cpu;
	case BUILTIN_NSECS: return c->nsecs;
	case BUILTIN_ELAPSED: return c->nsecs - r->e->start;
	case BUILTIN_CGROUP: return c->cgroup;
	case BUILTIN_RAND: return c->rand;
	case BUILTIN_TASK: return 0; /* no kernel is there */
	case BUILTIN_PROBE: return r->at->name;
	case BUILTIN_FUNC: return r->at->func;
	case BUILTIN_IP: return c->ip;
	case BUILTIN_NCPUS: return c->ncpus;
	case BUILTIN_BOOT: return c->nsecs + c->boot_ahead;
	case BUILTIN_TAI: return c->nsecs + c->tai_ahead;
	case BUILTIN_JIFFIES: return c->nsecs / 4000000; /* at 250 Hz */
	case BUILTIN_NUMA: return 0;
	case BUILTIN_INIT_PID: return c->pid;
	case BUILTIN_INIT_TID: return c->tid;
	case BUILTIN_COUNT_: break;
	}
	return 0;
}

void put_text(struct interp_run *r, uint16_t slot, struct str bytes, uint32_t flags)
{
	const struct type *t = run_type(r, slot);
	char *to = run_slot(r, slot);
	struct text_head head = {.flags = flags};

	if (bytes.len > t->size) {
		bytes.len = t->size;
		head.flags |= TEXT_CUT;
	}
	head.len = (uint32_t)bytes.len;
	memset(to, 0, type_memory(t));
	memcpy(to, &head, sizeof(head));
	if (bytes.len)
		memcpy(to + sizeof(head), bytes.ptr, bytes.len);
}

static void put_unreadable(struct interp_run *r, uint16_t slot)
{
	count_fault(r, FAULT_READ);
	put_text(r, slot, str_of("", 0), TEXT_UNREADABLE);
}

/* How many bytes precede the NUL, at most `limit`; *longer says that there may be more.
 * Kernels copy a text with two bytes more than the limit to learn that; where these cannot be read,
 * the text counts as longer. -1: not even so much can be read. */
static ptrdiff_t text_length(const struct context *c, uint64_t address, size_t limit, bool *longer)
{
	char byte;

	*longer = false;
	for (size_t len = 0; len < limit + 2; len++) {
		bool there = read_memory(c, address + len, &byte, 1);

		if (!there && len < limit)
			return -1;
		if (there && !byte)
			return (ptrdiff_t)(len < limit ? len : limit);
		*longer = len >= limit;
		if (!there)
			break;
	}
	return (ptrdiff_t)limit;
}

static uint64_t text_limit(const struct interp_run *r, const struct insn *i)
{
	return i->imm ? (uint64_t)i->imm : run_type(r, i->s)->size;
}

void read_str(struct interp_run *r, const struct insn *i)
{
	uint64_t address = r->u->regs[i->a], limit = text_limit(r, i);
	uint64_t want = i->b == REG_NO ? UINT64_MAX : r->u->regs[i->b];
	struct text_head *head = (struct text_head *)run_slot(r, i->s);
	ptrdiff_t len;
	bool longer;

	put_text(r, i->s, str_of("", 0), address ? 0 : TEXT_NULL);
	if (!address)
		return;
	len = text_length(r->c, address, want < limit ? want : limit, &longer);
	if (len < 0) {
		put_unreadable(r, i->s);
		return;
	}
	read_memory(r->c, address, head + 1, (size_t)len);
	head->len = (uint32_t)len;
	/* Was it the limit that cut the text, and not the script? */
	head->flags = longer && want > limit ? TEXT_CUT : 0;
}

void read_buf(struct interp_run *r, const struct insn *i)
{
	uint64_t address = r->u->regs[i->a], want = r->u->regs[i->b], limit = text_limit(r, i);
	struct text_head *head = (struct text_head *)run_slot(r, i->s);
	uint32_t len = (uint32_t)(want < limit ? want : limit);

	put_text(r, i->s, str_of("", 0), address ? 0 : TEXT_NULL);
	if (!address)
		return;
	if (!read_memory(r->c, address, head + 1, len)) {
		put_unreadable(r, i->s);
		return;
	}
	head->len = len;
	head->flags = want > limit ? TEXT_CUT : 0;
}

/* A char array at imm, or with size 0 text that the u32 at imm leads to: offset | length << 16. */
void read_field_str(struct interp_run *r, const struct insn *i)
{
	uint64_t offset = (uint64_t)i->imm, len = i->size, where;
	bool found = true;
	const char *nul;
	struct str bytes;

	if (!i->size) {
		found = event_bytes(r, offset, 4, &bytes);
		where = found ? load_number(bytes.ptr, 4, false) : 0;
		offset = where & 0xffff;
		len = where >> 16;
	}
	if (!found || !event_bytes(r, offset, len, &bytes)) {
		put_unreadable(r, i->s);
		return;
	}
	nul = len ? memchr(bytes.ptr, '\0', len) : NULL;
	if (nul)
		bytes.len = (size_t)(nul - bytes.ptr);
	put_text(r, i->s, bytes, 0);
}

void read_stack(struct interp_run *r, const struct insn *i)
{
	bool user = i->op == OP_USTACK;
	const uint64_t *frames = user ? r->c->ustack : r->c->kstack;
	unsigned count = user ? r->c->ustack_count : r->c->kstack_count;
	const struct type *t = run_type(r, i->s);
	struct stack_head head = {.pid = user ? r->c->stack_pid : 0};
	char *to = run_slot(r, i->s);

	head.count = count < t->size / 8 ? count : t->size / 8;
	memset(to, 0, type_memory(t));
	memcpy(to, &head, sizeof(head));
	if (head.count)
		memcpy(to + sizeof(head), frames, 8 * (size_t)head.count);
}

/* Recorded events have no memory of an interpreter. */
/* There are no objects of a kernel. */
void no_path(struct interp_run *r, const struct insn *i)
{
	count_fault(r, FAULT_READ);
	put_text(r, i->s, STR(""), TEXT_UNREADABLE);
}

void no_lang_stack(struct interp_run *r, const struct insn *i)
{
	struct stack_head head = {.pid = r->c->stack_pid};
	char *to = run_slot(r, i->s);

	memset(to, 0, type_memory(run_type(r, i->s)));
	memcpy(to, &head, sizeof(head));
}
