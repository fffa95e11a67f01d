#!/usr/bin/env python3
"""readers.py READER PROGRAM: do all arguments of PROGRAM (readers.c) arrive at the reader?

The reader is a tool of other people. Each one traces a run of the program, in which the program also
writes down what was to be seen. Every argument must be the same 64 bits, extended by its sign. What
a reader cannot know is listed here: bpftrace has arg0 to arg5 only, perf leaves constants out.
"""
import os
import re
import subprocess
import sys
import tempfile
import time

DIRECTORY = tempfile.mkdtemp(prefix="readers.", dir=os.environ.get("BATS_TEST_TMPDIR"))
TRUTH = os.path.join(DIRECTORY, "truth")


class Probe:
    """One note of the program."""

    def __init__(self, provider, name, operands):
        self.provider, self.name = provider, name
        self.operands = operands  # ["-4@%edi", ...]

    def size(self, i):
        """Bytes of an argument, below 0 when signed."""
        return int(self.operands[i].split("@")[0])

    def is_constant(self, i):
        return "@$" in self.operands[i]


def probes_of(program):
    """Probes by name, from readelf."""
    text = run(["readelf", "-n", program])
    notes = re.findall(r"Provider: (\S+)\n\s+Name: (\S+)\n.*\n\s+Arguments: (.*)", text)
    assert len(notes) == len({name for _, name, _ in notes}), "the compiler has doubled a probe"
    return {name: Probe(provider, name, args.split()) for provider, name, args in notes}


def run(command, **options):
    """What a command prints; its own message when it fails."""
    done = subprocess.run(command, text=True, capture_output=True, timeout=300, **options)
    if done.returncode:
        sys.exit("%s\n%s%s" % (" ".join(command), done.stdout[-3000:], done.stderr[-3000:]))
    return done.stdout


