/* Writes an image of run-time probes and reads it back with our own readers: every name, place,
 * operand and type must come out as it went in. For the unit test and the fuzzer. */
#ifndef NOPAL_TESTS_HELP_IMAGE_CHECK_H
#define NOPAL_TESTS_HELP_IMAGE_CHECK_H

#include "runtime/runtime.h"
#include "elf/symbols.h"
#include "probe/describe.h"
#include "probe/sites.h"

const char *check_image(const struct stub_cpu *cpu, struct str provider,
			const struct image_probe *const *probes, size_t count, bool unique);

#endif
