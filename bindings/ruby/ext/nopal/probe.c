/* Nopal::Probe: whether it is being traced, and firing it. A method call in Ruby costs more than
 * the check itself, so nothing is looked up here before the check. */
#include "native.h"

static void mark_probe(void *data)
{
	rb_gc_mark(((struct probe *)data)->provider);
}

static size_t probe_size(const void *data)
{
	(void)data;
	return sizeof(struct probe);
}

/* Frozen from birth, so that every Ractor may use it once its provider is shareable. */
static const rb_data_type_t probe_type = {
	.wrap_struct_name = "Nopal::Probe",
	.function = {.dmark = mark_probe, .dfree = RUBY_DEFAULT_FREE, .dsize = probe_size},
	.flags =
		RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE,
};

static VALUE probe_class;

/* The class cannot be allocated, copied or derived from, so every self is ours. */
static struct probe *probe_of(VALUE self)
{
	return RTYPEDDATA_DATA(self);
}

VALUE probe_wrap(VALUE provider, struct nopal_probe *handle)
{
	struct probe *p;
	VALUE self = TypedData_Make_Struct(probe_class, struct probe, &probe_type, p);

	p->handle = handle;
	p->count = nopal_probe_arg_count(handle);
	for (unsigned i = 0; i < p->count; i++)
		p->types[i] = (unsigned char)nopal_probe_arg_type(handle, i);
	RB_OBJ_WRITE(self, &p->provider, provider);
	rb_obj_freeze(self);
	return self;
}

static VALUE probe_is_enabled(VALUE self)
{
	return nopal_probe_enabled(probe_of(self)->handle) ? Qtrue : Qfalse;
}

static void fire(const struct probe *p, const VALUE *values)
{
	uint64_t words[NOPAL_MAX_VALUES];
	VALUE kept[NOPAL_MAX_VALUES];
	unsigned count = words_of_values(p, values, words, kept);

	nopal_probe_fire_words(p->handle, words, count);
	for (unsigned i = 0; i < p->count; i++)
		RB_GC_GUARD(kept[i]);
}

static void check_count(const struct probe *p, long given)
{
	if (given != (long)p->count)
		rb_raise(rb_eArgError,
			 "wrong number of values for probe '%s' (given %ld, expected %u)",
			 nopal_probe_name(p->handle), given, p->count);
}

/* The values that the block returns: an Array, or the one value itself. */
static void fire_block(const struct probe *p)
{
	VALUE result = rb_yield(Qundef);
	VALUE values[NOPAL_MAX_VALUES];

	if (p->count && !(p->count == 1 && !RB_TYPE_P(result, T_ARRAY))) {
		Check_Type(result, T_ARRAY);
		check_count(p, RARRAY_LEN(result));
		for (unsigned i = 0; i < p->count; i++)
			values[i] = RARRAY_AREF(result, i);
	} else {
		values[0] = result;
	}
	fire(p, values);
	RB_GC_GUARD(result);
}

/* Values, or a block that returns them. The number of values is checked always, their types only
 * while the probe is enabled. */
static VALUE probe_fire(int argc, VALUE *argv, VALUE self)
{
	const struct probe *p = probe_of(self);

	if (argc != (int)p->count && (argc || !rb_block_given_p()))
		check_count(p, argc);
	if (!nopal_probe_enabled(p->handle))
		return Qfalse;
	if (argc || !rb_block_given_p())
		fire(p, argv);
	else
		fire_block(p);
	return Qtrue;
}

static VALUE probe_name(VALUE self)
{
	return rb_utf8_str_new_cstr(nopal_probe_name(probe_of(self)->handle));
}

static VALUE probe_provider(VALUE self)
{
	return probe_of(self)->provider;
}

static VALUE probe_types(VALUE self)
{
	const struct probe *p = probe_of(self);
	VALUE types = rb_ary_new_capa(p->count);

	for (unsigned i = 0; i < p->count; i++)
		rb_ary_push(types, type_symbol(p->types[i]));
	return types;
}

static VALUE probe_arg_names(VALUE self)
{
	const struct probe *p = probe_of(self);
	VALUE names = rb_ary_new_capa(p->count);

	for (unsigned i = 0; i < p->count; i++) {
		const char *name = nopal_probe_arg_name(p->handle, i);

		rb_ary_push(names, *name ? ID2SYM(rb_intern(name)) : Qnil);
	}
	return names;
}

static VALUE probe_fd(VALUE self)
{
	int fd = nopal_probe_fd(probe_of(self)->handle);

	return fd < 0 ? Qnil : INT2NUM(fd);
}

void define_probe(VALUE nopal)
{
	probe_class = rb_define_class_under(nopal, "Probe", rb_cObject);
	rb_gc_register_mark_object(probe_class);
	rb_undef_alloc_func(probe_class);
	rb_undef_method(rb_singleton_class(probe_class), "new");
	rb_define_method(probe_class, "enabled?", probe_is_enabled, 0);
	rb_define_method(probe_class, "fire", probe_fire, -1);
	rb_define_method(probe_class, "name", probe_name, 0);
	rb_define_method(probe_class, "provider", probe_provider, 0);
	rb_define_method(probe_class, "types", probe_types, 0);
	rb_define_method(probe_class, "arg_names", probe_arg_names, 0);
	rb_define_method(probe_class, "fd", probe_fd, 0);
}
