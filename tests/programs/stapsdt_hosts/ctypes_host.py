"""libstapsdt by ctypes, as python-stapsdt uses it: structures by hand, numbers and texts as ctypes passes them."""
import sys
import time
from ctypes import CDLL, POINTER, Structure, c_char_p, c_int, c_void_p


class Provider(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("probes", c_void_p),
        ("errno", c_int),
        ("error", c_char_p),
        ("_handle", c_void_p),
        ("_filename", c_char_p),
    ]


class Probe(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("argFmt", c_int * 6),
        ("_fire", c_void_p),
        ("provider", POINTER(Provider)),
        ("argCount", c_int),
    ]


library = CDLL(sys.argv[1])
library.providerInit.restype = POINTER(Provider)
library.providerAddProbe.restype = POINTER(Probe)
provider = library.providerInit(b"hosted")
probe = library.providerAddProbe(provider, b"firstProbe", 2, 8, -4)
loaded = library.providerLoad(provider)
print(provider[0].name.decode(), probe[0].name.decode(), probe[0].argCount, loaded, provider[0].errno, flush=True)
fired = 0
for _ in range(2000):
    if library.probeIsEnabled(probe) == 1:
        library.probeFire(probe, c_char_p(b"a text"), -7)
        fired += 1
    elif fired:
        break
    time.sleep(0.01)
provider[0]._filename = None
print("fired" if fired else "silent", library.providerUnload(provider))
library.providerDestroy(provider)