def write(name, text):
    path = os.path.join(DIRECTORY, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    return path


def unsigned(value):
    return value & 0xffffffffffffffff


def lines_of(text):
    """Lines "saw NAME HEX HEX...", by name."""
    saw = [line.split()[1:] for line in text.splitlines() if line.startswith("saw ")]
    return {words[0]: [int(x, 16) for x in words[1:]] for words in saw}


# ---- gdb: its own arguments, or any expressions at the probes -----------------------------------


def gdb_evaluates(program, probes, expressions):
    """expressions[name]: C, one for each argument. The probes are hit in the order of the truth."""
    script = ["set debuginfod enabled off", "set confirm off"]
    script += ["break -probe-stap %s:%s" % (p.provider, p.name) for p in probes.values()]
    run([program, TRUTH])
    for number, line in enumerate(open(TRUTH)):
        name = line.split()[0]
        script.append("continue" if number else "run " + TRUTH)
        values = "".join(", (long)(%s)" % x for x in expressions[name])
        script.append('printf "saw %s%s\\n"%s' % (name, " %lx" * len(expressions[name]), values))
    script.append("continue")
    return lines_of(run(["gdb", "-q", "-batch", "-nx", "-x", write("script.gdb", "\n".join(script)), program]))


def gdb(program, probes):
    count = {p.name: len(p.operands) for p in probes.values()}
    return gdb_evaluates(program, probes, {
        name: ["$_probe_arg%d" % i for i in range(count[name])] for name in probes})


# ---- SystemTap: what it translates operands to, evaluated by gdb --------------------------------

# Registers by DWARF number.
REGISTERS = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15".split()
# What it looks for in a kernel's build tree before it translates; a module is never built.
KERNEL_TREE = {
    ".config": "CONFIG_TRACEPOINTS=y\nCONFIG_ARCH_SUPPORTS_UPROBES=y\nCONFIG_UPROBES=y\n",
    "Makefile": "", "Module.symvers": "", "include/config/kernel.release": "6.1.0\n",
    "include/generated/utsrelease.h": '#define UTS_RELEASE "6.1.0"\n',
}
TYPES = {"int8_t": "signed char", "int16_t": "short", "int32_t": "int", "int64_t": "long",
         "uint8_t": "unsigned char", "uint16_t": "unsigned short", "uint32_t": "unsigned int",
         "uint64_t": "unsigned long"}


def stap_expression(text):
    """An expression of SystemTap's module, as gdb knows it."""
    text = re.sub(r"/\*.*?\*/", "", text)
    text = re.sub(r"u_fetch_register\((\d+)\)", lambda m: "((long)$" + REGISTERS[int(m[1])] + ")", text)
    return re.sub(r"\b(u?int\d+_t)\b", lambda m: TYPES[m[1]], text)


def stap_expressions(body):
    """What the function of one probe prints, argument by argument."""
    known = {}
    for number, text in re.findall(r"l->__tmp(\d+) = (\(.*\));", body):
        known[number] = stap_expression(text)
    for number, address, kind in re.findall(
            r"l->__tmp(\d+) = \s*\(\{\s*l->__tmp(\d+) = .*\s*"
            r"c->locals.*function___global_user_(u?int\d+)__overload_0", body):
        known[number] = "*(%s *)(%s)" % (TYPES[kind + "_t"], known[address])
    arguments = re.findall(r"stp_printf_\d+\.arg\d+ = (.*);", body)
    return [known[x[len("l->__tmp"):]] if x.startswith("l->") else stap_expression(x) for x in arguments]


def stap(program, probes):
    for name, text in KERNEL_TREE.items():
        write("tree/" + name, text)
    script = "".join('probe process("%s").provider("%s").mark("%s") { printf("saw %s%s\\n"%s) }\n' % (
        program, p.provider, p.name, p.name, " %d" * len(p.operands),
        "".join(", $arg%d" % (i + 1) for i in range(len(p.operands)))) for p in probes.values())
    module = run(["stap", "-r", DIRECTORY + "/tree", "-p3", write("script.stp", script)],
                 env=dict(os.environ, SYSTEMTAP_DIR=DIRECTORY + "/stap"))
    expressions = {}
    for body in re.findall(r"^static void probe_.*?\{$(.*?)^\}", module, re.M | re.S):
        name = re.search(r'_stp_printf \("saw (\w+)', body)[1]
        expressions[name] = stap_expressions(body)
    return gdb_evaluates(program, probes, expressions)


# ---- bpftrace, bcc, libbpf: attached in the kernel -----------------------------------------------


def bpftrace(program, probes):
    script = "".join('usdt:%s:%s:%s { printf("saw %s%s\\n"%s); }\n' % (
        program, p.provider, p.name, p.name, " %lx" * min(len(p.operands), 6),
        "".join(", arg%d" % i for i in range(min(len(p.operands), 6)))) for p in probes.values())
    return lines_of(run(["bpftrace", write("script.bt", script), "-c", program + " " + TRUTH]))


# bcc compiles with the headers of the running kernel. This much is enough for it, and for any kernel.
BCC_TREE = {
    "include/linux/kconfig.h": "#define CONFIG_BPF_SYSCALL 1\n",
    "include/linux/types.h": "#include <uapi/linux/types.h>\n",
    "include/linux/version.h": "#define LINUX_VERSION_CODE 0x60100\n#define KERNEL_VERSION(a, b, c) 0x60100\n",
    "include/linux/log2.h": "", "include/linux/bpf_common.h": "", "include/uapi/linux/bpf.h": "",
    "include/uapi/linux/if_packet.h": "", "include/asm/page.h": "#define PAGE_SIZE 4096\n",
    "include/uapi/linux/ptrace.h": """
        #pragma once
        struct pt_regs {
            unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
            unsigned long ip, cs, flags, sp, ss;
        };""",
    "include/uapi/linux/types.h": "#pragma once\n" + "".join(
        "typedef {1} __{0}; typedef {1} {0}; typedef {1} {2};\n".format(*names) for names in (
            ("u8", "unsigned char", "uint8_t"), ("s8", "signed char", "int8_t"),
            ("u16", "unsigned short", "uint16_t"), ("s16", "short", "int16_t"),
            ("u32", "unsigned int", "uint32_t"), ("s32", "int", "int32_t"),
            ("u64", "unsigned long long", "uint64_t"), ("s64", "long long", "int64_t"))) + """
        typedef u16 __be16, __le16, __sum16;
        typedef u32 __be32, __le32, __wsum;
        typedef u64 __be64, __aligned_u64;
        typedef unsigned long size_t, uintptr_t;
        typedef int pid_t;
        typedef _Bool bool;
        #define __always_inline inline __attribute__((always_inline))
        """,
}


def bcc_function(number, probe):
    """C that puts the arguments of a probe into a row of a table."""
    text = "int hit_%d(struct pt_regs *ctx)\n{\n\tstruct row row = {};\n\tint at = %d;\n" % (number, number)
    for i in range(len(probe.operands)):
        size = probe.size(i)
        text += "\t%sint%d_t a%d = 0;\n" % ("" if size < 0 else "u", abs(size) * 8, i)
        text += "\tbpf_usdt_readarg(%d, ctx, &a%d);\n\trow.args[%d] = a%d;\n" % (i + 1, i, i, i)
    return text + "\tseen.update(&at, &row);\n\treturn 0;\n}\n"


def bcc(program, probes):
    for name, text in BCC_TREE.items():
        write("bcc/" + name, text)
    os.environ["BCC_KERNEL_SOURCE"] = DIRECTORY + "/bcc"
    from bcc import BPF, USDT
    usdt = USDT(path=program)
    text = "struct row {\n\tu64 args[12];\n};\nBPF_HASH(seen, int, struct row);\n"
    for number, probe in enumerate(probes.values()):
        usdt.enable_probe(probe="%s:%s" % (probe.provider, probe.name), fn_name="hit_%d" % number)
        text += bcc_function(number, probe)
    bpf = BPF(text=text, usdt_contexts=[usdt], cflags=["-w"])
    run([program, TRUTH])
    names = list(probes)
    return {names[at.value]: list(row.args)[:len(probes[names[at.value]].operands)]
            for at, row in bpf["seen"].items()}


def libbpf(program, probes):
    loader = os.environ["READERS_LIBBPF"]  # and its program beside it
    names = ["%s:%s" % (p.provider, p.name) for p in probes.values()]
    return lines_of(run([loader, loader + ".bpf.o", program, TRUTH] + names))


# ---- perf ----------------------------------------------------------------------------------------


def perf_value(probe, i, text):
    """Of 1 and 2 signed bytes perf prints what they are without their sign."""
    size = probe.size(i)
    value = int(text, 0) & (1 << 8 * abs(size)) - 1
    return unsigned(value - (1 << 8 * -size) if size < 0 and value >> (-8 * size - 1) else value)


def perf(program, probes):
    """perf's events are the machine's: other users of perf may hold or list them for a moment, so its commands have three tries."""
    os.environ["HOME"] = DIRECTORY  # perf's cache is in it
    os.chdir(DIRECTORY)
    group = "sdt_" + next(iter(probes.values())).provider
    for tries in (2, 1, 0):
        try:
            text = perf_script(program, group, probes)
            break
        except SystemExit as failure:
            if not tries:
                raise
            print("perf is asked again, since it failed: %s" % failure)
            time.sleep(1)
    saw = {}
    for name, values in re.findall(group + r":(\w+): \(\w+\)(.*)", text):
        probe = probes[name]
        found = dict(re.findall(r"arg(\d+)=(\S+)", values))
        saw[name] = [perf_value(probe, i, found[str(i + 1)]) if str(i + 1) in found else None
                     for i in range(len(probe.operands))]
    return saw


def perf_script(program, group, probes):
    """What `perf script` prints of one run of the program with all its probes."""
    run(["perf", "buildid-cache", "--update", program])
    try:
        for probe in probes.values():
            run(["perf", "probe", "-q", "%s:%s" % (group, probe.name)])
        run(["perf", "record", "-q", "-e", group + ":*", "-o", "perf.data", program, TRUTH])
        return run(["perf", "script", "-i", "perf.data"])
    finally:
        perf_delete(group)


def perf_delete(group):
    """An event cannot be deleted while its last user is on its way out."""
    for _ in range(100):
        done = subprocess.run(["perf", "probe", "-q", "-d", group + ":*"], text=True, capture_output=True, timeout=300)
        with open("/sys/kernel/tracing/uprobe_events") as events:
            if group + "/" not in events.read():
                return
        time.sleep(0.1)
    sys.exit("the events %s:* stay: %s" % (group, done.stderr))


# ---- Compare -------------------------------------------------------------------------------------


def cannot_know(reader, probe, i):
    return reader is bpftrace and i > 5 or reader is perf and probe.is_constant(i)


def main():
    reader, program = globals()[sys.argv[1]], os.path.abspath(sys.argv[2])
    probes = probes_of(program)
    saw = reader(program, probes)
    values = wrong = 0
    truth = [line.split() for line in open(TRUTH)]
    assert len(truth) == len(probes) > 30
    for name, *args in truth:
        probe = probes[name]
        assert len(args) == len(probe.operands)
        for i, (text, operand) in enumerate(zip(args, probe.operands)):
            if cannot_know(reader, probe, i):
                continue
            values += 1
            found = saw.get(name, [])[i:i + 1]
            if found != [int(text, 16)]:
                wrong += 1
                print("%s argument %d, %s: is %s, seen %s" % (
                    name, i, operand, text, "nothing" if found in ([], [None]) else "%x" % found[0]))
    print("%s: %d probes, %d values, %d wrong" % (sys.argv[1], len(probes), values, wrong))
    return wrong != 0


sys.exit(main())
