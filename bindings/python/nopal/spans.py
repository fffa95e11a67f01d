"""Spans: a pair of probes around a block of code or a function."""
from __future__ import annotations

import functools
import inspect
from time import perf_counter_ns
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar

if TYPE_CHECKING:
    from ._nopal import Provider

F = TypeVar("F", bound=Callable[..., Any])


class _Idle:
    """What a span gives while nobody traces it: one object for all, which does nothing."""

    __slots__ = ()

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        return None


class _Running:
    """One time that a span is entered while somebody traces."""

    __slots__ = ("_leave", "_start")

    def __init__(self, span: Span, values: tuple[Any, ...]) -> None:
        self._leave = span.leave
        span.enter(*values)
        self._start = perf_counter_ns()

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._leave(perf_counter_ns() - self._start, kind.__name__ if kind else None)


_idle = _Idle()


class Span:
    """Two probes: NAME__entry(values...) and NAME__return(uint64 nanoseconds, str error).

        query = app.span("query", str)

        with query(text):               # around a block
            ...

        @query.traced                   # around a function: its first arguments are the values
        def run(text, options): ...

    `error` is the name of the exception that ended the block, or NULL. The return probe fires for
    what was entered while somebody traced one of the two.
    """

    __slots__ = ("enter", "leave", "_count")

    def __init__(self, provider: Provider, name: str, *types: Any, **named_types: Any) -> None:
        from . import Type

        self.enter = provider.probe(name + "__entry", *types, **named_types)
        self.leave = provider.probe(
            name + "__return", nanoseconds=Type.uint64, error=Type.string
        )
        self._count = len(self.enter.args)

    @property
    def enabled(self) -> bool:
        """Is anybody tracing one of the two probes now?"""
        return self.enter.enabled or self.leave.enabled

    def __call__(self, *values: Any) -> _Idle | _Running:
        if self.enter or self.leave:
            return _Running(self, values)
        if len(values) != self._count:
            self.enter(*values)  # says what is wrong with them
        return _idle

    def traced(self, function: F) -> F:
        """The function with the span around each call. Of a coroutine function, until it ends."""
        enter, leave, count = self.enter, self.leave, self._count
        signature = inspect.signature(function)
        names = list(signature.parameters)[:count]
        if len(names) < count:
            raise TypeError(f"{function.__qualname__}() has fewer arguments than {enter!r}")

        def running(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Idle | _Running:
            if not count:
                return _Running(self, ())
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError:
                return _idle  # the call itself will say so
            bound.apply_defaults()
            return _Running(self, tuple(bound.arguments[name] for name in names))

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def coroutine(*args: Any, **kwargs: Any) -> Any:
                if enter or leave:
                    with running(args, kwargs):
                        return await function(*args, **kwargs)
                return await function(*args, **kwargs)

            return coroutine  # type: ignore[return-value]

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if enter or leave:
                with running(args, kwargs):
                    return function(*args, **kwargs)
            return function(*args, **kwargs)

        return wrapper  # type: ignore[return-value]
