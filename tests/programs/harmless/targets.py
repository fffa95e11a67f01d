"""Programs that are traced: one process at a time, which is asked for rounds and says whether its results were right.

Own shares a page with us (state.h); Lines answers lines.
"""
import mmap
import os
import re
import select
import signal
import struct
import subprocess

from look import PATIENCE, Failure, Skip, descendants, read_file, read_maps, read_memory, read_probes, read_segments, read_status, wait_for
from look import count_arguments

NOBODY = 65534


class Target:
    """A program that is traced: one process at a time."""
    holds_still = True  # its mappings and descriptors are its own decision, and stay as they are
    may_be_refused = None  # a pattern of the error that is right for an ordinary user
    run_as = None  # the user whom the program insists on
    can_exit = True
    rounds = 20

    def __init__(self, name, user, folder):
        self.name, self.user, self.folder = name, user, folder
        self.process = None

    def probes(self):
        """Provider, name and number of arguments."""
        return sorted((*probe, number) for probe, number in count_arguments(self.file).items())

    def as_user(self, command):
        """The tracer, and the program too, unless it has a user of its own."""
        if self.user in ("root", "self"):
            return command
        if self.run_as:
            return ["setpriv", "--reuid=" + self.run_as, "--regid=" + self.run_as, "--init-groups"] + command
        return ["setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"] + command

    def read_semaphores(self):
        """Those of its file, by address; {} where the process has not mapped it."""
        image = [m for m in read_maps(self.pid) if self.file and m.name == self.file]
        if not image:
            return {}
        segments = read_segments(self.file)
        lowest = min(address & ~4095 for _, address, _ in segments)
        base = min(m.start for m in image) - lowest
        return {base + s: struct.unpack("<H", read_memory(self.pid, base + s, 2))[0]
                for _, _, s in read_probes(self.file) if s}

    def is_alive(self):
        try:
            return self.process.poll() is None and read_status(self.pid, "State") not in "ZX"
        except FileNotFoundError:
            return False

    def check_alive(self):
        if not self.is_alive():
            raise Failure("the program died: status %s" % self.process.poll())

    def end(self):
        if self.process and self.process.poll() is None:
            for pid in descendants(self.process.pid)[::-1]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        if self.process:
            self.process.wait()
            for f in (self.process.stdin, self.process.stdout):
                if f:
                    f.close()
        self.process = None

    def close(self):
        """Nothing is left of it."""
        self.end()


class Own(Target):
    """harmless.c, or a program that shares its state as that does (state.h)."""
    HEADER, ROW, ROWS = 64, 32, 16

    def __init__(self, name, user, folder, file, workload=("one",), prefix=(), rounds=40, **more):
        super().__init__(name, user, folder)
        self.file, self.workload, self.prefix, self.rounds = file, list(workload), list(prefix), rounds
        self.__dict__.update(more)

    def start(self):
        self.state_file = os.path.join(self.folder, "state")
        with open(self.state_file, "wb") as f:
            f.write(bytes(4096))
        os.chmod(self.state_file, 0o666)
        with open(self.state_file, "r+b") as f:
            self.memory = mmap.mmap(f.fileno(), 4096)
        command = self.as_user([*self.prefix, self.file, self.state_file, *self.workload])
        self.process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=open(os.path.join(self.folder, "stderr"), "wb"))
        wait_for("the program is ready", lambda: self.word(0) or self.process.poll() is not None)
        if not self.word(0):
            raise Skip("it does not start: " + read_file(os.path.join(self.folder, "stderr"))[-300:])
        self.pid = [p for p in descendants(self.process.pid) if os.readlink("/proc/%d/exe" % p).endswith(os.path.basename(self.file))][-1]
        self.run(2)

    def word(self, number, value=None):
        if value is not None:
            struct.pack_into("<Q", self.memory, 8 * number, value)
        return struct.unpack_from("<Q", self.memory, 8 * number)[0]

    def ask(self, rounds):
        self.word(1, self.word(2) + rounds)

    def stop_asking(self):
        self.word(1, 0)

    def is_done(self):
        return self.word(2) >= self.word(1)

    def run(self, rounds):
        self.ask(rounds)
        self.await_done()

    def await_done(self):
        wait_for("its rounds are run", lambda: self.is_done() or not self.is_alive())
        self.check_alive()

    def check_results(self):
        if self.word(3):
            raise Failure("%d results were wrong" % self.word(3))

    def fired(self, name):
        for row in range(self.ROWS):
            at = self.HEADER + self.ROW * row
            if self.memory[at:at + 24].rstrip(b"\0").decode() == name:
                return struct.unpack_from("<Q", self.memory, at + 24)[0]
        raise Failure("the program has no probe " + name)

    def in_flight(self):
        """Events that may be fired and not yet in fired(), at any moment."""
        return 4 * self.word(6) + 4

    def dump_core(self):
        before = self.word(5)
        self.word(4, 2)
        wait_for("a child has dumped its core", lambda: self.word(5) > before or not self.is_alive())
        for name in os.listdir(self.folder):
            if name.startswith("core"):
                os.unlink(os.path.join(self.folder, name))

    def order_exit(self):
        self.word(4, 1)

    def check_exit(self):
        if self.process.wait(PATIENCE) != 0:
            raise Failure("the program ended with status %d" % self.process.returncode)

    def end(self):
        super().end()
        if hasattr(self, "memory"):
            self.memory.close()
            del self.memory


