"""Build the extension module nopal._nopal: one abi3 file for CPython 3.9 and everything newer.

The run-time probes themselves are C files of the nopal source tree. They are copied here from the
tree, so that a source distribution has them and needs nothing but a C compiler.
"""
import glob
import os
import re
import shutil

from setuptools import Extension, setup

try:
    from wheel.bdist_wheel import bdist_wheel
except ImportError:  # no wheel is asked for then
    bdist_wheel = object

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.normpath(os.path.join(HERE, "..", ".."))
os.chdir(HERE)


def runtime_sources():
    """The files that the tree's Makefile makes libnopal-runtime from."""
    with open(os.path.join(TREE, "Makefile"), encoding="utf-8") as makefile:
        words = re.search(r"^RUNTIME := (.*)$", makefile.read(), re.M).group(1)
    patterns = re.sub(r"\$\(wildcard ([^)]*)\)", r"\1", words).split()
    return [path for pattern in patterns for path in glob.glob(os.path.join(TREE, pattern))]


def copy_if_newer(source, target):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if not os.path.exists(target) or os.path.getmtime(source) > os.path.getmtime(target):
        shutil.copy2(source, target)


def vendor():
    """Copy the runtime's sources and the headers beside them to runtime/."""
    sources = runtime_sources()
    rooms = {os.path.dirname(path) for path in sources} | {os.path.join(TREE, "include", "nopal")}
    headers = [path for room in rooms for path in glob.glob(os.path.join(room, "*.h"))]
    wanted = {os.path.join("runtime", os.path.relpath(path, TREE)): path for path in sources + headers}
    for target, source in wanted.items():
        copy_if_newer(source, target)
    for path in glob.glob("runtime/src/*/*.c"):
        if path not in wanted:
            os.remove(path)


class ManylinuxWheel(bdist_wheel):
    """A wheel with the tag of the oldest glibc that has every function the extension uses (PEP 600):
    it needs no other library, and package indexes refuse plain linux_x86_64."""

    def get_tag(self):
        python, abi, platform = super().get_tag()
        built = self.get_finalized_command("build_ext").get_outputs()
        versions = [0]
        for path in built:
            with open(path, "rb") as file:
                versions += [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", file.read())]
        return python, abi, platform.replace("linux_", f"manylinux_2_{max(*versions, 17)}_")


if os.path.exists(os.path.join(TREE, "include", "nopal", "runtime.h")):
    vendor()

headers = glob.glob("c/*.h") + ["c/exports.map"] + glob.glob("runtime/**/*.h", recursive=True)
setup(
    ext_modules=[
        Extension(
            "nopal._nopal",
            sorted(glob.glob("c/*.c") + glob.glob("runtime/src/*/*.c")),
            include_dirs=["runtime/include", "runtime/src"],
            depends=headers,
            define_macros=[("_GNU_SOURCE", None), ("Py_LIMITED_API", "0x03090000")],
            extra_compile_args=["-std=gnu11", "-O2", "-fvisibility=hidden", "-Wall", "-Wextra"],
            extra_link_args=["-Wl,--version-script=c/exports.map"],
            py_limited_api=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
    cmdclass={} if bdist_wheel is object else {"bdist_wheel": ManylinuxWheel},
)
