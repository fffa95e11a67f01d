/* Two static probes that tell of every image of run-time probes:
 *
 *	nopal:provider_loaded(const char *provider, int fd, void *code, size_t probes)
 *	nopal:provider_unloaded(the same)
 *
 * loaded fires when tracers can attach; unloaded while they still could. */
#ifndef NOPAL_RUNTIME_ANNOUNCE_H
#define NOPAL_RUNTIME_ANNOUNCE_H

#include "runtime/map.h"

void announce_loaded(const char *provider, const struct probe_room *room);
void announce_unloaded(const char *provider, const struct probe_room *room);

#endif
