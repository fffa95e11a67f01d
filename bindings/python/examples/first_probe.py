"""The first probe of every tutorial: reports when it is traced.

    python3 first_probe.py
    sudo bpftrace -e 'usdt::pythonapp:firstProbe { printf("%s %d\\n", str(arg0), arg1) }' -p PID
    sudo nopal -e 'usdt:*:pythonapp:firstProbe { printf("%s %d\\n", str(arg0), arg1) }' -p PID
"""
import itertools
import os
import sys
import time

import stapsdt

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
provider = stapsdt.Provider("pythonapp")
probe = provider.add_probe("firstProbe", stapsdt.ArgTypes.uint64, stapsdt.ArgTypes.int32)
if not provider.load():
    sys.exit(provider.error)
print(f"pid {os.getpid()}", flush=True)
for count in itertools.count():
    if probe.fire("My little probe", count):
        print("Probe fired!", flush=True)
    time.sleep(seconds)
