/* Nopal::Provider: a provider and its probes. Probes are loaded as they are added, or together at
 * the end of a block. destroy removes them from tracers; their memory is freed when neither the
 * provider nor any of its probes is referenced, so that no thread or Ractor can use freed memory.
 */
#include "native.h"

#include <ruby/encoding.h>

static VALUE error_class;

static void mark_provider(void *data)
{
	rb_gc_mark(((struct provider *)data)->probes);
}

static void free_provider(void *data)
{
	struct provider *p = data;

	nopal_provider_destroy(p->handle);
	ruby_xfree(p);
}

static size_t provider_size(const void *data)
{
	const struct provider *p = data;

	return sizeof(*p) + (p->handle ? nopal_provider_probe_count(p->handle) * 512 : 0);
}

static const rb_data_type_t provider_type = {
	.wrap_struct_name = "Nopal::Provider",
	.function = {.dmark = mark_provider, .dfree = free_provider, .dsize = provider_size},
	.flags =
		RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE,
};

static const char *const error_codes[] = {
	[-NOPAL_BAD_NAME] = "bad_name", [-NOPAL_NAME_TAKEN] = "name_taken",
	[-NOPAL_BAD_ARGS] = "bad_args", [-NOPAL_NO_MEMORY] = "no_memory",
	[-NOPAL_SYSTEM] = "system",	[-NOPAL_UNSUPPORTED] = "unsupported",
};

void raise_error(const struct nopal_error *e)
{
	VALUE error = rb_exc_new_str(error_class, rb_utf8_str_new_cstr(e->text));

	rb_iv_set(error, "@code", ID2SYM(rb_intern(error_codes[-e->code])));
	rb_exc_raise(error);
}

static VALUE error_code(VALUE self)
{
	return rb_iv_get(self, "@code");
}

static VALUE allocate_provider(VALUE class)
{
	struct provider *p;
	VALUE self = TypedData_Make_Struct(class, struct provider, &provider_type, p);

	RB_OBJ_WRITE(self, &p->probes, rb_hash_new());
	return self;
}

/* The provider, which has been initialized. */
static struct provider *provider_of(VALUE self)
{
	struct provider *p = rb_check_typeddata(self, &provider_type);

	if (!p->handle)
		rb_raise(rb_eRuntimeError, "uninitialized provider");
	return p;
}

static struct provider *living_provider(VALUE self)
{
	struct provider *p = provider_of(self);

	if (p->destroyed)
		rb_raise(error_class, "provider '%s' is destroyed", nopal_provider_name(p->handle));
	return p;
}

/* Providers that are not referenced may still hold descriptors and memory. */
static void load_provider(struct provider *p)
{
	struct nopal_error e = {0};

	if (!nopal_provider_load(p->handle, &e))
		return;
	if (e.code == NOPAL_NO_MEMORY || e.code == NOPAL_SYSTEM) {
		rb_gc();
		if (!nopal_provider_load(p->handle, &e))
			return;
	}
	raise_error(&e);
}

static VALUE end_defining(VALUE self)
{
	provider_of(self)->defining--;
	return Qnil;
}

static VALUE provider_define(VALUE self)
{
	struct provider *p = living_provider(self);

	rb_check_frozen(self);
	rb_need_block();
	p->defining++;
	rb_ensure(rb_yield, self, end_defining, self);
	if (!p->defining && !p->unloaded && !p->destroyed)
		load_provider(p);
	return self;
}

static unsigned flags_of_options(VALUE options)
{
	static ID names[1];
	VALUE file[1] = {Qundef};

	if (NIL_P(options))
		return 0;
	names[0] = rb_intern("file");
	rb_get_kwargs(options, names, 0, 1, file);
	return file[0] != Qundef && RTEST(file[0]) ? NOPAL_RUNTIME_FILE : 0;
}

/* A name or description, given as String or Symbol in whatever encoding, as UTF-8. */
static VALUE utf8_of(VALUE name)
{
	if (SYMBOL_P(name))
		name = rb_sym2str(name);
	StringValue(name);
	return rb_str_export_to_enc(name, rb_utf8_encoding());
}

/* Provider.new(name, file: false) { |provider| ... } */
static VALUE provider_initialize(int argc, VALUE *argv, VALUE self)
{
	struct provider *p = rb_check_typeddata(self, &provider_type);
	struct nopal_error e = {0};
	VALUE name, options;

	rb_scan_args(argc, argv, "1:", &name, &options);
	if (p->handle)
		rb_raise(rb_eRuntimeError, "the provider is already initialized");
	name = utf8_of(name);
	p->handle = nopal_provider_new(StringValueCStr(name), flags_of_options(options), &e);
	if (!p->handle)
		raise_error(&e);
	if (rb_block_given_p())
		provider_define(self);
	return self;
}

/* What a call of `probe` declares. */
struct declaration {
	struct nopal_probe_arg args[NOPAL_MAX_VALUES];
	unsigned count;
	VALUE description; /* nil: none */
};

