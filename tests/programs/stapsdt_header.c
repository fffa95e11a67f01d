/* Our <libstapsdt.h> against the old layouts; compiled as C and C++, behind <errno.h>. */
#include <errno.h>

#include "libstapsdt.h"
#include "stapsdt_abi.h"

#ifdef __cplusplus
#define CHECK(x) static_assert(x, #x)
#else
#define CHECK(x) _Static_assert(x, #x)
#endif

/* <errno.h> is as it was, and the field can be asked for. */
int main(void)
{
	SDTProvider_t provider = {0};

	provider.error = NULL;
	return errno + providerErrorNumber(&provider);
}

#undef errno
#define NEW_number    errno
#define NEW_name      name
#define NEW_probes    probes
#define NEW_error     error
#define NEW_handle    _handle
#define NEW_filename  _filename
#define NEW_memfd     _memfd
#define NEW_use_memfd _use_memfd
#define NEW_formats   argFmt
#define NEW_fire      _fire
#define NEW_provider  provider
#define NEW_count     argCount

#define PROVIDER_FIELD(field, offset)                            \
	CHECK(offsetof(struct old_provider, field) == (offset)); \
	CHECK(offsetof(SDTProvider_t, NEW_##field) == (offset));
#define PROBE_FIELD(field, offset)                            \
	CHECK(offsetof(struct old_probe, field) == (offset)); \
	CHECK(offsetof(SDTProbe_t, NEW_##field) == (offset));

OLD_PROVIDER_FIELDS(PROVIDER_FIELD)
OLD_PROBE_FIELDS(PROBE_FIELD)
CHECK(sizeof(SDTProvider_t) == 56 && sizeof(struct old_provider) == 56);
CHECK(sizeof(SDTProbe_t) == 56 && sizeof(struct old_probe) == 56);
CHECK(sizeof(SDTProbeList_t) == 64 && sizeof(struct old_list) == 64);
CHECK(noError == -1 && elfCreationError == 0 && tmpCreationError == 1);
CHECK(sharedLibraryOpenError == 2 && symbolLoadingError == 3 && sharedLibraryCloseError == 4);
CHECK(noarg == 0 && uint8 == 1 && int8 == -1 && uint16 == 2 && int16 == -2);
CHECK(uint32 == 4 && int32 == -4 && uint64 == 8 && int64 == -8);
CHECK(memfd_disabled == 0 && memfd_enabled == 1 && MAX_ARGUMENTS == 6);
