/* Functions of addresses in networks: ntop pton macaddr. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

#include "script/builtins/function.h"
#include "script/check/ctypes.h"
#include "script/lower/emit.h"
#include "script/lower/places.h"

/* AF_*: kinds of addresses, as every Linux numbers them. */
#define KIND_INET  2
#define KIND_INET6 10

/* Bytes of an address that is an array in memory, a buffer, or what pton() gives; 0: it is none. */
static uint64_t address_bytes(struct check *c, const struct expr *a)
{
	const struct type *t = &a->shape.type;

	if (t->kind == TYPE_INT)
		return 0;
	if (a->is_place && t->ctype)
		return check_ctype_size(c, check_ctype(c, t->ctype));
	if (t->kind == TYPE_TUPLE && t->show == SHOW_ARRAY && t->elements[0].size == 1)
		return t->element_count;
	return t->kind != TYPE_BUF ? 0 : t->size <= 8 ? 4 : t->size; /* of whole words */
}

/* ntop(n), ntop(2, n): an IPv4 address in the order of the network; ntop(10, p): an IPv6 one, at an
 * address of the process, 16 bytes; ntop(bytes): 4 or 16 of them, which may be anywhere */
static void check_ntop(struct check *c, struct expr *e)
{
	static const struct type inet = DISPLAY_TYPE("inet", 3);
	struct expr *kind = e->arg_count > 1 ? e->args[0] : NULL, *a = e->args[e->arg_count - 1];
	uint64_t bytes;

	if (kind)
		check_number(c, kind, "the kind of 'ntop'");
	check_expr(c, a);
	bytes = c->err ? 0 : address_bytes(c, a);
	if (!bytes)
		check_int(c, a, "this argument of 'ntop'");
	if (bytes && bytes != 4 && bytes != 16)
		check_error(c, a, "wrong-arg-type", "an address has 4 or 16 bytes, not %llu",
			    (unsigned long long)bytes);
	if (!c->err && kind && kind->is_const && kind->value != KIND_INET &&
	    kind->value != KIND_INET6)
		check_error(c, kind, "wrong-arg-type",
			    "the kind of 'ntop' is 2 for IPv4 or 10 for IPv6");
	else if (!c->err && kind && kind->is_const && kind->value == KIND_INET6 && bytes == 4)
		check_error(c, a, "wrong-arg-type", "an IPv6 address has 16 bytes, not 4");
	e->number = bytes ? bytes : kind && kind->is_const && kind->value == KIND_INET6 ? 16 : 4;
	e->shape = shape_of(inet);
}

/* How an address is kept in its slot: words of `width` bytes, the last one of fewer. */
struct packing {
	uint64_t count, width; /* bytes */
	uint64_t first;	       /* offset of the first word */
};

static uint64_t word_size(struct packing p, uint64_t at)
{
	return p.count - at < p.width ? p.count - at : p.width;
}

/* The bytes at an address. */
static void load_bytes(struct lower *l, uint16_t address, bool is_kernel, struct packing p,
		       uint16_t out)
{
	uint16_t word = lower_reg(l), next = lower_reg(l);

	for (uint64_t at = 0; at < p.count; at += p.width) {
		struct type part = {
			.kind = TYPE_INT, .size = word_size(p, at), .is_kernel = is_kernel};

		if (at)
			emit_operator(l, OPERATOR_ADD, false, address, lower_const(l, at), next);
		emit_load(l, word, at ? next : address, &part);
		emit_put(l, out, p.first + at / p.width * 8, word);
	}
}

static void emit_byte(struct lower *l, uint16_t out, uint16_t from, uint64_t number)
{
	uint16_t at = lower_const(l, number);

	emit_ds(l, OP_BYTE, out, from, 0)->a = at;
}

/* The bytes of a value, in words as memory has them. */
static void gather_bytes(struct lower *l, const struct expr *a, struct packing p, uint16_t out)
{
	const struct type *t = &a->shape.type;
	uint16_t from = lower_memory(l, a, t), byte = lower_reg(l), word = lower_reg(l);
	bool is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	bool is_signed = t->kind == TYPE_TUPLE && t->elements[0].is_signed;
	uint16_t mask = is_signed ? lower_const(l, 0xff) : 0;

	for (uint64_t i = 0; i < p.count; i++) {
		uint64_t place = i % p.width, last = word_size(p, i - place) - 1;

		if (!place)
			emit_di(l, OP_CONST, word, 0);
		if (t->kind == TYPE_TUPLE)
			emit_ds(l, OP_GET, byte, from, 8 * i);
		else
			emit_byte(l, byte, from, i);
		if (is_signed)
			emit_operator(l, OPERATOR_BAND, false, byte, mask, byte);
		emit_operator(l, OPERATOR_SHL, false, byte,
			      lower_const(l, 8 * (is_big ? last - place : place)), byte);
		emit_operator(l, OPERATOR_BOR, false, word, byte, word);
		if (place == last)
			emit_put(l, out, p.first + i / p.width * 8, word);
	}
}