class Lines(Target):
    """A program that answers a line with a number of rounds by one with its result, which is known. How often a probe fires in a round is what
    the kernel's engine counts, where that is always the same. While it runs rounds, and when it exits, nobody knows."""
    rounds = 3
    holds_still = False
    made_probes = None  # those that no file has

    def __init__(self, name, user, folder, file, command, result, line=str, **more):
        super().__init__(name, user, folder)
        self.file, self.command, self.result, self.line = file, command, result, line
        self.total, self.per_round, self.waiting = 0, {}, 0
        self.__dict__.update(more)

    def probes(self):
        return self.made_probes or super().probes()

    def find_traced(self):
        return self.process.pid

    def start(self):
        command = ["setpriv", "--reuid=" + self.run_as, "--regid=" + self.run_as, "--init-groups", *self.command] if self.run_as else self.as_user(self.command)
        self.process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=open(os.path.join(self.folder, "stderr"), "wb"), text=True, bufsize=1)
        self.waiting = 0
        self.pid = self.process.pid
        self.run(3)
        self.pid = self.find_traced()
        self.run(3)
        self.run(3)

    def ask(self, rounds):
        # Enough rounds that a session is in the middle of them, then.
        rounds = min(rounds, 100)
        self.process.stdin.write(self.line(rounds) + "\n")
        self.process.stdin.flush()
        self.waiting, self.asked = 1, rounds

    def stop_asking(self):
        if self.waiting:
            self.await_done()

    def await_done(self):
        if not self.waiting:
            return
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            raise Failure("it has not answered within %d s" % PATIENCE)
        answer = self.process.stdout.readline().strip()
        self.waiting = 0
        self.total += self.asked
        expected = self.result(self.asked)
        if not answer:
            self.process.wait(PATIENCE)
            raise Failure("the program died: status %s %s" % (self.process.returncode, read_file(os.path.join(self.folder, "stderr"))[-300:]))
        if expected is not None and answer != str(expected):
            raise Failure("the result is %s, not %s" % (answer, expected))

    def run(self, rounds):
        self.ask(rounds)
        self.await_done()

    def check_results(self):
        pass

    def learn(self, counts):
        """What the kernel counted in 3, 3 and 6 rounds, by probe."""
        for _, name, _ in self.probes():
            a, b, c = (count.get(name, 0) for count in counts)
            if a == b and c == 2 * a and a % 3 == 0 and (a or self.file):
                self.per_round[name] = a // 3

    def fired(self, name):
        return self.per_round[name] * self.total if name in self.per_round else None

    def in_flight(self):
        return 1 << 62

    def dump_core(self):
        pass

    def order_exit(self):
        if self.waiting:
            self.await_done()
        self.process.stdin.close()

    def check_exit(self):
        if self.process.wait(PATIENCE) != 0:
            raise Failure("the program ended with status %d" % self.process.returncode)
