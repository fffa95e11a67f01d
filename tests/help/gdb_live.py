# Stacks at one place of a program, by gdb and by nopal at the same hits: nopal's uprobe is at a function's first
# instruction, gdb stops at its second. Run by gdb -x; FILE and FUNC name the place, LIMIT is the number of samples, OUT
# a file for a line of each: "tid frame;frame...", innermost first, as ustack(file) has them. Nopal's go to OUT.nopal.
import os
import re
import signal
import subprocess
import time

import gdb

file = os.path.realpath(os.environ["FILE"])
function = os.environ["FUNC"]
limit = int(os.environ.get("LIMIT", "10000"))
out = open(os.environ["OUT"], "w")
skip = int(os.environ.get("SKIP", "0"))  # hits before the first sample


def run(*command):
	return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def symbol():
	"""The function's address in the file."""
	for tables in ("-sW", "--dyn-syms"):
		for line in run("readelf", "-W", tables, file).splitlines():
			parts = line.split()
			if len(parts) > 7 and parts[3] in ("FUNC", "IFUNC") and parts[6] != "UND" and parts[7].split("@")[0] == function:
				return int(parts[1], 16)
	raise gdb.GdbError("no function %s in %s" % (function, file))


def load_address():
	"""Where link-time address 0 of the file's first segment is."""
	for line in run("readelf", "-lW", file).splitlines():
		parts = line.split()
		if parts and parts[0] == "LOAD":
			return int(parts[2], 16) - int(parts[1], 16)


def read_maps(pid):
	maps = []
	for line in open("/proc/%d/maps" % pid):
		parts = line.split(None, 5)
		start, end = (int(n, 16) for n in parts[0].split("-"))
		name = parts[5].strip() if len(parts) > 5 else ""
		maps.append((start, end, int(parts[2], 16), name, parts[4], "x" in parts[1]))
	return maps


def bias(pid):
	for start, end, offset, name, inode, executable in read_maps(pid):
		if os.path.realpath(name.replace(" (deleted)", "")) == file:
			return start - offset - load_address()
	return None


class Sample(gdb.Breakpoint):
	maps = []
	taken = 0

	def place(self, pc):
		for start, end, offset, name, inode, executable in self.maps:
			if executable and start <= pc < end:
				if inode == "0" and name not in ("[vdso]", "[uprobes]"):
					return "%x" % pc
				return "%s+0x%x" % (os.path.basename(name), pc - start + offset)
		return None

	def stop(self):
		frames = []
		frame = gdb.newest_frame()
		while frame is not None and len(frames) < 127:
			# Inlined functions and tail calls are frames only in debug information.
			if frame.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME):
				pc = frame.pc() if frames else first
				known = self.place(pc)
				if not known:
					self.maps = read_maps(gdb.selected_inferior().pid)
					known = self.place(pc)
				if not known:
					frames.append("?%x" % pc)
					break
				frames.append(known)
			frame = frame.older()
		out.write("%d %s\n" % (gdb.selected_thread().ptid[1], ";".join(frames)))
		Sample.taken += 1
		return Sample.taken >= limit


for command in ("set pagination off", "set backtrace past-main on", "set backtrace past-entry on", "set confirm off",
		"set debuginfod enabled off", "unset environment LINES", "unset environment COLUMNS",
		"set auto-solib-add %s" % os.environ.get("SYMBOLS", "on"), "handle all nostop noprint pass"):
	gdb.execute(command)
if os.environ.get("PID"):
	gdb.execute("attach " + os.environ["PID"])
else:
	# At the entry point the libraries are mapped.
	gdb.execute("starti")
	entry = re.search(r"Entry point: (0x[0-9a-f]+)", gdb.execute("info files", to_string=True))
	if gdb.newest_frame().pc() != int(entry.group(1), 16):
		gdb.execute("tbreak *%s" % entry.group(1))
		gdb.execute("continue")
pid = gdb.selected_inferior().pid
if bias(pid) is None:
	# A library that is loaded later.
	catch = "catch load " + os.path.basename(file).split(".so")[0]
	gdb.execute(catch)
	gdb.execute("continue")
first = bias(pid) + symbol()
code = gdb.selected_inferior().architecture().disassemble(first, count=2)
if re.match(r"(call|jmp|j|ret|rep|loop)", code[0]["asm"]):
	raise gdb.GdbError("the first instruction of %s is %s" % (function, code[0]["asm"]))
script = 'uprobe:%s:%s /pid == %d/ { printf("\\nT %%d%%s\\n", tid, ustack(file)); }' % (file, function, pid)
tracer = subprocess.Popen([os.environ["NOPAL"], "-q", "-p", str(pid), "-e", script], stdout=open(os.environ["OUT"] + ".nopal", "w"),
			  stderr=open(os.environ["OUT"] + ".err", "w"), stdin=subprocess.DEVNULL)
before = bytes(gdb.selected_inferior().read_memory(first, 1))
for _ in range(3000):
	if tracer.poll() is not None or bytes(gdb.selected_inferior().read_memory(first, 1)) != before:
		break
	time.sleep(0.01)
time.sleep(0.2)
Sample("*0x%x" % code[1]["addr"])
if os.environ.get("PID") and os.environ.get("READY"):
	open(os.environ["READY"], "w").close()
gdb.execute("continue")
out.close()
time.sleep(1)
tracer.send_signal(signal.SIGINT)
try:
	tracer.wait(20)
except subprocess.TimeoutExpired:
	tracer.kill()
try:
	gdb.execute("detach" if os.environ.get("PID") else "kill")
except gdb.error:
	pass
