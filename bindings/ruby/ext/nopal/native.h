/* What the files of the extension share: the Ruby objects and how a Ruby value becomes what a
 * register holds. */
#ifndef NOPAL_NATIVE_H
#define NOPAL_NATIVE_H

#include <nopal/runtime.h>
#include <ruby.h>

/* The data of a Nopal::Provider. `probes` maps a name, a frozen String, to its Nopal::Probe. */
struct provider {
	struct nopal_provider *handle; /* NULL before initialize */
	VALUE probes;
	unsigned
		defining; /* blocks that add probes: these are loaded at the end of the outermost */
	bool unloaded;	  /* by the program: added probes wait for the next load */
	bool destroyed;
};

/* The data of a Nopal::Probe. It keeps its provider alive, so `handle` is always good. */
struct probe {
	struct nopal_probe *handle;
	VALUE provider;
	unsigned count; /* of arguments */
	unsigned char types[NOPAL_MAX_VALUES];
};

/* The type that a Ruby class or a symbol denotes; raises ArgumentError. */
enum nopal_type type_of_spec(VALUE spec);
/* The symbol of a type. */
VALUE type_symbol(enum nopal_type type);

/* Turn the values into words for nopal_probe_fire_words(): at most NOPAL_MAX_VALUES of them, and at
 * most as many `kept`, which the caller guards until it has fired. The count of words is returned.
 * Raises TypeError, RangeError and what to_str raises. */
unsigned words_of_values(const struct probe *p, const VALUE *values, uint64_t *words, VALUE *kept);

/* Raise Nopal::Error. */
NORETURN(void raise_error(const struct nopal_error *e));

/* Define Nopal::Probe, Nopal::Provider. */
void define_probe(VALUE nopal);
void define_provider(VALUE nopal);

/* A Nopal::Probe of the handle. */
VALUE probe_wrap(VALUE provider, struct nopal_probe *handle);

#endif
