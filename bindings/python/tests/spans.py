"""Spans that overlap in threads, tasks and generators, once somebody traces: the traced half of a test."""
import asyncio
import os
import threading
import time

import nopal

app = nopal.Provider("spans", strict=True)
work = app.span("work", str, int)
done = app.probe("done")
app.load()


@work.traced
async def task(kind, number):
    await asyncio.sleep((7 - number) / 100)  # they end in the opposite order
    return number


@work.traced
def numbers(kind, number):
    sent = yield number
    while sent is None:
        sent = yield number + 1
    return sent


@work.traced
async def ticks(kind, number):
    sent = None
    while sent is None:
        sent = yield number
    yield sent


async def tasks():
    assert await asyncio.gather(*(task("task", i) for i in range(8))) == list(range(8))
    a, b = ticks("async generator", 0), ticks("async generator", 1)
    assert [await a.__anext__(), await b.__anext__(), await a.asend("x")] == [0, 1, "x"]
    await b.aclose()
    assert [value async for value in a] == []


def generators():
    a, b = numbers("generator", 0), numbers("generator", 1)
    assert [next(a), next(b), next(a), next(b)] == [0, 1, 1, 2]
    for generator in (a, b):
        try:
            generator.send("end")
        except StopIteration as stop:
            assert stop.value == "end"


def handed_over(number):
    """Entered here, left by another thread."""
    span = work("thread", number)
    assert span.__enter__() > 0
    thread = threading.Thread(target=span.__exit__, args=(None, None, None))
    thread.start()
    return thread


with work("quiet", 0) as span_id:
    assert span_id == 0
print(os.getpid(), flush=True)
deadline = time.monotonic() + 20
while not done and time.monotonic() < deadline:
    time.sleep(0.01)
time.sleep(0.1)
asyncio.run(tasks())
generators()
for thread in [handed_over(i) for i in range(4)]:
    thread.join()
done()
