"""What probes cost a Python program: "name ns" a line, the cost of a statement less that of an empty
loop. Arguments: untraced|traced, rounds of the loop."""
import gc
import logging
import os
import sys
import timeit

import nopal

COUNT = int(sys.argv[2])
app = nopal.Provider("pybench")
probe = app.probe("request", str, int)
six = app.probe("six", int, int, int, int, int, int)
span = app.span("span")
app.load()
log = logging.getLogger("bench")
log.propagate = False
log.setLevel(logging.INFO)
log.addHandler(nopal.LogHandler(app))
plain = logging.getLogger("plain")
plain.propagate = False
plain.setLevel(logging.INFO)
plain.addHandler(logging.NullHandler())
names = {"plain": plain, "probe": probe, "six": six, "span": span, "log": log, "path": "/index.html", "empty": lambda a, b: None}

UNTRACED = [
    ("a call of an empty Python function", "empty(path, 7)"),
    ("`if probe:`", "if probe: pass"),
    ("`if probe.enabled:`", "if probe.enabled: pass"),
    ("`probe(path, 7)`, not traced", "probe(path, 7)"),
    ("`probe(...)` with six integers, not traced", "six(1, 2, 3, 4, 5, 6)"),
    ("`with span():`, not traced", "with span(): pass"),
    ("a log record into NullHandler", "plain.info('hello %s', path)"),
    ("a log record into LogHandler, not traced", "log.info('hello %s', path)"),
]
TRACED = [
    ("`probe(path, 7)`, traced", "probe(path, 7)"),
    ("`probe(...)` with six integers, traced", "six(1, 2, 3, 4, 5, 6)"),
]


def cost(statement, count):
    if "info(" in statement:
        count //= 50
    return min(timeit.repeat(statement, globals=names, number=count, repeat=5)) / count * 1e9


print(os.getpid(), flush=True)
if sys.argv[1] == "traced":
    sys.stdin.readline()
    if not (probe and six):
        sys.exit("not traced")
gc.disable()
floor = cost("pass", COUNT)
for name, statement in UNTRACED if sys.argv[1] == "untraced" else TRACED:
    print(f"{cost(statement, COUNT) - floor:.1f} {name}", flush=True)
