"""Interpreters, virtual machines and a database: each runs a program that answers a line with a number of rounds by its result."""
import glob
import os
import pwd
import shutil
import signal
import subprocess

from look import Failure, Skip, read_file, read_probes, wait_for
from targets import Lines

HERE = os.path.dirname(os.path.abspath(__file__))
SERVERS = set()  # processes that left our group
ROOT = os.path.abspath(os.path.join(HERE, "../../.."))


def work(n):
    """What the programs compute, too."""
    return n * n if n < 50 else work(n - 50) + 1


def of_rounds(one):
    return lambda rounds: rounds * one


def newest(*patterns):
    for pattern in patterns:
        found = sorted(glob.glob(pattern))
        if found:
            return found[-1]
    return patterns[0]


def need_probes(file):
    if not os.path.exists(file):
        raise Skip("needs " + file)
    if not read_probes(file):
        raise Skip(file + " has no probes")
    return file


def install(folder, file, name=None):
    """A copy that no other tracer of this machine has breakpoints in."""
    to = os.path.join(folder, name or os.path.basename(file))
    shutil.copy(os.path.realpath(need_probes(file)), to)
    return to


def source(folder, name):
    return shutil.copy(os.path.join(HERE, name), folder)


def make_python(user, folder):
    file = install(folder, "/usr/bin/python3.11")
    one = sum(work(i) + 1 for i in range(200)) + 10
    return Lines("python", user, folder, file, ["env", "PYTHONHOME=/usr", file, "-S", source(folder, "work.py")], of_rounds(one))


def make_php(user, folder):
    file = install(folder, newest("/usr/bin/php8.?"))
    one = sum(work(i) + (1 if i % 10 == 0 else i) for i in range(200))
    return Lines("php", user, folder, file, ["env", "USE_ZEND_DTRACE=1", file, "-n", source(folder, "work.php")], of_rounds(one))


def make_ruby(user, folder):
    library = newest("/usr/lib/*/libruby-3.?.so.3.?")
    file = install(folder, library)
    one = sum(work(i) + (1 if i % 10 == 0 else i) + 8 for i in range(200))
    return Lines("ruby", user, folder, file, ["env", "LD_LIBRARY_PATH=" + folder, "/usr/bin/ruby", "--disable-gems", source(folder, "work.rb")],
                 of_rounds(one))


def make_jvm(user, folder):
    home = newest("/usr/lib/jvm/java-1.17.0-openjdk-*", "/usr/lib/jvm/java-17-openjdk-*")
    if not shutil.which(home + "/bin/javac"):
        raise Skip("needs openjdk-17-jdk-headless")
    subprocess.run([home + "/bin/javac", "-d", folder, os.path.join(HERE, "Harmless.java")], check=True)
    file = need_probes(os.path.realpath(home + "/lib/server/libjvm.so"))
    one = sum(work(i) + len("x%d" % i) + 64 for i in range(200))
    options = ["-Xmx64m", "-XX:+UseSerialGC", "-XX:+ExtendedDTraceProbes"]
    return Lines("jvm", user, folder, file, [home + "/bin/java", *options, "-cp", folder, "Harmless"], of_rounds(one))


def make_node(user, folder):
    if not shutil.which("node"):
        raise Skip("needs node")
    package = os.path.join(ROOT, "bindings/node")
    if not os.path.exists(package + "/usdt.node"):
        raise Skip("not built: needs libnode-dev")
    one = sum(work(i) for i in range(200))
    return Lines("node", user, folder, "", ["node", os.path.join(HERE, "work.js"), package], of_rounds(one),
                 made_probes=[("nodework", "step", 2), ("nodework", "round", 1)])


# ---- PostgreSQL: a server of its own, with pgbench at work, and one more session, which is traced ---------------

ROUND = "begin; update pgbench_accounts set abalance = abalance + 1 where aid = 77; commit; select sum(aid) from pgbench_accounts where aid <= 1000"


class Postgres(Lines):
    def __init__(self, user, folder, tools):
        self.tools = tools
        os.mkdir(folder + "/bin")
        for name in ("initdb", "pg_ctl", "postgres"):
            shutil.copy(os.path.realpath(os.path.join(tools, name)), folder + "/bin")
        os.symlink(os.path.join(os.path.dirname(tools), "lib"), folder + "/lib")
        super().__init__("postgres", user, folder, folder + "/bin/postgres", [tools + "/psql", "-qAtX", "-h", folder, "bench"],
                         lambda rounds: 500500, line=lambda rounds: (ROUND + "\n\\g /dev/null\n") * (rounds - 1) + ROUND + ";")
        self.run_as = "postgres"
        self.server = None

    def as_postgres(self, *command, **more):
        return subprocess.run(["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", *command], cwd=self.folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)

    def start_server(self):
        own = pwd.getpwnam("postgres")
        os.chown(self.folder, own.pw_uid, own.pw_gid)
        self.as_postgres(self.folder + "/bin/initdb", "-A", "trust", "-D", self.folder + "/db", check=True)
        with open(self.folder + "/db/postgresql.conf", "a") as f:
            f.write("listen_addresses = ''\nunix_socket_directories = '%s'\nautovacuum = off\nfsync = off\n" % self.folder)
        self.as_postgres(self.folder + "/bin/pg_ctl", "-D", self.folder + "/db", "-l", self.folder + "/log", "-w", "start", check=True)
        self.server = int(read_file(self.folder + "/db/postmaster.pid").splitlines()[0])
        self.as_postgres(self.tools + "/createdb", "-h", self.folder, "bench", check=True)
        self.as_postgres(self.tools + "/pgbench", "-h", self.folder, "-i", "-q", "bench", check=True)
        self.load = subprocess.Popen(["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", self.tools + "/pgbench", "-h", self.folder, "-n",
                                      "-c", "2", "-R", "200", "-T", "100000", "bench"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        SERVERS.add(self.server)

    def start(self):
        if not self.server:
            self.start_server()
        super().start()

    def find_traced(self):
        self.process.stdin.write("select pg_backend_pid();\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def check_alive(self):
        super().check_alive()
        if "terminating any other active server processes" in read_file(self.folder + "/log"):
            os.rename(self.folder + "/log", self.folder + "/log.died")
            raise Failure("the server died: " + "; ".join(line for line in read_file(self.folder + "/log.died").splitlines() if "signal" in line)[-300:])

    def close(self):
        super().close()
        if self.server:
            SERVERS.discard(self.server)
            self.load.kill()
            self.load.wait()
            self.as_postgres(self.folder + "/bin/pg_ctl", "-D", self.folder + "/db", "-m", "immediate", "-w", "stop")


def make_postgres(user, folder):
    tools = newest("/usr/lib/postgresql/*/bin")
    need_probes(tools + "/postgres")
    if os.geteuid() != 0:
        raise Skip("needs root")
    return Postgres(user, folder, tools)


REAL = {"python": make_python, "php": make_php, "ruby": make_ruby, "jvm": make_jvm, "node": make_node, "postgres": make_postgres}
