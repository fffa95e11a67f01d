"""The decorator of spans: @span.traced."""
from __future__ import annotations

import contextlib
import functools
import inspect
from typing import TYPE_CHECKING, Any, AsyncGenerator, Callable, Generator

if TYPE_CHECKING:
    from ._nopal import Span


def _values(span: Span, function: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """Make a function that takes the span's values from the arguments of a call: those with the names
    that the span has, else the first ones after self or cls."""
    signature = inspect.signature(function)
    names = [name for name, _ in span.enter.args[:-1]]  # the last is the id
    count = len(names)
    if not set(names) <= set(signature.parameters):
        given = list(signature.parameters)
        first = 1 if given[:1] in (["self"], ["cls"]) else 0
        names = given[first : first + count]
    if len(names) < count:
        raise TypeError(f"{function.__qualname__}() has fewer arguments than {span.enter!r}")

    def values(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return tuple(bound.arguments[name] for name in names)

    return values if names else lambda *args, **kwargs: ()


def traced(span: Span, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with the span around each call; of a coroutine function, until the coroutine ends;
    of a generator function, from the first value that is asked for until the generator ends. A call
    with wrong arguments raises what it always raises."""
    values = _values(span, function)

    async def coroutine(*args: Any, **kwargs: Any) -> Any:
        if span:
            with span(*values(*args, **kwargs)):
                return await function(*args, **kwargs)
        return await function(*args, **kwargs)

    async def async_generator(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        source = function(*args, **kwargs)
        with span(*values(*args, **kwargs)) if span else contextlib.nullcontext():
            try:
                value = await source.__anext__()
                while True:
                    try:
                        sent = yield value
                    except GeneratorExit:
                        await source.aclose()
                        raise
                    except BaseException as error:
                        value = await source.athrow(error)
                    else:
                        value = await source.asend(sent)
            except StopAsyncIteration:
                pass

    def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        if span:
            with span(*values(*args, **kwargs)):
                return (yield from function(*args, **kwargs))
        return (yield from function(*args, **kwargs))

    def call(*args: Any, **kwargs: Any) -> Any:
        if span:
            with span(*values(*args, **kwargs)):
                return function(*args, **kwargs)
        return function(*args, **kwargs)

    wrapper: Callable[..., Any] = call
    if inspect.iscoroutinefunction(function):
        wrapper = coroutine
    elif inspect.isasyncgenfunction(function):
        wrapper = async_generator
    elif inspect.isgeneratorfunction(function):
        wrapper = generator
    return functools.wraps(function)(wrapper)
