/* The native half of the package: providers and probes as opaque objects, for index.js only. Every
 * environment (the main thread, each worker) has its own objects, and a scratch buffer as instance
 * data; there is no other state. A provider is destroyed when its object and those of its probes
 * are collected, at the latest when the environment ends: then Node.js runs all finalizers. */
#include <stdlib.h>
#include <string.h>

#include "values.h"

#define MAX_ARGS 6 /* of a function here */

struct provider {
	struct nopal_provider *handle;
	unsigned references; /* its object, and those of its probes */
};

struct probe {
	struct nopal_probe *probe;
	struct provider *provider;
};

static const napi_type_tag provider_tag = {0x6e6f70616c2d7072, 0x8f6c1d5b3a7e4920};
static const napi_type_tag probe_tag = {0x6e6f70616c2d7062, 0x2b94e07c6d1f835a};

/* ---- Helpers ---- */

/* Anything that went wrong becomes an exception, unless there is one. */
static bool ok(napi_env env, napi_status status)
{
	const napi_extended_error_info *info = NULL;
	bool pending = false;

	if (status == napi_ok)
		return true;
	napi_get_last_error_info(env, &info);
	const char *text = info && info->error_message ? info->error_message : "Node-API failed";

	if (napi_is_exception_pending(env, &pending) == napi_ok && !pending)
		napi_throw_error(env, NULL, text);
	return false;
}

static napi_value fail(napi_env env, const struct nopal_error *e)
{
	static const char *const codes[] = {
		"NOPAL_OK",	   "NOPAL_BAD_NAME", "NOPAL_NAME_TAKEN", "NOPAL_BAD_ARGS",
		"NOPAL_NO_MEMORY", "NOPAL_SYSTEM",   "NOPAL_UNSUPPORTED"};
	unsigned index = (unsigned)-e->code;

	napi_throw_error(env, index < sizeof(codes) / sizeof(*codes) ? codes[index] : NULL,
			 e->text);
	return NULL;
}

static napi_value fail_no_memory(napi_env env)
{
	napi_throw_error(env, "NOPAL_NO_MEMORY", "out of memory for a probe");
	return NULL;
}

static napi_value boolean(napi_env env, bool x)
{
	napi_value result = NULL;

	napi_get_boolean(env, x, &result);
	return result;
}

/* The arguments of a call; those that are not there are undefined. */
static bool arguments(napi_env env, napi_callback_info info, napi_value args[MAX_ARGS])
{
	size_t count = MAX_ARGS;

	return ok(env, napi_get_cb_info(env, info, &count, args, NULL, NULL));
}

/* The native part of an object that wrapped() made with this tag; NULL: an exception. */
static void *unwrap(napi_env env, napi_value object, const napi_type_tag *tag)
{
	napi_valuetype kind;
	bool is_ours = false;
	void *found = NULL;

	if (napi_typeof(env, object, &kind) == napi_ok && kind == napi_object)
		napi_check_object_type_tag(env, object, tag, &is_ours);
	if (!is_ours || napi_unwrap(env, object, &found) != napi_ok)
		napi_throw_type_error(env, NULL, "not an object of this addon");
	return found;
}

/* An object that owns `native`: if there is none, nothing is owned. */
static napi_value wrapped(napi_env env, void *native, const napi_type_tag *tag, napi_finalize end)
{
	napi_value object = NULL;

	if (!ok(env, napi_create_object(env, &object)) ||
	    !ok(env, napi_type_tag_object(env, object, tag)) ||
	    !ok(env, napi_wrap(env, object, native, end, NULL, NULL)))
		return NULL;
	return object;
}

/* A string in memory of its own; "" for what is not a string. NULL: an exception. */
static char *text_of(napi_env env, napi_value value)
{
	size_t size = 0;
	char *text;

	napi_get_value_string_utf8(env, value, NULL, 0, &size);
	text = calloc(1, size + 1);
	if (!text) {
		fail_no_memory(env);
		return NULL;
	}
	napi_get_value_string_utf8(env, value, text, size + 1, &size);
	if (strlen(text) == size)
		return text;
	free(text);
	napi_throw_error(env, "NOPAL_BAD_NAME", "a name or description contains a NUL");
	return NULL;
}

/* ---- Lives ---- */

