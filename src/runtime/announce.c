/* The announcing probes; see runtime_announce.h. */
#include "runtime/announce.h"

#include "nopal/sdt.h"

void announce_loaded(const char *provider, const struct probe_room *room)
{
	NOPAL_PROBE(nopal, provider_loaded, provider, room->fd, room->base, room->count);
}

void announce_unloaded(const char *provider, const struct probe_room *room)
{
	NOPAL_PROBE(nopal, provider_unloaded, provider, room->fd, room->base, room->count);
}