/* The kind, then the bytes. */
static void lower_ntop(struct lower *l, const struct expr *e, uint16_t out)
{
	const struct expr *kind = e->arg_count > 1 ? e->args[0] : NULL;
	const struct expr *a = e->args[e->arg_count - 1];
	bool is_array = a->shape.type.kind != TYPE_INT, is_kernel = a->shape.type.is_kernel;
	struct packing p = {.count = e->number, .width = 8, .first = 8};

	emit_si(l, OP_ZERO, out, 0);
	emit_put(l, out, 0,
		 kind ? lower_word(l, kind)
		      : lower_const(l, e->number == 16 ? KIND_INET6 : KIND_INET));
	if (is_array && a->is_place)
		load_bytes(l, lower_address(l, a), is_kernel, p, out);
	else if (is_array)
		gather_bytes(l, a, p, out);
	else if (e->number == 16)
		load_bytes(l, lower_word(l, a), is_kernel, p, out);
	else
		emit_put(l, out, 8, lower_word(l, a));
}

/* pton("192.0.2.1"), pton("2001:db8::1"): its bytes, in the order of the network */
static void check_pton(struct check *c, struct expr *e)
{
	struct expr *text = e->args[0];
	bool is_v6 = memchr(text->text.ptr, ':', text->text.len);
	unsigned count = is_v6 ? 16 : 4;
	const struct type byte = type_int(1, false);
	char spelt[INET6_ADDRSTRLEN];
	uint8_t bytes[16];

	snprintf(spelt, sizeof(spelt), "%.*s", STR_FMT(text->text));
	if (strlen(spelt) != text->text.len ||
	    inet_pton(is_v6 ? AF_INET6 : AF_INET, spelt, bytes) != 1) {
		check_error(c, text, "bad-address",
			    "'pton' expects an IPv4 or IPv6 address, not '%.*s'",
			    STR_FMT(text->text));
		return;
	}
	e->shape = shape_of(check_array_of(c, &byte, count));
}

static void lower_pton(struct lower *l, const struct expr *e, uint16_t out)
{
	unsigned count = e->shape.type.element_count;
	char spelt[INET6_ADDRSTRLEN];
	uint8_t bytes[16] = {0};

	snprintf(spelt, sizeof(spelt), "%.*s", STR_FMT(e->args[0]->text));
	inet_pton(count == 16 ? AF_INET6 : AF_INET, spelt, bytes);
	for (unsigned i = 0; i < count; i++)
		emit_put(l, out, 8ull * i, lower_const(l, bytes[i]));
}

/* macaddr(p), macaddr(array): 6 bytes, in memory or a value */
static void check_macaddr(struct check *c, struct expr *e)
{
	struct expr *a = e->args[0];

	check_expr(c, a);
	if (c->err || a->shape.type.kind == TYPE_INT ||
	    (a->shape.type.kind != TYPE_BUF && address_bytes(c, a) >= 6))
		return;
	check_int(c, a, "this argument of 'macaddr'");
}

static void lower_macaddr(struct lower *l, const struct expr *e, uint16_t out)
{
	static const struct packing mac = {.count = 6, .width = 4};
	const struct expr *a = e->args[0];
	const struct type *t = &a->shape.type;

	if (t->kind == TYPE_TUPLE)
		gather_bytes(l, a, mac, out);
	else
		load_bytes(l, t->kind == TYPE_INT ? lower_word(l, a) : lower_address(l, a),
			   t->is_kernel, mac, out);
}

/* clang-format off */

/* name, arguments, group, needs, probe types, result, check, lowering, number, help, example */
const struct function network_rows[] = {
	{ "macaddr", "x", GROUP_FUNCTION, 0, 0, DISPLAY_TYPE("mac", 2), check_macaddr, lower_macaddr, 0,
	  "the 6 bytes at an address, as a MAC address", "@[macaddr(arg0)] = count();" },
	{ "ntop", "x[x", GROUP_FUNCTION, 0, 0, NO_RESULT, check_ntop, lower_ntop, 0,
	  "an address of the Internet, as text", "print(ntop((uint32)arg0));" },
	{ "pton", "s", GROUP_FUNCTION, 0, 0, NO_RESULT, check_pton, lower_pton, 0,
	  "the bytes of an address of the Internet", "print(pton(\"192.0.2.1\"));" },
	{ .name = NULL },
};
/* clang-format on */
