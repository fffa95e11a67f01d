// libstapsdt by cgo, as Go's wrappers use it: its header, its structures, functions in C for what is variadic.
package main

// #include <errno.h>
// #include <stdlib.h>
// #include <libstapsdt.h>
//
// static SDTProbe_t *add_probe(SDTProvider_t *provider, const char *name)
// {
//	return providerAddProbe(provider, name, 2, uint64, int32);
// }
//
// static void fire(SDTProbe_t *probe, const char *text, int number)
// {
//	probeFire(probe, text, number);
// }
import "C"

import (
	"fmt"
	"time"
	"unsafe"
)

func main() {
	name, probeName, text := C.CString("hosted"), C.CString("firstProbe"), C.CString("a text")
	defer C.free(unsafe.Pointer(text))
	provider := C.providerInit(name)
	probe := C.add_probe(provider, probeName)
	C.free(unsafe.Pointer(name))
	C.free(unsafe.Pointer(probeName))
	loaded := C.providerLoad(provider)
	fmt.Println(C.GoString(provider.name), C.GoString(probe.name), probe.argCount, loaded, provider.errno)
	said, fired := "silent", 0
	for i := 0; i < 2000; i++ {
		if C.probeIsEnabled(probe) == 1 {
			C.fire(probe, text, -7)
			said = "fired"
			fired++
		} else if fired > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println(said, C.providerUnload(provider))
	C.providerDestroy(provider)
}
