import gc
import math
import os
import subprocess
import sys
import tempfile
import threading
import tracemalloc
import unittest
from unittest import mock

import nopal
from tracing import needs_x86, traced


def unraisable(function):
    """The errors that a call reports to sys.unraisablehook."""
    seen, before = [], sys.unraisablehook
    sys.unraisablehook = lambda error: seen.append(error.exc_type)
    try:
        function()
    finally:
        sys.unraisablehook = before
    return seen


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def mappings():
    with open("/proc/self/maps") as maps:
        return sum(1 for _ in maps)


class Declaring(unittest.TestCase):
    def setUp(self):
        self.p = nopal.Provider("tests")

    def test_types_and_names_are_kept(self):
        probe = self.p.probe("a", int, str, bytes, float, bool, nopal.uint8, ("x", nopal.int16), y=str)
        self.assertEqual(
            [(name, nopal.Type(t).name) for name, t in probe.args],
            [("", "int64"), ("", "string"), ("", "counted"), ("", "float64"), ("", "bool_"),
             ("", "uint8"), ("x", "int16"), ("y", "string")],
        )  # fmt: skip
        self.assertEqual((probe.name, probe.provider, len(self.p)), ("a", self.p, 1))
        self.assertEqual(self.p.find("a").args, probe.args)
        self.assertIsNone(self.p.find("b"))

    def test_an_argument_may_be_called_description(self):
        probe = self.p.probe("a", ("description", str), description="what it is for")
        self.assertEqual(probe.args, (("description", nopal.string),))

    def test_what_cannot_be_declared(self):
        self.p.probe("taken")
        for error, call in (
            (ValueError, lambda: nopal.Provider("")),
            (ValueError, lambda: nopal.Provider("a b")),
            (ValueError, lambda: nopal.Provider("a" * 250)),
            (ValueError, lambda: nopal.Provider("a\0b")),
            (TypeError, lambda: nopal.Provider()),
            (ValueError, lambda: self.p.probe("taken")),
            (ValueError, lambda: self.p.probe("1st")),
            (ValueError, lambda: self.p.probe("a\0b")),
            (ValueError, lambda: self.p.probe("p", ("a\0b", int))),
            (ValueError, lambda: self.p.probe("p", description="a\0b")),
            (TypeError, lambda: self.p.probe("p", True)),
            (TypeError, lambda: self.p.probe()),
            (TypeError, lambda: self.p.probe(b"bytes")),
            (TypeError, lambda: self.p.probe("p", list)),
            (TypeError, lambda: self.p.probe("p", ("x",))),
            (TypeError, lambda: self.p.probe("p", (b"x", int))),
            (TypeError, lambda: self.p.probe("p", description=int)),
            (ValueError, lambda: self.p.probe("p", 0)),
            (ValueError, lambda: self.p.probe("p", 15)),
            (OverflowError, lambda: self.p.probe("p", 1 << 70)),
            (ValueError, lambda: self.p.probe("p", ("not good", int))),
            (ValueError, lambda: self.p.probe("p", *[int] * 13)),
            (ValueError, lambda: self.p.probe("p", *[bytes] * 7)),
            (TypeError, lambda: nopal.Probe()),
            (TypeError, lambda: nopal.Span(1, 2)),
        ):
            with self.assertRaises(error):
                call()
        self.assertEqual(len(self.p), 1)

    def test_a_name_ends_where_it_ends(self):
        self.p.probe("taken")
        self.assertIsNone(self.p.find("taken\0too"))

    def test_what_was_wrong_is_told_in_whole_characters(self):
        with self.assertRaisesRegex(ValueError, "^'aé+' cannot be the name of a provider"):
            nopal.Provider("a" + "é" * 60)

    def test_loading(self):
        a = self.p.probe("a")
        self.assertEqual((self.p.loaded, a.fd), (False, -1))
        with self.p as same:
            self.assertIs(same, self.p)
            self.assertTrue(self.p.loaded)
            self.assertGreaterEqual(a.fd, 0)
            self.assertGreaterEqual(self.p.probe("b").fd, 0)  # at once
        self.assertEqual((self.p.loaded, a.fd), (False, -1))
        self.assertEqual(self.p.probe("c").fd, -1)

    def test_a_block_that_fails_unloads_too(self):
        with self.assertRaises(KeyError), self.p:
            self.p.probe("a")
            raise KeyError
        self.assertFalse(self.p.loaded)

    def test_a_probe_keeps_its_provider(self):
        with nopal.Provider("kept") as p:
            probe = p.probe("a", int)
        del p
        self.assertFalse(probe(1))
        self.assertEqual(probe.provider.name, "kept")

    def test_what_they_say_they_are(self):
        self.assertEqual(repr(self.p.probe("a", str, n=int)), "<nopal.Probe tests:a(string, n: int64)>")
        self.assertEqual(repr(self.p), "<nopal.Provider tests, 1 probe, not loaded>")

    def test_a_file_on_request(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        os.chmod(directory.name, 0o700)
        patch = mock.patch.dict(os.environ, XDG_RUNTIME_DIR=directory.name)
        patch.start()
        self.addCleanup(patch.stop)
        p = nopal.Provider("file", file=True)
        probe = p.probe("a")
        with p:
            self.assertGreaterEqual(probe.fd, 0)
            self.assertEqual(len(os.listdir(directory.name)), 1)
        self.assertEqual(os.listdir(directory.name), [])


class Firing(unittest.TestCase):
    RANGES = {
        nopal.int8: (-(2**7), 2**7 - 1), nopal.uint8: (0, 2**8 - 1),
        nopal.int16: (-(2**15), 2**15 - 1), nopal.uint16: (0, 2**16 - 1),
        nopal.int32: (-(2**31), 2**31 - 1), nopal.uint32: (0, 2**32 - 1),
        nopal.int64: (-(2**63), 2**63 - 1), nopal.uint64: (0, 2**64 - 1),
        nopal.pointer: (0, 2**64 - 1),
    }  # fmt: skip

    def test_integers_are_checked_to_the_last(self):
        p = nopal.Provider("ranges", strict=True)
        for kind, (low, high) in self.RANGES.items():
            probe = p.probe(f"of_{kind.name}", kind)
            for good in (low, 0, 1, True, high):
                probe(good)
            for bad in (low - 1, high + 1, -(2**64), 2**64, 2**200):
                with self.assertRaises(OverflowError, msg=f"{kind!r} {bad}"):
                    probe(bad)
            for bad in ("1", 1.0, None, b"1"):
                with self.assertRaises(TypeError):
                    probe(bad)

    def test_what_has_an_index_is_an_integer(self):
        class Seven:
            def __index__(self):
                return 7

        probe = nopal.Provider("index", strict=True).probe("a", int)
        probe(Seven())

    def test_texts(self):
        for kind in (str, bytes):
            probe = nopal.Provider("texts", strict=True).probe("a", kind)
            for good in ("", "é", "a\0b", b"", b"\xff", bytearray(b"x"), None, "\udce9", "\ud800"):
                probe(good)
            for bad in (1, 1.0, [], memoryview(b"x")):
                with self.assertRaises(TypeError):
                    probe(bad)

    def test_floats(self):
        p = nopal.Provider("floats", strict=True)
        single, double = p.probe("f", nopal.float32), p.probe("d", float)
        for good in (0, 1.5, math.inf, math.nan, True, 3.4028235e38):
            single(good)
            double(good)
        double(1e300)
        for probe, bad, error in (
            (single, 1e300, OverflowError),
            (double, 10**400, OverflowError),
            (double, "1", TypeError),
            (single, None, TypeError),
        ):
            with self.assertRaises(error):
                probe(bad)

    def test_the_number_of_values_always_counts(self):
        probe = nopal.Provider("count").probe("a", int, int)
        for values in ((), (1,), (1, 2, 3), range(12), range(13), range(1000)):
            for call in (probe, probe.fire):
                with self.assertRaises(TypeError):
                    call(*values)
        with self.assertRaises(TypeError):
            probe(1, b=2)
        self.assertIs(probe(*[1, 2]), False)

    def test_untraced_values_are_not_looked_at(self):
        self.assertIs(nopal.Provider("lazy", strict=False).probe("a", int)("no integer"), False)

    def test_development_mode_is_strict(self):
        code = "import nopal; nopal.Provider('dev').probe('a', int)('x')"
        done = subprocess.run([sys.executable, "-X", "dev", "-c", code], capture_output=True)
        self.assertIn(b"TypeError", done.stderr)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    @needs_x86
    def test_traced_or_not(self):
        with nopal.Provider("fired", strict=False) as p:
            probe = p.probe("a", str, int)
            off = (bool(probe), probe.enabled, probe("x", 1), probe.fire("x", 1))
            with traced("fired") as count:
                on = (bool(probe), probe.enabled, probe("x", 1), probe.fire("x", 1))
            self.assertEqual((count, off, on), (1, (False,) * 4, (True,) * 4))
            self.assertFalse(probe)

    @needs_x86
    def test_a_tracer_does_not_make_a_program_fail(self):
        with nopal.Provider("report", strict=False) as p:
            probe = p.probe("a", nopal.int8)
            with traced("report"):
                self.assertEqual(unraisable(lambda: probe(128)), [OverflowError])
                self.assertEqual(unraisable(lambda: probe("x")), [TypeError])
                self.assertEqual(unraisable(lambda: probe(127)), [])
        with nopal.Provider("raise", strict=True) as p:
            probe = p.probe("a", nopal.int8)
            with traced("raise"), self.assertRaises(OverflowError):
                probe(128)

    @needs_x86
    def test_an_index_that_unloads(self):
        class Rude:
            def __index__(self):
                p.unload()
                return 7

        p = nopal.Provider("rude")
        probe = p.probe("a", int, str)
        p.load()
        with traced("rude"):
            probe(Rude(), "x")
            p.load()


class Around(unittest.TestCase):
    @needs_x86
    def test_a_span_takes_a_methods_arguments(self):
        p = nopal.Provider("methods", strict=True)  # self would be a TypeError, so would be text
        first, named = p.span("first", str), p.span("named", limit=int)
        p.load()

        class Query:
            @first.traced
            @named.traced
            def run(self, text, limit=3):
                return text, limit

            @classmethod
            @first.traced
            def make(cls, text):
                return text

        with traced("methods") as count:
            self.assertEqual(count, 4)
            self.assertEqual(Query().run("a"), ("a", 3))
            self.assertEqual(Query.make("b"), "b")
        with self.assertRaises(TypeError):
            first.traced(lambda self: None)
        for values in ((), ("a", 1)):
            with self.assertRaisesRegex(TypeError, "has 1 values?, not"):
                first(*values)
        with self.assertRaisesRegex(TypeError, "the last argument of a span's probes is a uint64"):
            nopal.Span(p.probe("x", int), p.probe("y", int))

    @unittest.skipIf(hasattr(sys, "monitoring"), "no sys.setprofile() where there is sys.monitoring")
    def test_who_had_the_profile_has_it_again(self):
        calls = nopal.Calls(nopal.Provider("profile"))
        mine = lambda frame, event, value: None  # noqa: E731
        before = sys.getprofile()
        sys.setprofile(mine)
        try:
            calls.stop()
            self.assertIs(sys.getprofile(), mine)
            with calls:
                calls.start()
                self.assertIsNot(sys.getprofile(), mine)
            self.assertIs(sys.getprofile(), mine)
        finally:
            sys.setprofile(before)


class Lasting(unittest.TestCase):
    @needs_x86
    def test_firing_keeps_no_memory(self):
        with nopal.Provider("memory", strict=False) as p:
            probe = p.probe("a", str, bytes, int, float, str)
            span = p.span("s", str)
            sys.unraisablehook, before = lambda error: None, sys.unraisablehook
            self.addCleanup(setattr, sys, "unraisablehook", before)

            def work(count):
                for i in range(count):
                    probe("é" * 50, bytearray(b"x" * 50), i, 1.5, None)
                    probe("é" * 50, b"x", "wrong", 1.5, "\udcff")
                    with span("é" * 50):
                        pass

            for state in (False, True):
                with traced("memory" if state else "nothing"):
                    work(100)
                    tracemalloc.start()
                    before, rss = tracemalloc.get_traced_memory()[0], resident()
                    work(1000)
                    grown = tracemalloc.get_traced_memory()[0] - before
                    tracemalloc.stop()
                    self.assertLess(grown, 2000)
                    self.assertLess(resident() - rss, 4 << 20)

    def test_making_keeps_no_memory_and_no_descriptors(self):
        def work(count):
            for _ in range(count):
                with nopal.Provider("churn") as p:
                    p.probe("a", ("x", str), n=int, description="text")
                    p.span("s", str)
                    try:
                        p.probe("a", x=int)
                    except ValueError:
                        pass

        work(50)
        fds, rss, maps = len(os.listdir("/proc/self/fd")), resident(), mappings()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        work(500)
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        self.assertLess(grown, 500 * 40)  # less than an object a turn; Python keeps some of its own
        self.assertLess(resident() - rss, 4 << 20)
        self.assertEqual(len(os.listdir("/proc/self/fd")), fds)
        self.assertLess(abs(mappings() - maps), 20)

    def test_a_provider_may_have_its_probes_as_attributes(self):
        class App(nopal.Provider):
            def __init__(self, name):
                self.request = self.probe("request", str)
                self.query = self.span("query", str)
                self.load()

        gc.collect()
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(10):
            App("circle").query("text")
        gc.collect()
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)

    @needs_x86
    def test_threads_fire_while_others_load(self):
        p = nopal.Provider("threads", strict=False)
        probe = p.probe("a", str, int)
        stop, errors = threading.Event(), []

        def work():
            try:
                while not stop.is_set():
                    for i in range(100):
                        probe("text", i)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for i in range(50):
            p.load()
            with traced("threads"):
                probe("text", i)
            p.unload()
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])

    def test_a_child_has_the_probes(self):
        with nopal.Provider("parent") as p:
            probe = p.probe("a", int)
            child = os.fork()
            if not child:
                ok = not probe(1) and p.loaded
                p.unload()
                with nopal.Provider("child") as q:
                    q.probe("b", int)(1)
                os._exit(0 if ok else 1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertTrue(p.loaded)

    def test_interpreters(self):
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        code = (
            "import nopal\n"
            "with nopal.Provider('inner') as p:\n"
            "    assert not p.probe('a', int)(1)\n"
            "    with p.span('s')(): pass\n"
        )
        with nopal.Provider("outer") as p:
            probe = p.probe("a", int)
            for _ in range(3):
                inner = interpreters.create()
                problem = interpreters.run_string(inner, code)
                interpreters.destroy(inner)
                self.assertIsNone(problem)
            self.assertFalse(probe(1))


if __name__ == "__main__":
    unittest.main()
