#!/usr/bin/python3
"""Trace programs again and again, end the sessions in every way, and compare everything with what was before.

Each program runs as root or as an ordinary user, and is one process for as many sessions as it survives. It knows how often its
probes fired and what its results must be (harmless.c; others answer lines, see Lines). After each session that ends as it
should: the program lives and its next results are right; what was counted and what was lost add up to what fired; its
mappings, descriptors, semaphores, the code of its files and of its vDSO are as before the first session.

A session that ends by SIGKILL leaves what it must; the next one, or nopal clean, takes it back.

What is tried is chosen by a seed, which every failure prints: --seed N --only PROGRAM/USER/PROBE runs the same again.
"""
import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from look import Failure, Picture, Skip
from programs import all_programs
from real import SERVERS
from sessions import ENDINGS, MODES, OPTIONS, Session, learn
from targets import Lines

SHOWN = 5  # failures of a program as a user
SHORT = ("pie", "nop10", "guarded", "signals")




class Cell:
    """A program as a user: its sessions, in the order that the seed gives."""

    def __init__(self, target, options):
        self.target, self.options = target, options
        self.sessions, self.failures, self.kept, self.refused = 0, [], 0, 0

    def plan(self):
        """(probe, option, ending, mode) of every session; a process lasts for as long as it can."""
        o, t = self.options, self.target
        probes = t.probes()
        chance = random.Random("%d %s %s" % (o.seed, t.name, t.user))
        endings = [e for e in o.endings.split(",") if e != "exits" or t.can_exit]
        modes = o.modes.split(",")
        for probe in chance.sample(probes, min(len(probes), o.names)):
            if o.probe and probe[1] != o.probe:
                continue
            for _ in range(o.each):
                yield probe, chance.choice(OPTIONS), chance.choice(endings), chance.choice(modes)
        for probe in chance.sample(probes, min(len(probes), o.deep)):
            if o.probe and probe[1] != o.probe:
                continue
            for ending in endings:
                for _ in range(o.deep_each):
                    yield probe, chance.choice(OPTIONS), ending, chance.choice(modes)

    def run(self):
        t = self.target
        for number, (probe, option, ending, mode) in enumerate(self.plan()):
            if time.monotonic() > self.options.deadline:
                break
            if not t.process:
                t.start()
                if isinstance(t, Lines) and not t.per_round and os.geteuid() == 0:
                    learn(t)
                t.picture = Picture(t)
            chance = random.Random("%d %s %s %d" % (self.options.seed, t.name, t.user, number))
            session = Session(t, probe, option, ending, mode, chance)
            self.sessions += 1
            try:
                session.run()
            except (Failure, OSError, subprocess.SubprocessError) as e:
                self.fail(number, session, e)
                t.end()
            else:
                self.kept += session.kept
                if ending == "exits":
                    t.end()
        t.end()

    def fail(self, number, session, why):
        text = "seed %d, %s as %s, session %d (%s): %s" % (self.options.seed, self.target.name, self.target.user, number, session, why)
        self.failures.append(text)
        if len(self.failures) <= SHOWN:
            print("# " + text.replace("\n", "\n#   "), flush=True)


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seed", type=int, default=int(os.environ.get("SEED") or random.SystemRandom().randrange(10 ** 6)))
    p.add_argument("--only", default="", help="PROGRAM[/USER[/PROBE]]; several programs have commas between them")
    p.add_argument("--short", action="store_true", help="some sessions of few programs")
    p.add_argument("--seconds", type=float, default=1e9, help="begin no session after this time")
    p.add_argument("--names", type=int, default=10 ** 6, help="probe names of a program")
    p.add_argument("--each", type=int, default=3, help="sessions of every name")
    p.add_argument("--deep", type=int, default=3, help="names that are tried with every ending")
    p.add_argument("--deep-each", type=int, default=5, help="sessions of each of them and every ending")
    p.add_argument("--jobs", type=int, default=os.cpu_count(), help="programs at a time")
    p.add_argument("--endings", default=",".join(ENDINGS))
    p.add_argument("--modes", default=",".join(MODES))
    o = p.parse_args()
    o.programs, o.user, o.probe = (o.only.split("/") + ["", ""])[:3]
    o.programs = o.programs.split(",") if o.programs else []
    if o.short:
        o.programs, o.names, o.each, o.deep, o.deep_each = o.programs or list(SHORT), 3, 1, 1, 1
    o.deadline = time.monotonic() + o.seconds
    return o


def run_cell(make, name, user, o):
    """A line of TAP."""
    folder = tempfile.mkdtemp(dir=o.folder)
    os.chmod(folder, 0o777)
    cell = None
    try:
        cell = Cell(make(user, folder), o)
        cell.run()
    except Skip as e:
        print("ok - %s as %s # skip %s" % (name, user, str(e).replace("\n", " ")), flush=True)
        return cell
    except Failure as e:
        cell.failures.append(str(e))
        print("# seed %d, %s as %s: %s" % (o.seed, name, user, e))
    finally:
        if cell:
            cell.target.close()
        shutil.rmtree(folder, ignore_errors=True)
    if not cell.sessions and not cell.failures:
        print("ok - %s as %s # skip the time was over" % (name, user), flush=True)
        return cell
    print("%s - %s as %s: %d sessions, %d failed%s" % ("not ok" if cell.failures else "ok", name, user, cell.sessions, len(cell.failures),
                                                    ", memory kept and said after %d" % cell.kept if cell.kept else ""), flush=True)
    return cell


def end_all(folder):
    """Nothing that we started outlives us."""
    subprocess.Popen(["sh", "-c", "sleep 1; rm -rf '%s'" % folder], start_new_session=True)
    for pid in SERVERS:
        os.kill(pid, signal.SIGQUIT)
    os.killpg(0, signal.SIGKILL)


def main():
    o = parse_arguments()
    users = ["root", "nobody"] if os.geteuid() == 0 else ["self"]
    o.folder = tempfile.mkdtemp(prefix="nopal-harmless.", dir="/tmp")
    os.chmod(o.folder, 0o755)
    if not sys.stdin.isatty():
        os.setpgrp()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: end_all(o.folder))
    print("# seed %d" % o.seed, flush=True)
    chosen = [(make, name, user, o) for name, make in all_programs() if not o.programs or name in o.programs
              for user in users if not o.user or user == o.user]
    with ThreadPoolExecutor(o.jobs) as pool:
        ran = [cell for cell in pool.map(lambda row: run_cell(*row), chosen) if cell]
    print("# seed %d: %d sessions of %d programs, %d exceptions" % (o.seed, sum(c.sessions for c in ran), len({c.target.name for c in ran}),
                                                              sum(len(c.failures) for c in ran)))
    shutil.rmtree(o.folder, ignore_errors=True)
    return any(c.failures for c in ran)


if __name__ == "__main__":
    sys.exit(main())
