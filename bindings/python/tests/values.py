"""Fire values of every type once somebody traces `values:done`, then end: the traced half of a test."""
import os
import sys
import time

import nopal

INTS = [nopal.Type(n) for n in range(1, 9)]
app = nopal.Provider("values", strict=True)
small = app.probe("small", *INTS[:4])
large = app.probe("large", *INTS[4:])
texts = app.probe("texts", str, nopal.counted, bytes, str)
long_text = app.probe("long_text", str, nopal.counted)
floats = app.probe("floats", nopal.float32, float, float, float)
other = app.probe("other", bool, bool, nopal.pointer, int)
twelve = app.probe("twelve", *[nopal.int32] * 12)
named = app.probe("named", path=str, status=nopal.int32, description="a request was served")
done = app.probe("done")
app.load()
print(os.getpid(), flush=True)


def low(t):
    return -(1 << (8 * (1 << (t - 1) // 2) - 1)) if t % 2 else 0


def high(t):
    return (1 << (8 * (1 << (t - 1) // 2) - t % 2)) - 1


deadline = time.monotonic() + 20
while not done and time.monotonic() < deadline:
    time.sleep(0.01)
time.sleep(float(os.environ.get("DELAY", "0.1")))  # the other probes
for limit in (low, high):
    small(*map(limit, INTS[:4]))
    large(*map(limit, INTS[4:]))
small(-1, 1, -2, 2)
large(-3, 3, True, 4)
texts("żółć 🌵", "a\0b", b"\xff\x00!", None)
texts("", "", b"", "caf\udce9")
long_text("x" * 65535 + "y", "ä" * 32767 + "yz")
floats(1.5, -0.1, float("nan"), float("-inf"))
floats(0.1, 2**53 + 2, 5e-324, -0.0)
floats(3.4028234663852886e38, sys.float_info.max, sys.float_info.min, float("inf"))
other(True, [], 0xFFFF_FFFF_FFFF_FFFE, -(2**63))
twelve(*range(-6, 6))
named("/índex", 404)
done()
