"""The programs of the matrix: those that are built here, and those of real.py."""
import os
import re
import shutil
import subprocess

from look import Skip
from real import REAL
from targets import Own

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "../../.."))


def build(folder, name, compiler, *flags, source="harmless.c"):
    """The file, or why there is none."""
    words = compiler.split()
    if not shutil.which(words[0]):
        raise Skip("needs " + words[0])
    out = os.path.join(folder, name)
    done = subprocess.run([*words, *flags, "-o", out, os.path.join(HERE, source)], capture_output=True, text=True)
    if done.returncode:
        raise Skip("%s cannot build it: %s" % (words[0], done.stderr.strip()[:300]))
    return out


def theirs(folder):
    """SystemTap's header alone, for compilers with other folders."""
    for path in ("/usr/include/x86_64-linux-gnu/sys/sdt.h", "/usr/include/sys/sdt.h"):
        if os.path.exists(path):
            os.makedirs(folder + "/include/sys", exist_ok=True)
            for name in os.listdir(os.path.dirname(path)):
                if re.match(r"sdt.*\.h$", name):
                    shutil.copy(os.path.join(os.path.dirname(path), name), folder + "/include/sys")
            return ["-I" + folder + "/include"]
    raise Skip("needs systemtap-sdt-dev")


OURS = ["-I" + os.path.join(ROOT, "include")]
COMMON = ["-g", "-pthread", "-Wl,-z,now"]
THEIRS = None  # SystemTap's header: 1-byte nops
UNREACHED = "it is a 1-byte nop, and the bytes after it do not lead to a free address"
LIMITED = UNREACHED + "|limit"  # the error names it

# Program, compiler and flags, whose header, workload, and what else is to be known.
# fmt: off
OWN = [
    ("pie",         "gcc -O2",                         THEIRS, ["one"], {}),
    ("nop10",       "gcc -O2",                         OURS,   ["one"], {}),
    ("guarded",     "gcc -O2 -DGUARDED",               THEIRS, ["one"], {}),
    ("no-pie",      "gcc -O2 -no-pie -fno-pie",        THEIRS, ["one"], {}),
    ("static",      "gcc -O2 -static",                 THEIRS, ["one"], {}),
    ("static-pie",  "gcc -O2 -static-pie",             THEIRS, ["one"], {}),
    ("O0",          "gcc -O0",                         THEIRS, ["one"], {}),
    ("clang",       "clang -O2",                       THEIRS, ["one"], {}),
    ("clang-nop10", "clang -O2",                       OURS,   ["one"], {}),
    ("lld",         "clang -O2 -fuse-ld=lld",          THEIRS, ["one"], {}),
    ("lld-guarded", "clang -O2 -fuse-ld=lld -DGUARDED", OURS,  ["one"], {}),
    ("asan",        "gcc -O1 -fsanitize=address",      THEIRS, ["one"], {}),
    ("musl",        "musl-gcc -O2",                    THEIRS, ["one"], {}),
    ("musl-static", "musl-gcc -O2 -static",            OURS,   ["one"], {}),
    ("coroutines",  "gcc -O2",                         THEIRS, ["coroutines"], {}),
    ("coroutines-nop10", "gcc -O2",                    OURS,   ["coroutines"], {}),
    ("signals",     "gcc -O2",                         THEIRS, ["signals"], {}),
    ("signals-nop10", "gcc -O2",                       OURS,   ["signals"], {}),
    ("aligned",     "gcc -O2",                         THEIRS, ["aligned"], {}),
    ("threads",     "gcc -O2",                         THEIRS, ["threads", "8"], {"rounds": 20}),
    ("threads-1000", "gcc -O2",                        THEIRS, ["threads", "1000"], {"rounds": 1}),
    ("limit-as-4",  "gcc -O2",                         THEIRS, ["as", "4"], {"may_be_refused": LIMITED}),
    ("limit-as-64", "gcc -O2",                         OURS,   ["as", "64"], {"may_be_refused": LIMITED}),
    ("limit-memlock", "gcc -O2",                       THEIRS, ["memlock", "4"], {"may_be_refused": LIMITED}),
    ("limit-nofile-0", "gcc -O2",                      THEIRS, ["nofile", "0"], {"may_be_refused": LIMITED}),
    ("limit-nofile-1", "gcc -O2",                      THEIRS, ["nofile", "1"], {"may_be_refused": LIMITED}),
    ("limit-nofile-4", "gcc -O2",                      OURS,   ["nofile", "4"], {"may_be_refused": LIMITED}),
    ("limit-stack", "gcc -O2",                         THEIRS, ["stack"], {}),
    ("namespaces",  "gcc -O2",                         THEIRS, ["one"], {"prefix": ["unshare", "-Urpf", "--mount-proc", "-n"]}),
]
# fmt: on


def make_own(row, user, folder):
    name, compiler, header, workload, more = row
    # Memory that is kept may bring any of them near the 8 MiB that an ordinary user may lock.
    more = {"may_be_refused": LIMITED, **more}
    header = theirs(folder) if header is THEIRS else header
    file = build(folder, name, compiler, *header, *COMMON)
    return Own(name, user, folder, file, workload, **more)


def make_rust(user, folder):
    file = build(folder, "rust", "rustc", "-Copt-level=2", "-g", source="harmless.rs")
    return Own("rust", user, folder, file)


def make_go(user, folder):
    raise Skip("needs go" if not shutil.which("go") else "Go has no probes of its own without cgo")


def all_programs():
    """Name, and what makes the target for a user in a folder."""
    for row in OWN:
        yield row[0], lambda user, folder, row=row: make_own(row, user, folder)
    yield "rust", make_rust
    yield "go", make_go
    yield from REAL.items()
