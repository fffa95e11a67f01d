"""A session of nopal with a target: it is attached, ended in one of the ways, and what it printed and left is checked."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from look import PATIENCE, Failure, Picture, find_words, read_file, read_maps, read_status, wait_for
from targets import Own

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
NOPAL = os.environ.get("NOPAL", os.path.join(ROOT, "build/nopal"))
MANY = 64  # mappings of ours that a program may keep: those of some sessions, never of all
ENDINGS = ("interrupt", "duration", "stopped", "killed", "cleaned", "exits")
OPTIONS = ("count", "keys", "printf", "text", "hist")
MODES = ("idle", "busy")


class Tracer:
    def __init__(self, target, arguments):
        self.target, self.arguments = target, arguments
        self.out = self.err = ""

    def start(self, prefix):
        self.folder = tempfile.mkdtemp(dir=self.target.folder, prefix="session.")
        environment = dict(os.environ, __BPFTRACE_NOTIFY_PROBES_ATTACHED="1")
        self.started = time.monotonic()
        with open(self.folder + "/out", "wb") as out, open(self.folder + "/err", "wb") as err:
            self.process = subprocess.Popen([*prefix, *self.arguments, "-p", str(self.target.pid)], stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=err, env=environment)
        wait_for("the tracer is attached", lambda: self.is_attached() or self.process.poll() is not None)
        return self.is_attached()

    def is_attached(self):
        return "PROBES_ATTACHED" in read_file(self.folder + "/err")

    def finish(self, number=None):
        if number and self.process.poll() is None:
            self.process.send_signal(number)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failure("the tracer did not end within %d s" % PATIENCE)
        finally:
            self.out, self.err = read_file(self.folder + "/out"), read_file(self.folder + "/err").replace("__BPFTRACE_NOTIFY_PROBES_ATTACHED\n", "")
            shutil.rmtree(self.folder, ignore_errors=True)

    def abandon(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def learn(target):
    """How often its probes fire in a round, as the kernel counts; again, to know whether that is always the same."""
    counts = []
    for rounds in (3, 3, 6):
        script = " ".join("usdt:%s:%s:%s { @n[probe] = count() }" % (target.file, *probe[:2]) for probe in target.probes())
        tracer = Tracer(target, ["--kernel", "-e", script])
        try:
            if not tracer.start([NOPAL, "-q"]):
                return
            target.run(rounds)
            tracer.finish(signal.SIGINT)
        finally:
            tracer.abandon()
        counts.append({key.split(":")[-1]: int(n) for key, n in re.findall(r"^@n\[(\S+)\]: (\d+)", tracer.out, re.M)})
    target.learn(counts)


ACTIONS = {
    "count": "@n = count()",
    "keys": "@n = count(); @by[arg0 % 64] = count()",
    "printf": "@n = count(); printf(\"event %d\\n\", arg0)",
    "text": "@n = count(); @by[str(arg1)] = count()",
    "hist": "@n = count(); @h = hist(arg0)",
}


def action_of(option, arguments):
    """What a probe with `arguments` arguments can be asked."""
    action = ACTIONS[option]
    if arguments < 2:
        action = action.replace("str(arg1)", "comm")
    return action if arguments else action.replace("arg0", "tid")


class Session:
    def __init__(self, target, probe, option, ending, mode, chance):
        self.target, self.probe, self.option, self.ending, self.mode, self.chance = target, probe, option, ending, mode, chance
        self.kept = False

    def __str__(self):
        return "%s %s ends by %s while %s" % (self.probe[1], self.option, self.ending, self.mode)

    def arguments(self):
        action = action_of(self.option, self.probe[2])
        arguments = ["-e", "usdt:%s:%s:%s { %s }" % (self.target.file, *self.probe[:2], action)]
        if self.ending == "duration":
            self.seconds = self.chance.choice((0.05, 0.2, 0.5))
            arguments += ["-d", "%gs" % self.seconds]
        return arguments + (["--user"] if self.target.user == "root" else [])

    def run(self):
        """The process lives on when this returns, unless its exit was asked."""
        t = self.target
        if self.mode == "busy":
            t.ask(10 ** 9)
        lowest = t.fired(self.probe[1])
        tracer = self.tracer = Tracer(t, self.arguments())
        try:
            if not tracer.start(t.as_user([NOPAL, "-q"])):
                self.check_refused(tracer)
                return
            self.act(tracer, lowest)
        finally:
            tracer.abandon()

    def check_refused(self, tracer):
        self.target.stop_asking()
        tracer.finish()
        self.target.check_alive()
        # Root's kernel engine takes what user mode cannot.
        pattern = self.target.may_be_refused if self.target.user != "root" else None
        if pattern and re.search(pattern, tracer.err):
            self.check_program(False)
            return
        if re.search(r"cannot trace '.*' in user mode", tracer.err) and not isinstance(self.target, Own):
            self.check_program(False)
            return
        raise Failure("not traced: " + tracer.err.strip()[-500:])

    def act(self, tracer, lowest):
        t, name = self.target, self.probe[1]
        attached = t.fired(name)
        if self.mode == "idle":
            t.ask(t.rounds)
            if self.ending != "killed" or self.chance.random() < 0.5:
                t.await_done()
            if self.chance.random() < 0.2:
                t.dump_core()
        else:
            time.sleep(self.chance.random() * 0.1)
        getattr(self, "end_" + self.ending)(tracer)
        if self.ending == "exits":
            self.after_exit(tracer, lowest, attached)
        else:
            self.after(tracer, lowest, attached)

    def end_interrupt(self, tracer):
        self.requested = self.target.fired(self.probe[1])
        tracer.finish(signal.SIGINT)

    def end_duration(self, tracer):
        # The rounds of an idle program may have outlasted a short session.
        is_sure = self.mode == "idle" and time.monotonic() < tracer.started + self.seconds
        self.requested = self.target.fired(self.probe[1]) if is_sure else None
        tracer.finish()

    def end_killed(self, tracer):
        time.sleep(self.chance.random() * 0.02)
        tracer.finish(signal.SIGKILL)

    def end_cleaned(self, tracer):
        self.end_killed(tracer)
        self.clean()

    def clean(self):
        done = subprocess.run(self.target.as_user([NOPAL, "clean", str(self.target.pid)]), capture_output=True, text=True, timeout=PATIENCE)
        self.tracer.err += done.stderr + done.stdout
        # The kernel's engine leaves nothing.
        if done.returncode and "no tracer has left anything" not in done.stderr:
            raise Failure("nopal clean ends with %d: %s" % (done.returncode, done.stderr))

    def end_stopped(self, tracer):
        os.kill(self.target.pid, signal.SIGSTOP)
        wait_for("the program has stopped", lambda: read_status(self.target.pid, "State") in "TtZX")
        self.requested = self.target.fired(self.probe[1])
        try:
            tracer.finish(signal.SIGINT)
        finally:
            os.kill(self.target.pid, signal.SIGCONT)

    def end_exits(self, tracer):
        self.target.order_exit()
        self.target.check_exit()
        tracer.finish()

    def after_exit(self, tracer, lowest, attached):
        fired = self.target.fired(self.probe[1])
        # Others than our own programs fire more when they end, and what they fired before is not known exactly.
        if fired is not None and isinstance(self.target, Own):
            between = self.target.in_flight() if self.mode == "busy" else 0
            self.check_counts(tracer, fired - attached - between, fired - lowest + between)

    def after(self, tracer, lowest, attached):
        t = self.target
        t.stop_asking()
        if self.mode == "busy" or self.ending == "killed":
            self.let_end()
        highest = t.fired(self.probe[1])
        has_ended = self.ending not in ("killed",)
        if has_ended and self.ending != "cleaned" and highest is not None:
            at_least = 0 if self.requested is None else self.requested - attached - (t.in_flight() if self.mode == "busy" else 0)
            self.check_counts(tracer, at_least, highest - lowest + (t.in_flight() if self.mode == "busy" else 0))
        self.check_program(has_ended)

    def let_end(self):
        if isinstance(self.target, Own):
            # It looks for more to do now and then, but begins nothing.
            wait_for("the round ends", lambda: not self.target.word(7) or not self.target.is_alive())
            self.target.check_alive()
        self.target.await_done()

    def check_counts(self, tracer, at_least, at_most):
        if tracer.process.returncode:
            raise Failure("the tracer ends with %d: %s" % (tracer.process.returncode, tracer.err[-500:]))
        is_partial = self.target.user != "root" and re.search(r"cannot be traced in user mode|are not traced", tracer.err)
        if at_least is None or is_partial:
            return
        counted = sum(int(n) for n in re.findall(r"^@n: (\d+)$", tracer.out, re.M))
        lost_updates = sum(int(n) for n in re.findall(r"[Ll]ost (\d+) (?:map )?update", tracer.err))
        if counted + lost_updates < at_least or counted > at_most:
            raise Failure("%d were counted, %d to %d fired" % (counted, at_least, at_most))
        lost = sum(int(n) for n in re.findall(r"^Lost (\d+) event", tracer.err, re.M))
        others = {"printf": lambda: tracer.out.count("\nevent ") + tracer.out.startswith("event ") + lost,
                  "keys": lambda: sum(int(n) for n in re.findall(r"^@by\[.*\]: (\d+)$", tracer.out, re.M)),
                  "text": lambda: sum(int(n) for n in re.findall(r"^@by\[.*\]: (\d+)$", tracer.out, re.M)),
                  "hist": lambda: sum(int(n) for n in re.findall(r"^[\[(].*?[\])]\s+(\d+) \|", tracer.out, re.M))}
        # A thread that was stopped in the middle of an event has counted it, and nothing more.
        between = self.target.in_flight() if self.ending == "stopped" and self.mode == "busy" else 0
        if self.option in others and not 0 <= counted - others[self.option]() <= between:
            raise Failure("%d were counted, and %d are in what else was recorded" % (counted, others[self.option]()))

    def check_program(self, has_ended):
        """Nothing of us is left; and its next results are right."""
        t = self.target
        t.check_alive()
        wait_for("no tracer holds the program", lambda: read_status(t.pid, "TracerPid") == "0", 10)
        if has_ended:
            self.check_picture()
        t.run(2)
        t.check_results()
        t.check_alive()

    def check_picture(self):
        t = self.target
        wrong = t.picture.compare(Picture(t), t)
        if not wrong:
            return
        # What looks like an address of ours may be on a stack, in a hole of a frame or where nobody is any more. Then the tracer says so, and others
        # try again.
        said = re.search(r"KiB of nopal's memory stay mapped", self.tracer.err)
        if said and all("mappings" in w for w in wrong):
            self.kept = True
            self.clean()
            wrong = t.picture.compare(Picture(t), t)
            if not wrong or len([m for m in read_maps(t.pid) if m.is_ours()]) <= MANY:
                return
            wrong.append("(also after nopal clean: %s)" % self.tracer.err.strip()[-200:])
        if any("mappings" in w for w in wrong):
            wrong += find_words(t.pid, t.picture)[:3]
        raise Failure("; ".join(wrong) + (" [%s]" % self.tracer.err.strip()[-200:] if self.tracer.err.strip() else ""))
