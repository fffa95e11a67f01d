"""The interface of python-stapsdt, on nopal's run-time probes.

    import stapsdt

    provider = stapsdt.Provider("pythonapp")
    probe = provider.add_probe("firstProbe", stapsdt.ArgTypes.uint64, stapsdt.ArgTypes.int32)
    provider.load()
    if probe.fire("My little probe", 42):
        print("Probe fired!")

Values are passed as C would: integers are cut to the declared width, the address of a text is a
64-bit integer, None is 0. Missing values are 0, further ones are ignored.
"""
from __future__ import annotations

from typing import Any, Callable, Optional

from nopal import Type
from nopal import _nopal

__all__ = ["ArgTypes", "Probe", "Provider"]


class ArgTypes:
    """Types of arguments, with libstapsdt's numbers."""

    noarg = 0
    uint8 = 1
    int8 = -1
    uint16 = 2
    int16 = -2
    uint32 = 4
    int32 = -4
    uint64 = 8
    int64 = -8


_TYPES = {
    1: Type.uint8,
    -1: Type.int8,
    2: Type.uint16,
    -2: Type.int16,
    4: Type.uint32,
    -4: Type.int32,
    8: Type.uint64,
    -8: Type.int64,
}


class Probe:
    """A probe, made by Provider.add_probe()."""

    __slots__ = ("_probe", "fire")

    #: fire(*values): True if the probe was traced; otherwise it does nothing and returns False.
    fire: Callable[..., bool]

    def __init__(self, probe: _nopal.Probe) -> None:
        self._probe = probe
        self.fire = probe

    @property
    def name(self) -> str:
        return self._probe.name

    @property
    def is_enabled(self) -> bool:
        """Is anybody tracing the probe now?"""
        return self._probe.enabled


class Provider:
    """A named set of probes. `error` is the text of the last failure of load() or unload()."""

    def __init__(self, name: str) -> None:
        self._provider = _nopal.Provider(name, _loose=True)
        self.error: Optional[str] = None

    @property
    def name(self) -> str:
        return self._provider.name

    def add_probe(self, name: str, *args: int) -> Probe:
        """A probe with up to 12 arguments of ArgTypes. It is there after the next load()."""
        for number in args:
            if number != ArgTypes.noarg and number not in _TYPES:
                raise ValueError(f"{number!r} is not one of ArgTypes")
        types = [_TYPES[number] for number in args if number != ArgTypes.noarg]
        return Probe(self._provider.probe(name, *types))

    def load(self) -> bool:
        """Show the probes to tracers. False, and a text in `error`, when that fails."""
        return self._try(self._provider.load)

    def unload(self) -> bool:
        """Take the probes away. False, and a text in `error`, when that fails."""
        return self._try(self._provider.unload)

    def _try(self, what: Callable[[], Any]) -> bool:
        try:
            what()
        except (OSError, MemoryError, NotImplementedError) as error:
            self.error = str(error)
            return False
        self.error = None
        return True
