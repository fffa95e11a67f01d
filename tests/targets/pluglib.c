// flags: -shared -fPIC
/* The library that `plugin load` loads: plug:in(int n). */
#include <sys/sdt.h>

void plug(int n);
void plug(int n)
{
	DTRACE_PROBE1(plug, in, n);
}

/* What `vanish library` reads. */
extern const char plug_text[];
const char plug_text[] = "library";
