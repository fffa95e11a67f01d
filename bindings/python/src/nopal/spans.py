"""The decorator of spans: @span.traced."""
from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from ._nopal import Span


def _values(span: Span, function: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """A function that picks the span's values from the arguments of a call: those of the names that
    the span has, else the first ones behind self or cls."""
    signature = inspect.signature(function)
    names = [name for name, _ in span.enter.args]
    if not set(names) <= set(signature.parameters):
        given = list(signature.parameters)
        first = 1 if given[:1] in (["self"], ["cls"]) else 0
        names = given[first : first + len(names)]
    if len(names) < len(span.enter.args):
        raise TypeError(f"{function.__qualname__}() has fewer arguments than {span.enter!r}")

    def values(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return tuple(bound.arguments[name] for name in names)

    return values if names else lambda *args, **kwargs: ()


def traced(span: Span, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with the span around each call; of a coroutine function, until the coroutine ends.
    A call with wrong arguments raises what it always raises."""
    values = _values(span, function)

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            if span:
                with span(*values(*args, **kwargs)):
                    return await function(*args, **kwargs)
            return await function(*args, **kwargs)

        return coroutine

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if span:
            with span(*values(*args, **kwargs)):
                return function(*args, **kwargs)
        return function(*args, **kwargs)

    return wrapper