static void release(struct provider *provider)
{
	if (--provider->references)
		return;
	nopal_provider_destroy(provider->handle);
	free(provider);
}

static void end_provider(napi_env env, void *data, void *hint)
{
	(void)env, (void)hint;
	release(data);
}

static void end_probe(napi_env env, void *data, void *hint)
{
	struct probe *probe = data;

	(void)env, (void)hint;
	release(probe->provider);
	free(probe);
}

static void end_instance(napi_env env, void *data, void *hint)
{
	(void)env, (void)hint;
	scratch_free(data);
	free(data);
}

/* ---- Providers ---- */

/* open(name, flags) */
static napi_value open_provider(napi_env env, napi_callback_info info)
{
	struct provider *provider = calloc(1, sizeof(*provider));
	struct nopal_error error = {0};
	napi_value args[MAX_ARGS], object = NULL;
	uint32_t flags = 0;
	char *name = NULL;

	if (!provider)
		return fail_no_memory(env);
	if (arguments(env, info, args) && (name = text_of(env, args[0]))) {
		napi_get_value_uint32(env, args[1], &flags);
		provider->references = 1;
		provider->handle = nopal_provider_new(name, flags, &error);
		object = provider->handle ? wrapped(env, provider, &provider_tag, end_provider)
					  : fail(env, &error);
	}
	free(name);
	if (!object) {
		nopal_provider_destroy(provider->handle);
		free(provider);
	}
	return object;
}

/* load(provider) */
static napi_value load(napi_env env, napi_callback_info info)
{
	struct nopal_error error = {0};
	struct provider *provider;
	napi_value args[MAX_ARGS];

	if (!arguments(env, info, args) || !(provider = unwrap(env, args[0], &provider_tag)))
		return NULL;
	return nopal_provider_load(provider->handle, &error) ? fail(env, &error) : NULL;
}

/* unload(provider) */
static napi_value unload(napi_env env, napi_callback_info info)
{
	struct nopal_error error = {0};
	struct provider *provider;
	napi_value args[MAX_ARGS];

	if (!arguments(env, info, args) || !(provider = unwrap(env, args[0], &provider_tag)))
		return NULL;
	return nopal_provider_unload(provider->handle, &error) ? fail(env, &error) : NULL;
}

/* isLoaded(provider) */
static napi_value is_loaded(napi_env env, napi_callback_info info)
{
	struct provider *provider;
	napi_value args[MAX_ARGS];

	if (!arguments(env, info, args) || !(provider = unwrap(env, args[0], &provider_tag)))
		return NULL;
	return boolean(env, nopal_provider_is_loaded(provider->handle));
}

/* ---- Probes ---- */

/* Types (numbers) and names (strings, "" for none) of arguments. The names are ours to free. */
static bool args_of(napi_env env, napi_value types, napi_value names,
		    struct nopal_probe_arg args[NOPAL_MAX_VALUES], unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		napi_value type, name;
		uint32_t number = 0;

		if (!ok(env, napi_get_element(env, types, i, &type)) ||
		    !ok(env, napi_get_value_uint32(env, type, &number)) ||
		    !ok(env, napi_get_element(env, names, i, &name)))
			return false;
		args[i] = (struct nopal_probe_arg){(enum nopal_type)number, text_of(env, name)};
		if (!args[i].name)
			return false;
		if (!*args[i].name) {
			free((char *)args[i].name);
			args[i].name = NULL;
		}
	}
	return true;
}

static napi_value new_probe(napi_env env, struct provider *provider, struct nopal_probe *handle)
{
	struct probe *probe = malloc(sizeof(*probe));
	napi_value object;

	if (!probe)
		return fail_no_memory(env);
	*probe = (struct probe){handle, provider};
	object = wrapped(env, probe, &probe_tag, end_probe);
	if (object)
		provider->references++;
	else
		free(probe);
	return object;
}

