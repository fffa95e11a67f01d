"""Spans, log records and calls, once somebody traces `adapters:done`: the traced half of a test."""
import asyncio
import logging
import os
import time

import nopal

app = nopal.Provider("adapters", strict=True)
work = app.span("work", str, int)
handler = nopal.LogHandler(app)
calls = nopal.Calls(app, only=lambda code: code.co_name in ("outer", "inner", "failing", "counting"), interval=0.01)
done = app.probe("done")
app.load()
log = logging.getLogger("test")
log.setLevel(logging.INFO)
log.propagate = False
log.addHandler(handler)


@work.traced
def add(name, number=7, *, more=None):
    time.sleep(0.001)
    return name, number


@work.traced
async def later(name, number):
    await asyncio.sleep(0.05)
    return name, number


def inner():
    return 1


def outer():
    return inner()


def failing():
    raise ValueError


def counting():
    yield inner()


def other():
    pass


assert add("quiet", number=1) == ("quiet", 1)
with calls:
    print(os.getpid(), flush=True)
    deadline = time.monotonic() + 20
    while not (done and calls.active) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    assert add("first") == ("first", 7)
    assert add(number=2, name="second", more=1) == ("second", 2)
    assert asyncio.run(later("third", 3)) == ("third", 3)
    try:
        with work("fourth", 4):
            raise KeyError("x")
    except KeyError:
        pass
    log.info("hello %s", "wörld")
    log.debug("not seen")
    try:
        1 // 0
    except ZeroDivisionError:
        log.exception("failed")
    outer()
    other()
    list(counting())
    try:
        failing()
    except ValueError:
        pass
    done()
assert not calls.active
