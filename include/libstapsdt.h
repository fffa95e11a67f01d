/* The interface of libstapsdt, on top of Nopal's run-time probes: the same functions, structures
 * and numbers, so that programs and wrappers made for libstapsdt.so.0 run unchanged. New programs
 * should use <nopal/runtime.h>.
 *
 *	SDTProvider_t *p = providerInit("myapp");
 *	SDTProbe_t *request = providerAddProbe(p, "request", 2, uint64, int32);
 *
 *	if (providerLoad(p))
 *		...p->error...
 *	probeFire(request, path, status);
 *	providerUnload(p);
 *	providerDestroy(p);
 *
 * providerLoad() and providerUnload() return 0, or -1 with the reason in `error` and its number in
 * `errno`. A program that includes <errno.h>, where errno is a macro, calls providerErrorNumber()
 * instead. Probes may also be added to a loaded provider; the next providerLoad() makes them
 * visible. providerDestroy() unloads. */
#ifndef LIBSTAPSDT_H
#define LIBSTAPSDT_H

#ifdef __cplusplus
extern "C" {
#endif

#define MAX_ARGUMENTS 6

typedef enum {
	noError = -1,
	elfCreationError = 0,
	tmpCreationError = 1,
	sharedLibraryOpenError = 2,
	symbolLoadingError = 3,
	sharedLibraryCloseError = 4,
} SDTError_t;

/* Bytes; negative: signed. Pointers are uint64. */
typedef enum {
	noarg = 0,
	uint8 = 1,
	int8 = -1,
	uint16 = 2,
	int16 = -2,
	uint32 = 4,
	int32 = -4,
	uint64 = 8,
	int64 = -8,
} ArgType_t;

typedef enum {
	memfd_disabled = 0, /* a file in $XDG_RUNTIME_DIR or /run/user/UID, where there is one */
	memfd_enabled = 1,
} MemFDOption_t;

struct SDTProvider;

typedef struct SDTProbe {
	char *name;
	ArgType_t argFmt[MAX_ARGUMENTS];
	void *_fire; /* its code; NULL: not loaded */
	struct SDTProvider *provider;
	int argCount;
} SDTProbe_t;

typedef struct SDTProbeList_ {
	SDTProbe_t probe;
	struct SDTProbeList_ *next;
} SDTProbeList_t;

#pragma push_macro("errno")
#undef errno
typedef struct SDTProvider {
	char *name;
	SDTProbeList_t *probes; /* the newest first */
	SDTError_t errno;
	char *error; /* NULL: none */
	void *_handle;
	char *_filename;
	int _memfd;
	MemFDOption_t _use_memfd;
} SDTProvider_t;

/* The field `errno`, for programs that cannot name it. */
static __inline__ SDTError_t providerErrorNumber(const SDTProvider_t *provider)
{
	return provider->errno;
}
#pragma pop_macro("errno")

SDTProvider_t *providerInit(const char *name);
/* To be called before the first providerLoad(). 1: it can be had. */
int providerUseMemfd(SDTProvider_t *provider, const MemFDOption_t use_memfd);
/* The types of argCount arguments follow. NULL, with `error` set: more than six, or no memory. */
SDTProbe_t *providerAddProbe(SDTProvider_t *provider, const char *name, int argCount, ...);
int providerLoad(SDTProvider_t *provider);
int providerUnload(SDTProvider_t *provider);
void providerDestroy(SDTProvider_t *provider);

/* Does nothing if the probe is not traced, not loaded, or NULL. */
void probeFire(SDTProbe_t *probe, ...);
int probeIsEnabled(SDTProbe_t *probe);

#ifdef __cplusplus
}
#endif

#endif
