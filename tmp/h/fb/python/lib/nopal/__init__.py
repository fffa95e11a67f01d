"""Static probes (USDT) that a Python program makes while it runs.

    import nopal

    app = nopal.Provider("app")
    request = app.probe("request", str, int)
    app.load()

    def serve(path):
        ...
        if request:                     # some nanoseconds while it is not traced
            request(path, expensive())

Tracers see the probe as usdt:*:app:request. See README.md of the package, or help(nopal.Provider).
"""
from __future__ import annotations

import enum
from typing import Any

from . import _nopal
from ._nopal import Probe, Span
from .calls import Calls
from .logs import LogHandler

__all__ = [
    "Provider", "Probe", "Type", "Span", "LogHandler", "Calls",
    "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "pointer", "string", "counted", "float32", "float64",
]  # fmt: skip

__version__ = "0.1.0"


class Type(enum.IntEnum):
    """Types of arguments. Python's own types denote: int int64, str string, bytes counted, float
    float64, bool bool_."""

    int8 = 1
    uint8 = 2
    int16 = 3
    uint16 = 4
    int32 = 5
    uint32 = 6
    int64 = 7
    uint64 = 8
    bool_ = 9
    pointer = 10  # any address, as an int
    string = 11  # UTF-8 that ends in a NUL: str(arg0)
    counted = 12  # two arguments, the address and the length: str(arg0, arg1)
    float32 = 13
    float64 = 14


int8, uint8, int16, uint16 = Type.int8, Type.uint8, Type.int16, Type.uint16
int32, uint32, int64, uint64 = Type.int32, Type.uint32, Type.int64, Type.uint64
pointer, string, counted = Type.pointer, Type.string, Type.counted
float32, float64 = Type.float32, Type.float64


class Provider(_nopal.Provider):
    """Provider(name, *, file=False, strict=None): a named set of probes.

    with provider: loads it, and unloads it at the end. With file=True the image of the probes is a
    file in $XDG_RUNTIME_DIR. With strict=True (the default under python -X dev) a value that does
    not fit its argument raises, traced or not; otherwise the probe does not fire and the error goes
    to sys.unraisablehook, so that tracing never changes what a program does.
    """

    __slots__ = ()

    def span(self, name: str, *types: Any, **named_types: Any) -> Span:
        """Two probes around a block of code or a function: NAME__entry(values..., uint64 span_id) and
        NAME__return(uint64 nanoseconds, string error, uint64 span_id).

            query = app.span("query", str)

            with query(text):           # around a block; `as span_id` is the id, 0 while it is not traced
                ...

            @query.traced               # around a function: its first arguments are the values
            def run(text, options): ...

        Types with names, as in span("query", text=str), use the function's arguments with these names.
        The id is unique in the process: it pairs the two events whichever thread or task they are in.
        `error` is the name of the exception that ended the block, or NULL. NAME__return fires for
        blocks that were entered while one of the two was traced.
        """
        enter = self.probe(name + "__entry", *types, **named_types, span_id=uint64)
        leave = self.probe(name + "__return", nanoseconds=uint64, error=string, span_id=uint64)
        return Span(enter, leave)
