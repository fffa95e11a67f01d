"""What a process looks like from outside: mappings, descriptors, code, semaphores; and the probes of its file."""
import os
import re
import struct
import subprocess
import time

PATIENCE = 60  # seconds until something that must happen has failed to happen


class Failure(Exception):
    """What was not as it should be."""


class Skip(Exception):
    """Why a program cannot be tried here."""


def wait_for(what, condition, patience=PATIENCE, pause=0.002):
    end = time.monotonic() + patience
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise Failure("%s: not within %d s" % (what, patience))
        time.sleep(pause)


def read_file(path, binary=False):
    with open(path, "rb") as f:
        data = f.read()
    return data if binary else data.decode("utf-8", "replace")


class Mapping:
    def __init__(self, line):
        where, self.mode, self.offset, self.device, self.inode, *name = line.split(None, 5)
        self.start, self.end = (int(x, 16) for x in where.split("-"))
        self.name = name[0] if name else ""
        self.line = line

    def is_ours(self):
        return "memfd:nopal" in self.name or (self.inode == "0" and not self.name and "x" in self.mode)


def read_maps(pid):
    # The stack grows by itself, and the kernel keeps its page for uprobes for good.
    return [m for m in map(Mapping, read_file("/proc/%d/maps" % pid).splitlines())
            if m.name not in ("[stack]", "[uprobes]", "[vsyscall]")]


def read_memory(pid, start, size):
    with open("/proc/%d/mem" % pid, "rb", 0) as f:
        f.seek(start)
        return f.read(size)


def describe_files(pid):
    there = {}
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            there[fd] = os.readlink("/proc/%d/fd/%s" % (pid, fd))
        except FileNotFoundError:
            pass
    return there


def read_status(pid, field):
    return re.search(r"^%s:\s*(\S+)" % field, read_file("/proc/%d/status" % pid), re.M).group(1)


def descendants(pid):
    found = [pid]
    for task in os.listdir("/proc/%d/task" % pid):
        for child in read_file("/proc/%d/task/%s/children" % (pid, task)).split():
            found += descendants(int(child))
    return found


def find_words(pid, before):
    """Where in its writable memory are addresses of code of ours? For those who look for why that stays."""
    maps = read_maps(pid)
    known = {m.line for m in before.maps}
    ours = [(m.start, m.end) for m in maps if m.is_ours() and "x" in m.mode and m.line not in known]
    found = []
    for m in [*maps, *(m for m in map(Mapping, read_file("/proc/%d/maps" % pid).splitlines()) if m.name == "[stack]")]:
        if m.mode != "rw-p" or m.end - m.start > 1 << 26 or (m.line not in known and m.name != "[stack]"):
            continue
        words = memoryview(read_memory(pid, m.start, m.end - m.start)).cast("Q")
        found += ["0x%x in %s holds 0x%x" % (m.start + 8 * i, m.name or hex(m.start), word)
                  for i, word in enumerate(words) if any(a <= word < b for a, b in ours)]
    return found


class Picture:
    """All of a process that a session changes and must restore."""

    def __init__(self, target):
        pid = target.pid
        self.maps = read_maps(pid)
        self.files = describe_files(pid)
        self.code = {}
        for m in self.maps:
            if "x" in m.mode and "w" not in m.mode and (m.name.startswith("/") or m.name == "[vdso]"):
                self.code[m.name, m.start] = read_memory(pid, m.start, m.end - m.start)
        self.semaphores = target.read_semaphores()

    def compare(self, now, target):
        wrong = []
        left = [m.line for m in now.maps if m.is_ours()]
        before = {m.line for m in self.maps}
        left = [line for line in left if line not in before]
        if left:
            wrong.append("%d mappings are left: %s" % (len(left), "; ".join(" ".join(x.split()) for x in left[:4])))
        elif target.holds_still and before != {m.line for m in now.maps}:
            differ = sorted(before ^ {m.line for m in now.maps})
            wrong.append("mappings differ: " + "; ".join(("-" if d in before else "+") + d for d in differ[:6]))
        if target.holds_still and self.files != now.files:
            wrong.append("descriptors differ: %s, were %s" % (now.files, self.files))
        elif [n for n in now.files.values() if "memfd:nopal" in n and n not in self.files.values()]:
            wrong.append("descriptors are left: %s" % now.files)
        for key, bytes_before in self.code.items():
            if key in now.code and now.code[key] != bytes_before:
                wrong.append("code of %s differs at %s" % (key[0], self.differences(key, now, target)))
        wrong = [w for w in wrong if not w.endswith(" at ")]
        raised = {where: n for where, n in now.semaphores.items() if n != self.semaphores.get(where)}
        if raised:
            wrong.append("semaphores are raised: %s" % raised)
        return wrong

    def differences(self, key, now, target):
        a, b = self.code[key], now.code[key]
        at = [i for i in range(len(a)) if a[i] != b[i]]
        # Files of the system may have breakpoints of other tracers of this machine.
        if not key[0].startswith(target.folder):
            at = [i for i in at if 0xcc not in (a[i], b[i])]
        return ", ".join("+0x%x (%02x, was %02x)" % (i, b[i], a[i]) for i in at[:8])


# ---- Probes of a file ----------------------------------------------------------------------------------

def read_probes(path):
    """Provider, name and the address of the semaphore, as readelf shows them."""
    notes = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True).stdout
    found = re.findall(r"Provider: (\S+)\s+Name: (\S+)\s+Location: (\S+), Base: (\S+), Semaphore: (\S+)", notes)
    return [(provider, name, int(semaphore, 16)) for provider, name, _, _, semaphore in found]


def count_arguments(path):
    """By probe, those that all of its sites have."""
    notes = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True).stdout
    counts = {}
    for provider, name, arguments in re.findall(r"Provider: (\S+)\s+Name: (\S+)\s+Location: .*\s+Arguments: ?(.*)", notes):
        number = len(re.findall(r"-?\d+f?@", arguments))
        counts[provider, name] = min(number, counts.get((provider, name), number))
    return counts


def read_segments(path):
    out = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True).stdout
    return [tuple(int(x, 16) for x in m) for m in re.findall(r"LOAD\s+(0x\w+) (0x\w+) 0x\w+ (0x\w+)", out)]