/* add(provider, name, description, types, names) */
static napi_value add_probe(napi_env env, napi_callback_info info)
{
	struct nopal_probe_arg declared[NOPAL_MAX_VALUES] = {0};
	struct nopal_error error = {0};
	struct nopal_probe *handle;
	struct provider *provider;
	napi_value args[MAX_ARGS], object = NULL;
	char *name = NULL, *description = NULL;
	uint32_t count = 0;

	if (!arguments(env, info, args) || !(provider = unwrap(env, args[0], &provider_tag)) ||
	    !ok(env, napi_get_array_length(env, args[3], &count)))
		return NULL;
	if (count > NOPAL_MAX_VALUES) {
		napi_throw_error(env, "NOPAL_BAD_ARGS", "too many values: the limit is 12");
		return NULL;
	}
	if ((name = text_of(env, args[1])) && (description = text_of(env, args[2])) &&
	    args_of(env, args[3], args[4], declared, count)) {
		handle = nopal_provider_probe(provider->handle, name, declared, count,
					      *description ? description : NULL, &error);
		object = handle ? new_probe(env, provider, handle) : fail(env, &error);
	}
	for (unsigned i = 0; i < count; i++)
		free((char *)declared[i].name);
	free(description);
	free(name);
	return object;
}

/* instruction(probe): the first byte of the probe as an ArrayBuffer, so that JavaScript that is
 * compiled looks at it with one load and a test, as C does; undefined where this is not allowed. It
 * is readable as long as the probe's object lives, traced or not, enabled or not. */
static napi_value instruction(napi_env env, napi_callback_info info)
{
	napi_value args[MAX_ARGS], bytes = NULL;
	struct probe *probe;

	if (!arguments(env, info, args) || !(probe = unwrap(env, args[0], &probe_tag)))
		return NULL;
	if (napi_create_external_arraybuffer(env, (char *)probe->probe - NOPAL_PROBE_DISTANCE, 1,
					     NULL, NULL, &bytes) != napi_ok)
		return NULL;
	return bytes;
}

/* isEnabled(probe) */
static napi_value is_enabled(napi_env env, napi_callback_info info)
{
	napi_value args[MAX_ARGS];
	struct probe *probe;

	if (!arguments(env, info, args) || !(probe = unwrap(env, args[0], &probe_tag)))
		return NULL;
	return boolean(env, nopal_probe_enabled(probe->probe));
}

/* fire(probe, values): true when the probe was enabled */
static napi_value fire(napi_env env, napi_callback_info info)
{
	uint64_t words[NOPAL_MAX_VALUES];
	napi_value args[MAX_ARGS];
	struct scratch *scratch = NULL;
	struct probe *probe;
	bool is_array = false, converted, enabled;

	if (!arguments(env, info, args) || !(probe = unwrap(env, args[0], &probe_tag)) ||
	    !ok(env, napi_get_instance_data(env, (void **)&scratch)))
		return NULL;
	napi_is_array(env, args[1], &is_array);
	if (!is_array) {
		napi_throw_type_error(env, "NOPAL_BAD_VALUE",
				      "the function of fire() returns an array of values");
		return NULL;
	}
	converted = values_to_words(env, scratch, probe->probe, args[1], words);
	enabled = nopal_probe_enabled(probe->probe);
	if (converted)
		nopal_probe_fire_words(probe->probe, words, NOPAL_MAX_VALUES);
	scratch_rest(scratch);
	return converted ? boolean(env, enabled) : NULL;
}

/* ---- The module ---- */

static bool define(napi_env env, napi_value exports)
{
	static const struct {
		const char *name;
		napi_callback call;
	} functions[] = {
		{"open", open_provider},   {"load", load},     {"unload", unload},
		{"isLoaded", is_loaded},   {"add", add_probe}, {"instruction", instruction},
		{"isEnabled", is_enabled}, {"fire", fire},
	};
	napi_value value;

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (!ok(env, napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH,
						  functions[i].call, NULL, &value)) ||
		    !ok(env, napi_set_named_property(env, exports, functions[i].name, value)))
			return false;
	return ok(env, napi_create_uint32(env, NOPAL_PROBE_NOP, &value)) &&
	       ok(env, napi_set_named_property(env, exports, "NOP", value));
}

/* Runs once in every environment that loads the package. */
NAPI_MODULE_INIT()
{
	struct scratch *scratch = calloc(1, sizeof(*scratch));

	if (!scratch)
		return fail_no_memory(env);
	if (!ok(env, napi_set_instance_data(env, scratch, end_instance, NULL))) {
		free(scratch);
		return NULL;
	}
	return define(env, exports) ? exports : NULL;
}
