/* Firing: values are converted to the types in the probe's note, and its stub is called. There is
 * no lock, no allocation, and no system call except in a child's first event: this may run in a
 * signal handler, and while other threads load and unload. */
#include "runtime/runtime.h"

#include "base/export.h"

typedef void stub_fn(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
		     uint64_t, uint64_t, uint64_t, uint64_t);

/* valgrind runs a translation of the code, in which the kernel's tracers see no events. A
 * breakpoint that it finds when it translates a stub would end the program with SIGTRAP. */
NOPAL_PROBE_RACY static bool is_unknown_breakpoint(const unsigned char *stub)
{
#if defined __x86_64__ && defined __LP64__
	const uint64_t request[6] = {0x1001}; /* <valgrind/valgrind.h>: RUNNING_ON_VALGRIND */
	uint64_t running = 0;

	if (*(const volatile unsigned char *)stub != 0xcc)
		return false;
	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(running)
			 : "a"(request)
			 : "cc", "memory");
	return running;
#else
	(void)stub;
	return false;
#endif
}

/* The calling convention of a function with twelve integers puts the values where the note says. In
 * a child the first bytes of the stub may still be those of its parent: the slot is renewed first.
 */
static void call_stub(const struct nopal_probe *p, const uint64_t w[NOPAL_MAX_VALUES])
{
	stub_fn *stub = (stub_fn *)((uintptr_t)p - NOPAL_PROBE_DISTANCE);

	slot_adopt(p->info->slot);
	if (!is_unknown_breakpoint((const unsigned char *)(uintptr_t)stub))
		stub(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11]);
}

static double double_of(struct nopal_value v)
{
	double d;
	float f;
	uint32_t low = (uint32_t)v.bits;

	switch (v.kind) {
	case NOPAL_FROM_SIGNED: return (double)(int64_t)v.bits;
	case NOPAL_FROM_FLOAT: memcpy(&f, &low, sizeof(f)); return f;
	case NOPAL_FROM_DOUBLE: memcpy(&d, &v.bits, sizeof(d)); return d;
	case NOPAL_FROM_UNSIGNED: break;
	}
	return (double)v.bits;
}

/* An integer that is rounded to double first would be rounded twice. */
static uint64_t bits_as_float(struct nopal_value v)
{
	switch (v.kind) {
	case NOPAL_FROM_FLOAT: return (uint32_t)v.bits;
	case NOPAL_FROM_SIGNED: return nopal_bits_of_float((float)(int64_t)v.bits);
	case NOPAL_FROM_UNSIGNED: return nopal_bits_of_float((float)v.bits);
	case NOPAL_FROM_DOUBLE: break;
	}
	return nopal_bits_of_float((float)double_of(v));
}

/* The integral part of a float; if the type cannot hold it, the nearest integer of the type. */
static uint64_t integer_of_double(double d, const struct value_type *type)
{
	unsigned bits = 8u * type->size;
	uint64_t top = UINT64_MAX >> (64 - bits);
	double end = type->is_signed ? (double)(1ull << (bits - 1)) : 2.0 * (1ull << (bits - 1));

	if (d != d)
		return 0;
	if (type->is_signed)
		return d >= end	   ? top >> 1
		       : d <= -end ? (uint64_t)-1 << (bits - 1)
				   : (uint64_t)(int64_t)d;
	return d >= end ? top : d <= 0 ? 0 : (uint64_t)d;
}

/* An integer is cut to the declared width, and extended again: some tracers read the whole
 * register. */
static uint64_t convert_value(struct nopal_value v, const struct value_type *type)
{
	bool is_float = v.kind == NOPAL_FROM_FLOAT || v.kind == NOPAL_FROM_DOUBLE;
	uint64_t bits;

	if (type->type_class == VALUE_FLOAT && type->size == 4)
		return bits_as_float(v);
	if (type->type_class == VALUE_FLOAT)
		return v.kind == NOPAL_FROM_DOUBLE ? v.bits : nopal_bits_of_double(double_of(v));
	if (type->type_class == VALUE_BOOL)
		return is_float ? double_of(v) != 0 : v.bits != 0;
	bits = is_float ? integer_of_double(double_of(v), type) : v.bits;
	switch (type->size) {
	case 1: return type->is_signed ? (uint64_t)(int8_t)bits : (uint8_t)bits;
	case 2: return type->is_signed ? (uint64_t)(int16_t)bits : (uint16_t)bits;
	case 4: return type->is_signed ? (uint64_t)(int32_t)bits : (uint32_t)bits;
	default: return bits;
	}
}

NOPAL_EXPORT void nopal_probe_fire_values(const struct nopal_probe *p,
					  const struct nopal_value *values, unsigned count)
{
	const struct image_probe *image = &p->info->image;
	uint64_t words[NOPAL_MAX_VALUES] = {0};

	if (!nopal_probe_enabled(p))
		return;
	for (unsigned i = 0; i < count && i < image->value_count; i++)
		words[i] = convert_value(values[i], image->types[i]);
	call_stub(p, words);
}

NOPAL_EXPORT void nopal_probe_fire_words(const struct nopal_probe *p, const uint64_t *words,
					 unsigned count)
{
	uint64_t all[NOPAL_MAX_VALUES] = {0};

	if (!nopal_probe_enabled(p))
		return;
	for (unsigned i = 0; i < count && i < p->info->image.value_count; i++)
		all[i] = words[i];
	call_stub(p, all);
}
