# gdb's backtraces at one place of a program, counted: lines "count module+0xoffset;...", innermost
# frame first, offsets in files, as ustack(file) has them. Run by gdb -x; PLACE is a location of gdb,
# LIMIT the number of samples (0: all), OUT the file.
import collections
import os
import re

import gdb

counts = collections.Counter()
limit = int(os.environ.get("LIMIT", "0"))
taken = 0


def read_maps(pid):
	maps = []
	for line in open("/proc/%d/maps" % pid):
		parts = line.split(None, 5)
		if "x" in parts[1]:
			start, end = (int(n, 16) for n in parts[0].split("-"))
			name = parts[5].strip() if len(parts) > 5 else ""
			maps.append((start, end, int(parts[2], 16), os.path.basename(name), parts[4]))
	return maps


def place(maps, pc):
	for start, end, offset, name, inode in maps:
		if start <= pc < end:
			if inode == "0" and name != "[vdso]":
				return "%x" % pc
			return "%s+0x%x" % (name, pc - start + offset)
	return "?%x" % pc


class Sample(gdb.Breakpoint):
	maps = None

	def stop(self):
		global taken
		pid = gdb.selected_inferior().pid
		frames = []
		frame = gdb.newest_frame()
		while frame is not None and len(frames) < 127:
			# Inlined functions and tail calls are frames only in debug information.
			if frame.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME):
				pc = frame.pc()
				known = place(self.maps, pc) if self.maps else "?"
				if known[0] == "?":
					self.maps = read_maps(pid)
					known = place(self.maps, pc)
				frames.append(known)
			frame = frame.older()
		counts[";".join(frames)] += 1
		taken += 1
		return bool(limit) and taken >= limit


gdb.execute("set pagination off")
gdb.execute("set backtrace past-main on")
gdb.execute("set backtrace past-entry on")
gdb.execute("set breakpoint pending on")
gdb.execute("set debuginfod enabled off")
gdb.execute("set confirm off")
gdb.execute("unset environment LINES")
gdb.execute("unset environment COLUMNS")
gdb.execute("handle all nostop noprint pass")
# At the entry point the libraries are mapped, so that their functions have names.
gdb.execute("starti")
entry = re.search(r"Entry point: (0x[0-9a-f]+)", gdb.execute("info files", to_string=True))
if gdb.newest_frame().pc() != int(entry.group(1), 16):
	gdb.execute("tbreak *%s" % entry.group(1))
	gdb.execute("continue")
Sample(os.environ["PLACE"])
gdb.execute("continue")
with open(os.environ["OUT"], "w") as out:
	for stack, count in sorted(counts.items()):
		out.write("%d %s\n" % (count, stack))
