"""Calls of Python functions as probes, switched on only while they are traced."""
from __future__ import annotations

import os
import sys
import threading
import weakref
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Callable, Optional

if TYPE_CHECKING:
    from ._nopal import Provider

_monitoring: Any = getattr(sys, "monitoring", None)  # 3.12
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Calls:
    """Two probes, function__entry(str file, str function, int32 line) and
    function__return(str file, str function, int32 line, bool failed), for every call of a Python
    function.

        calls = nopal.Calls(app, only=lambda code: "/myapp/" in code.co_filename)
        calls.start()

    `only` says which functions: it is asked at calls, so it should be quick. A generator returns when
    it yields, and is entered when it goes on. `failed` is 1 when an exception left the function.

    With Python 3.12 and newer this uses sys.monitoring: a thread checks every `interval` seconds whether
    the probes are traced; while they are not, function calls cost nothing extra. Older versions have
    only sys.setprofile(): from start() on each call of a function costs a check, in the thread that
    called start() and in threads that start later.
    """

    def __init__(
        self,
        provider: Provider,
        only: Optional[Callable[[CodeType], bool]] = None,
        interval: float = 0.1,
        tool: Optional[int] = None,
    ) -> None:
        from . import Type

        place: dict[str, Any] = {"file": Type.string, "function": Type.string, "line": Type.int32}
        self.entry = provider.probe("function__entry", **place)
        self.leave = provider.probe("function__return", **place, failed=Type.bool_)
        self._only = only
        self._backend: Any = (
            _Monitoring(self, interval, tool) if _monitoring else _Profile(self)
        )

    @property
    def active(self) -> bool:
        """Are calls being watched now?"""
        return bool(self._backend.active)

    def start(self) -> None:
        """Start to watch for tracers."""
        self._backend.start()

    def stop(self) -> None:
        """Stop watching, and undo what start() did."""
        self._backend.stop()

    def __enter__(self) -> Calls:
        self.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()

    def wanted(self, code: CodeType) -> bool:
        """Do the probes report this function? Those of this package are excluded."""
        if code.co_filename.startswith(_HERE):
            return False
        return self._only is None or bool(self._only(code))


class _Monitoring:
    """sys.monitoring; its events are enabled only while a probe is."""

    def __init__(self, calls: Calls, interval: float, tool: Optional[int]) -> None:
        self._calls = calls
        self._interval = interval
        self._tool = tool
        self._used: Optional[int] = None
        self._stopped = threading.Event()
        self._thread: Optional[threading.Thread] = None
        self._lock = threading.Lock()
        self.active = False
        this = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _after_fork(this))

    def start(self) -> None:
        with self._lock:
            if self._thread:
                return
            self._used = self._take_tool()
            self._register()
            self._stopped = threading.Event()
            self._watch_in_thread()

    def stop(self) -> None:
        with self._lock:
            thread, self._thread = self._thread, None
            self._stopped.set()
        if thread and thread is not threading.current_thread():
            thread.join()
        with self._lock:
            if self._used is not None and not self._thread:
                self._switch(False)
                _monitoring.free_tool_id(self._used)
                self._used = None

    def _take_tool(self) -> int:
        """Reserve a free tool number. 3 and 4 have no predefined purpose, so they come first."""
        for number in (3, 4, _monitoring.PROFILER_ID) if self._tool is None else (self._tool,):
            try:
                _monitoring.use_tool_id(number, "nopal")
                return int(number)
            except ValueError:
                continue
        raise RuntimeError("no free tool number in sys.monitoring: other tools use them all")

    def _register(self) -> None:
        calls, events = self._calls, _monitoring.events
        disable = _monitoring.DISABLE

        def enter(code: Any, offset: int, *unused: Any) -> Any:
            if not calls.wanted(code):
                return disable
            calls.entry(code.co_filename, code.co_qualname, code.co_firstlineno)

        def leave(code: Any, offset: int, value: Any) -> Any:
            if not calls.wanted(code):
                return disable
            calls.leave(code.co_filename, code.co_qualname, code.co_firstlineno, False)

        # Events of exceptions do not belong to a code location and cannot be disabled at one.
        def resume(code: CodeType, offset: int, error: BaseException) -> None:
            enter(code, offset)

        def fail(code: Any, offset: int, error: BaseException) -> None:
            if calls.wanted(code):
                calls.leave(code.co_filename, code.co_qualname, code.co_firstlineno, True)

        handlers = (
            (events.PY_START, enter),
            (events.PY_RESUME, enter),
            (events.PY_THROW, resume),
            (events.PY_RETURN, leave),
            (events.PY_YIELD, leave),
            (events.PY_UNWIND, fail),
        )
        self._events = 0
        for event, handler in handlers:
            _monitoring.register_callback(self._used, event, handler)
            self._events |= event

    def _switch(self, on: bool) -> None:
        if on == self.active or self._used is None:
            return
        if on:
            _monitoring.restart_events()  # `only` may decide otherwise now
        _monitoring.set_events(self._used, self._events if on else 0)
        self.active = on

    def _watch_in_thread(self) -> None:
        self._thread = threading.Thread(
            target=self._watch, args=(self._stopped,), name="nopal-calls", daemon=True
        )
        self._thread.start()

    def _watch(self, stopped: threading.Event) -> None:
        entry, leave = self._calls.entry, self._calls.leave
        while True:
            with self._lock:
                if stopped.is_set():
                    return
                self._switch(entry.enabled or leave.enabled)
            stopped.wait(self._interval)

    def after_fork(self) -> None:
        """The child has the tool number, but no watching thread."""
        self._lock = threading.Lock()
        if self._thread:
            self._stopped = threading.Event()
            self._watch_in_thread()


def _after_fork(this: weakref.ref[_Monitoring]) -> None:
    monitoring = this()
    if monitoring:
        monitoring.after_fork()


class _Profile:
    """sys.setprofile(), for this thread and for those that start later."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._before: Any = None
        self._before_in_threads: Any = None
        self.active = False

    def start(self) -> None:
        if self.active:
            return
        self.active = True
        self._before = sys.getprofile()
        self._before_in_threads = getattr(threading, "getprofile", lambda: None)()  # 3.10
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def stop(self) -> None:
        if not self.active:
            return
        self.active = False
        threading.setprofile(self._before_in_threads)
        sys.setprofile(self._before)

    def _profile(self, frame: FrameType, event: str, value: Any) -> None:
        calls = self._calls
        if event == "call":
            if calls.entry:
                self._fire(calls.entry, frame.f_code)
        elif event == "return" and calls.leave:
            # A function that an exception leaves returns None, too; only one of the two has ended
            # at an instruction that returns or yields.
            self._fire(calls.leave, frame.f_code, value is None and not _returns(frame))
        if not self.active:
            sys.setprofile(None)  # a thread that stop() could not reach

    def _fire(self, probe: Any, code: CodeType, *more: bool) -> None:
        if self._calls.wanted(code):
            name = getattr(code, "co_qualname", code.co_name)
            probe(code.co_filename, name, code.co_firstlineno, *more)


def _returns(frame: FrameType) -> bool:
    """Did the frame stop at an instruction that returns or yields a value?"""
    import dis

    name = dis.opname[frame.f_code.co_code[frame.f_lasti]]
    return name.startswith(("RETURN", "YIELD", "SEND")) or name == "ASYNC_GEN_WRAP"