static void add_argument(struct declaration *d, VALUE spec, const char *name)
{
	if (d->count == NOPAL_MAX_VALUES)
		rb_raise(rb_eArgError, "too many arguments: the limit is %d", NOPAL_MAX_VALUES);
	d->args[d->count++] = (struct nopal_probe_arg){type_of_spec(spec), name};
}

/* Symbols of names live as long as the call: they are keys of a hash on the caller's stack. */
static int add_named(VALUE key, VALUE spec, VALUE declaration)
{
	VALUE name;

	if (!SYMBOL_P(key))
		rb_raise(rb_eArgError, "the name of an argument must be a Symbol, not %" PRIsVALUE,
			 rb_inspect(key));
	name = rb_sym2str(key);
	add_argument((struct declaration *)declaration, spec, StringValueCStr(name));
	return ST_CONTINUE;
}

static void read_declaration(struct declaration *d, VALUE rest, VALUE named)
{
	for (long i = 0; i < RARRAY_LEN(rest); i++) {
		VALUE item = RARRAY_AREF(rest, i);

		if (!RB_TYPE_P(item, T_STRING))
			add_argument(d, item, NULL);
		else if (NIL_P(d->description))
			d->description = item;
		else
			rb_raise(rb_eArgError, "a probe can have only one description");
	}
	if (!NIL_P(named))
		rb_hash_foreach(named, add_named, (VALUE)d);
}

/* probe(name, "description", Type, ..., name: Type, ...) */
static VALUE provider_probe(int argc, VALUE *argv, VALUE self)
{
	struct provider *p = living_provider(self);
	struct declaration d = {.description = Qnil};
	struct nopal_error e = {0};
	VALUE name, rest, named, probe;
	struct nopal_probe *handle;

	rb_check_frozen(self);
	rb_scan_args(argc, argv, "1*:", &name, &rest, &named);
	read_declaration(&d, rest, named);
	name = utf8_of(name);
	if (!NIL_P(d.description))
		d.description = utf8_of(d.description);
	handle = nopal_provider_probe(p->handle, StringValueCStr(name), d.args, d.count,
				      NIL_P(d.description) ? NULL : StringValueCStr(d.description),
				      &e);
	if (!handle)
		raise_error(&e);
	probe = probe_wrap(self, handle);
	rb_hash_aset(p->probes, name, probe);
	if (!p->defining && !p->unloaded)
		load_provider(p);
	RB_GC_GUARD(named);
	return probe;
}

static VALUE provider_load(VALUE self)
{
	struct provider *p = living_provider(self);

	load_provider(p);
	p->unloaded = false;
	return self;
}

static void unload_provider(struct provider *p)
{
	struct nopal_error e = {0};

	p->unloaded = true;
	if (nopal_provider_unload(p->handle, &e))
		raise_error(&e);
}

static VALUE provider_unload(VALUE self)
{
	unload_provider(provider_of(self));
	return self;
}

static VALUE provider_destroy(VALUE self)
{
	struct provider *p = provider_of(self);

	p->destroyed = true;
	unload_provider(p);
	return Qnil;
}

static VALUE provider_is_destroyed(VALUE self)
{
	return provider_of(self)->destroyed ? Qtrue : Qfalse;
}

static VALUE provider_is_loaded(VALUE self)
{
	return nopal_provider_is_loaded(provider_of(self)->handle) ? Qtrue : Qfalse;
}

static VALUE provider_name(VALUE self)
{
	return rb_utf8_str_new_cstr(nopal_provider_name(provider_of(self)->handle));
}

static VALUE provider_at(VALUE self, VALUE name)
{
	return rb_hash_lookup(provider_of(self)->probes, SYMBOL_P(name) ? rb_sym2str(name) : name);
}

static VALUE provider_probes(VALUE self)
{
	return rb_funcall(provider_of(self)->probes, rb_intern("values"), 0);
}

void define_provider(VALUE nopal)
{
	VALUE class = rb_define_class_under(nopal, "Provider", rb_cObject);

	error_class = rb_define_class_under(nopal, "Error", rb_eStandardError);
	rb_gc_register_mark_object(error_class);
	rb_define_method(error_class, "code", error_code, 0);
	rb_define_alloc_func(class, allocate_provider);
	rb_undef_method(class, "initialize_copy");
	rb_define_method(class, "initialize", provider_initialize, -1);
	rb_define_method(class, "define", provider_define, 0);
	rb_define_method(class, "probe", provider_probe, -1);
	rb_define_method(class, "[]", provider_at, 1);
	rb_define_method(class, "probes", provider_probes, 0);
	rb_define_method(class, "name", provider_name, 0);
	rb_define_method(class, "load", provider_load, 0);
	rb_define_method(class, "unload", provider_unload, 0);
	rb_define_method(class, "loaded?", provider_is_loaded, 0);
	rb_define_method(class, "destroy", provider_destroy, 0);
	rb_define_method(class, "destroyed?", provider_is_destroyed, 0);
}
