/*
 * A language with typedefs of its own before the provider, ten arguments, and structs behind it.
 */
typedef struct Tickle_Object Tickle_Object;
typedef const char *TraceString;
typedef unsigned char byte, *bytes;
typedef int (*Compare)(const void *, const void *);

provider tickle {
	/***************************** procedure probes *****************************/
	probe proc__entry(TraceString name, int objc, Tickle_Object **objv);
	probe proc__return(TraceString name, int code);
	probe proc__args(TraceString name, TraceString arg1, TraceString arg2, TraceString arg3,
		TraceString arg4, TraceString arg5, TraceString arg6, TraceString arg7,
		TraceString arg8, TraceString arg9);
	probe proc__info(TraceString cmd, TraceString type, TraceString proc, TraceString file,
		int line, int level, TraceString method, TraceString class);
	probe obj__create(struct Tickle_Object *objPtr);
	probe inst__start(TraceString name, int depth, struct Tickle_Object **stack);
	probe sort__done(Compare compare, const byte *keys, bytes values, unsigned int lengths[4]);
};

#pragma D attributes Evolving/Evolving/Common provider tickle provider
#pragma D attributes Private/Private/Common provider tickle function

/* What an object looks like to a tracer. */
typedef struct Tickle_Type { char *name; void *procs[4]; } Tickle_Type;
struct Tickle_Object {
	int refCount;
	char *bytes;
	int length : 24, shared : 1;
	const Tickle_Type *typePtr;
	union {
		long longValue;
		double doubleValue;
		struct { void *ptr1, *ptr2; } twoPtrValue;
	} internalRep;
};
enum tickle_codes { TICKLE_OK, TICKLE_ERROR = 1, TICKLE_BREAK = (1 << 1) + 1, };
