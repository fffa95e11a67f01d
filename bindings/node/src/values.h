/* JavaScript values become the words that a probe fires. */
#ifndef NOPAL_NODE_VALUES_H
#define NOPAL_NODE_VALUES_H

#include <node_api.h>
#include <nopal/runtime.h>

/* Room for the texts of one event, used again by the next one. One per environment: converting runs
 * no JavaScript, so an environment never has two events in it at once. */
struct scratch {
	char *data;
	size_t capacity;
};

void scratch_free(struct scratch *s);
/* After an event: large rooms are not kept. */
void scratch_rest(struct scratch *s);

/* The words of `array`'s elements for this probe; missing elements are 0, further ones are ignored.
 * Addresses are valid until scratch_rest(), and while the array lives. False: an exception is
 * pending, a TypeError or RangeError that names the probe and the argument. */
bool values_to_words(napi_env env, struct scratch *s, const struct nopal_probe *p, napi_value array,
		     uint64_t words[NOPAL_MAX_VALUES]);

#endif
