import unittest

import stapsdt
from tracing import needs_x86, traced


class Stapsdt(unittest.TestCase):
    def test_numbers_are_libstapsdts(self):
        names = ("noarg", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
        self.assertEqual([getattr(stapsdt.ArgTypes, n) for n in names], [0, 1, -1, 2, -2, 4, -4, 8, -8])

    def test_untraced(self):
        provider = stapsdt.Provider("st_untraced")
        probe = provider.add_probe("a", stapsdt.ArgTypes.uint64, stapsdt.ArgTypes.int32)
        self.assertIs(probe.fire("text", 2), False)
        self.assertIs(provider.load(), True)
        self.assertIs(probe.is_enabled, False)
        self.assertIs(probe.fire("text", 2), False)
        self.assertIs(provider.unload(), True)
        self.assertEqual((provider.name, probe.name, provider.error), ("st_untraced", "a", None))

    def test_probes_are_added_while_unloaded(self):
        provider = stapsdt.Provider("st_again")
        first = provider.add_probe("first")
        self.assertTrue(provider.load() and provider.unload())
        second = provider.add_probe("second", *[stapsdt.ArgTypes.int64] * 12)
        self.assertTrue(provider.load())
        self.assertFalse(first.fire() or second.fire(*range(12)))
        with self.assertRaises(ValueError):
            provider.add_probe("third", 3)
        with self.assertRaises(ValueError):
            provider.add_probe("first")

    @needs_x86
    def test_values_as_c_would_pass_them(self):
        provider = stapsdt.Provider("st_values")
        probe = provider.add_probe("a", stapsdt.ArgTypes.uint64, stapsdt.ArgTypes.int8)
        provider.load()
        with traced("st_values"):
            self.assertIs(probe.is_enabled, True)
            for values in (("text", 2), (b"bytes", -1), (None, 1 << 80), (-(1 << 70), 300), (), (1,), (1, 2, 3)):
                self.assertIs(probe.fire(*values), True)
            with self.assertRaises(TypeError):
                probe.fire(1.5, 1)
            with self.assertRaises(TypeError):
                probe.fire(1, "text")
        self.assertIs(probe.is_enabled, False)


if __name__ == "__main__":
    unittest.main()
