# nopal list: files, processes, patterns, JSON, messages and exit codes.
load ../helpers

setup() {
	tick=$(private tick)
	waiting=
}

# Start a program that waits, and wait until it runs: its pid is $waiting.
start_waiting() {
	mkfifo "$BATS_TEST_TMPDIR/input"
	"$@" <>"$BATS_TEST_TMPDIR/input" >/dev/null 2>&1 3>&- &
	waiting=$!
	sleep 0.3
}

# A program of one probe, p:NAME with arguments from $2, compiled with the compiler and flags in $4...
compile() {
	local name=$1 args=$2 out=$3
	shift 3
	cat >"$out.c" <<END
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
__extension__ unsigned short p_${name}_semaphore __attribute__((section(".probes")));
int global = 7;
static __thread int local_to_thread = 9;
__attribute__((noinline)) static void set(int value)
{
	local_to_thread = value;
	__asm__ volatile("" ::: "memory");
}
int main(int argc, char **argv)
{
	set(argc);
	STAP_PROBE3(p, $name, $args);
	return argc + !argv + local_to_thread + global;
}
END
	"$@" -o "$out" "$out.c" -I/usr/include/x86_64-linux-gnu
}

# newest: the order of `-l` | names are sorted | those of a file as they are in it |
@test "a file: one line a probe, however many sites" {
	run "$NOPAL" list "$tick"
	[ "$status" = 0 ]
	[ "$(grep -c ":tick:word$" <<<"$output")" = 1 ]
	[ "$(sort <<<"$output" | uniq -d)" = "" ]
	[[ "${lines[0]}" == "usdt:$tick:tick:"* ]]
}

@test "-v: sites, addresses, semaphores, arguments in words" {
	run "$NOPAL" list -v "$tick"
	[ "$status" = 0 ]
	location=$(readelf -n "$tick" | grep -A1 'Name: number' | sed -n 's/.*Location: 0x0*\([0-9a-f]*\),.*/\1/p' | head -1)
	[ -n "$location" ]
	[[ "$output" == *"usdt:$tick:tick:number"*"site 1  0x$location  file offset 0x"*"semaphore 0x"* ]]
	[[ "$output" == *"arg0  signed 8-byte"*"[-8@"* ]]
}

@test "--json: an object a line, its fields and decoded arguments" {
	need_program jq
	run bash -c '"$1" list --json "$2" | jq -e -s "length > 0 and all(.[];
		(.file == \"$2\") and (.build_id | test(\"^[0-9a-f]{40}$\")) and .provider == \"tick\"
		and ([.location, .base, .semaphore] | all(test(\"^0x[0-9a-f]+$\")))
		and (.args | type == \"string\") and (.arguments | type == \"array\"))"' - "$NOPAL" "$tick"
	[ "$status" = 0 ]
	run bash -c '"$1" list --json "$2" |
		jq -r "select(.name == \"number\") | .arguments | length, (.[0] | .size, .signed, .float)"' - "$NOPAL" "$tick"
	[ "$output" = $'1\n8\ntrue\nfalse' ]
}

@test "patterns choose paths, providers and names" {
	run "$NOPAL" list "usdt:$BATS_TEST_TMPDIR/ti*:t?ck:n*"
	[ "$status" = 0 ]
	[ "$output" = "usdt:$tick:tick:number" ]
	run "$NOPAL" list "$tick:tick:num*"
	[ "$output" = "usdt:$tick:tick:number" ]
	run "$NOPAL" list "usdt:$tick:number"
	[ "$output" = "usdt:$tick:tick:number" ]
}

@test "what is listed can be pasted: paths with blanks, colons, plus signs, quotes, control bytes" {
	for name in "a b" "c:d" "lib++.so" 'q"q' 'b\s' $'tab\there' 'x,y{z}' '$1'; do
		cp "$tick" "$BATS_TEST_TMPDIR/$name"
		pattern=$("$NOPAL" list "$BATS_TEST_TMPDIR/$name" | grep ':number$')
		[ -n "$pattern" ]
		[[ "$pattern" != *$'\t'* ]]
		run "$NOPAL" list "$pattern"
		[ "$status" = 0 ]
		[ "$output" = "$pattern" ]
		# A script takes it as well.
		run "$NOPAL" -l "$pattern"
		[ "$status" = 0 ]
		[ "${#lines[@]}" = 1 ]
		[[ "$output" == *":tick:number" ]]
	done
}

@test "commands refused paths with colons, quotes, blanks and brackets, and what list had printed of them" {
	need_tracing
	cd "$BATS_TEST_TMPDIR"
	printf '#!/bin/sh\nexec "$PROGRAM" number 1 2 4\n' >program
	chmod +x program
	for name in "a b" "c:d" 'q"q' 'r"r s' 'b\s' 'x,y{z}' 'u(v' '%d w' '$1'; do
		cp "$tick" "$name"
		export PROGRAM=./$name
		listed=$("$NOPAL" list "./$name" | grep ':number$')
		for word in "./$name:number" "./$name:tick:number" "usdt:./$name:tick:number" "$listed"; do
			run "$NOPAL" count -q "$word" -c ./program
			[ "${lines[1]}" = "tick:number      3" ]
			run "$NOPAL" trace -q -f json "$word" -c ./program
			[ "$(grep -c number <<<"$output")" = 3 ]
			run "$NOPAL" hist -q -f json "$word" arg0 -c ./program
			[[ "$output" == *'{"min": 4, "max": 7, "count": 1}'* ]]
			run "$NOPAL" stack -q "$word" -c ./program
			[[ "$output" == *" 3 "* || "$output" == *$'\n3'* ]]
		done
		run "$NOPAL" count -q "./$name" -c ./program
		[[ "$output" == *"tick:number"*3* ]]
	done
}

@test "a bare name is looked up in PATH, among the loader's libraries, and here" {
	run env PATH="$BATS_TEST_TMPDIR:$PATH" "$NOPAL" list tick
	[ "$status" = 0 ]
	[[ "$output" == *"usdt:$tick:tick:word"* ]]
	cd "$BATS_TEST_TMPDIR"
	mv tick only_here
	run "$NOPAL" list only_here:number
	[ "$output" = "usdt:./only_here:tick:number" ]
	library=$(ldconfig -p 2>/dev/null | sed -n 's/.*libstdc++\.so\.6 (libc6,x86-64) => //p' | head -1)
	[ -n "$library" ] || skip "no libstdc++.so.6 in the loader's cache"
	run "$NOPAL" list libstdc++.so.6
	[[ "$output" == *"usdt:$library:libstdcxx:throw"* ]]
}

@test "a script in PATH that stands before the program is passed over" {
	mkdir "$BATS_TEST_TMPDIR/shims"
	printf '#!/bin/sh\n' >"$BATS_TEST_TMPDIR/shims/tick"
	chmod +x "$BATS_TEST_TMPDIR/shims/tick"
	run env PATH="$BATS_TEST_TMPDIR/shims:$BATS_TEST_TMPDIR:$PATH" "$NOPAL" list usdt:tick:tick:number
	[ "$status" = 0 ]
	[ "$output" = "usdt:$tick:tick:number" ]
}

@test "-p: what a process has mapped" {
	start_waiting "$tick" wait
	run "$NOPAL" list -p "$waiting"
	[ "$status" = 0 ]
	[[ "$output" == *"usdt:$tick:tick:word"* ]]
	run "$NOPAL" list -p "$waiting" 'usdt::tick:number'
	[ "$output" = "usdt:$tick:tick:number" ]
	run "$NOPAL" list -p "$waiting" 'tick:tick:number'
	[ "$output" = "usdt:$tick:tick:number" ]
}

@test "a provider and a name are a probe of any process" {
	pairs=$(private pairs)
	start_waiting "$pairs" sleep 1000000 100000
	for _ in $(seq 300); do
		run "$NOPAL" list 'shop:order__st*'
		[[ "$output" != *"usdt:$pairs:shop:order__start"* ]] || break
		sleep 0.1
	done
	[ "$status" = 0 ]
	[[ "$output" == *"usdt:$pairs:shop:order__start"* && "$output" != *order__done* ]]
	run "$NOPAL" list -p "$waiting" 'shop:order__done'
	[ "$output" = "usdt:$pairs:shop:order__done" ]
}

@test "-p: a process without probes, whose hint was in the line of the error" {
	sleep 1000 3>&- &
	run "$NOPAL" list -p $!
	kill $!
	[ "$status" = 1 ]
	[ "${lines[0]}" = "nopal: error: process $! has not mapped a file with probes" ]
	[[ "${lines[1]}" == "hint: programs have probes when "* ]]
}

@test "-p: a program that was deleted" {
	[ "$(id -u)" = 0 ] || skip "needs root, for /proc/PID/map_files"
	start_waiting "$tick" wait
	rm "$tick"
	run "$NOPAL" list -p "$waiting"
	[ "$status" = 0 ]
	[[ "$output" == *"usdt:\"$tick (deleted)\":tick:word"* ]]
	# The listed line and the old name both lead there, also when another file has the name now.
	cp /bin/true "$tick"
	run "$NOPAL" list -p "$waiting" "usdt:\"$tick (deleted)\":tick:number"
	[ "$status" = 0 ]
	run "$NOPAL" list -p "$waiting" "usdt:$tick:tick:number"
	[ "$status" = 0 ]
	[ "$output" = "usdt:\"$tick (deleted)\":tick:number" ]
}

@test "-p: an ordinary user, a deleted program of their own" {
	[ "$(id -u)" = 0 ] || skip "needs root, to become an ordinary user"
	need_program setpriv
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR"
	cp "$NOPAL" "$BATS_TEST_TMPDIR/nopal"
	start_waiting setpriv --reuid=65534 --regid=65534 --clear-groups "$tick" wait
	rm "$tick"
	run setpriv --reuid=65534 --regid=65534 --clear-groups "$BATS_TEST_TMPDIR/nopal" list -p "$waiting"
	[ "$status" = 0 ]
	[[ "$output" == *"tick (deleted)\":tick:word"* ]]
	# A process of somebody else: refused, with what to do.
	run setpriv --reuid=65534 --regid=65534 --clear-groups "$BATS_TEST_TMPDIR/nopal" list -p $$
	[ "$status" = 1 ]
	says no-permission "cannot inspect process $$: Permission denied"
	[[ "$output" == *"hint: run as root"* ]]
}

@test "-p: a memfd" {
	need_program python3
	cat >"$BATS_TEST_TMPDIR/run.py" <<'END'
import ctypes, os, sys
fd = os.memfd_create("dynamic")
os.write(fd, open(sys.argv[1], "rb").read())
ctypes.CDLL("/proc/self/fd/%d" % fd)
os.close(fd)
sys.stdin.readline()
END
	compile in_memory '1, 2, 3' "$BATS_TEST_TMPDIR/lib.so" gcc -O1 -fPIC -shared || skip "no compiler or <sys/sdt.h>"
	[ "$(id -u)" = 0 ] || skip "needs root, for /proc/PID/map_files"
	start_waiting python3 "$BATS_TEST_TMPDIR/run.py" "$BATS_TEST_TMPDIR/lib.so"
	for _ in $(seq 50); do
		grep -q memfd:dynamic "/proc/$waiting/maps" && break
		sleep 0.1
	done
	run "$NOPAL" list -p "$waiting" 'usdt:*:p:in_memory'
	[ "$status" = 0 ]
	[ "$output" = 'usdt:"/memfd:dynamic (deleted)":p:in_memory' ]
}

@test "-p: another mount namespace, where the path is another file or none" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	unshare -m true 2>/dev/null || skip "mount namespaces cannot be made here"
	mkdir "$BATS_TEST_TMPDIR/inside"
	mkfifo "$BATS_TEST_TMPDIR/input"
	unshare -m sh -c 'mount -t tmpfs none "$1" && cp "$2" "$1/hidden" && ln -s "$1/hidden" "$1/link" &&
		exec "$1/hidden" wait' - "$BATS_TEST_TMPDIR/inside" "$tick" <>"$BATS_TEST_TMPDIR/input" >/dev/null 3>&- &
	waiting=$!
	for _ in $(seq 50); do
		grep -q inside/hidden "/proc/$waiting/maps" 2>/dev/null && break
		sleep 0.1
	done
	[ ! -e "$BATS_TEST_TMPDIR/inside/hidden" ]
	run "$NOPAL" list -p "$waiting"
	[ "$status" = 0 ]
	[[ "$output" == *"usdt:$BATS_TEST_TMPDIR/inside/hidden:tick:word"* ]]
	run "$NOPAL" list -p "$waiting" "usdt:$BATS_TEST_TMPDIR/inside/link:tick:number"
	[ "$status" = 0 ]
	[ "$output" = "usdt:$BATS_TEST_TMPDIR/inside/link:tick:number" ]
}

@test "-a: every process, each image once" {
	start_waiting "$tick" wait
	"$tick" wait <"$BATS_TEST_TMPDIR/input" >/dev/null 3>&- &
	second=$!
	sleep 0.3
	run "$NOPAL" list -a
	kill "$second"
	[ "$status" = 0 ]
	[ "$(grep -c "^usdt:$tick:tick:word$" <<<"$output")" = 1 ]
	run "$NOPAL" list "usdt:*:tick:number"
	[[ "$output" == *"usdt:$tick:tick:number"* ]]
}

@test "a 32-bit program" {
	compile small '1, global, argc' "$BATS_TEST_TMPDIR/small" i686-linux-gnu-gcc -O1 ||
		compile small '1, global, argc' "$BATS_TEST_TMPDIR/small" gcc -m32 -O1 ||
		skip "needs a 32-bit compiler"
	run "$NOPAL" list -v "$BATS_TEST_TMPDIR/small"
	[ "$status" = 0 ]
	[[ "$output" == *":p:small"*"semaphore 0x"*"arg0  signed 4-byte  constant 1"* ]]
	[[ "$output" != *"cannot be traced"* ]]
	run bash -c '"$1" list --json "$2" | jq -r ".arguments | map(select(.kind == \"unknown\")) | length"' - \
		"$NOPAL" "$BATS_TEST_TMPDIR/small"
	[ "$output" = 0 ]
}

@test "notes that were stripped come from the separate debug file, with the program's offsets" {
	need_program objcopy
	compile away 'global, argc, 5' "$BATS_TEST_TMPDIR/away" gcc -O1 -no-pie -Wl,--build-id || skip "no compiler or <sys/sdt.h>"
	cd "$BATS_TEST_TMPDIR"
	"$NOPAL" list -v ./away >want
	objcopy --only-keep-debug away away.debug
	objcopy --strip-all --remove-section=.note.stapsdt --add-gnu-debuglink=away.debug away
	! readelf -SW away | grep -q stapsdt$ || false
	run "$NOPAL" list -v ./away
	[ "$status" = 0 ]
	[ "$output" = "$(cat want)" ]
	# The debug file itself lists them, but has no code to trace.
	run "$NOPAL" list -v ./away.debug
	[ "$status" = 0 ]
	[[ "$output" == *"cannot be traced: this is a separate debug file"* ]]
	# A debug file of another build is none.
	compile away '5, global, argc' "$BATS_TEST_TMPDIR/other" gcc -O0 -no-pie -Wl,--build-id
	cp other away.debug
	run "$NOPAL" list -v ./away
	[ "$status" = 1 ]
	[[ "$output" == *"no probes in './away'"* ]]
}

@test "a thread-local argument is resolved as the compiler lays it out" {
	compile tls 'local_to_thread, global, argc' "$BATS_TEST_TMPDIR/tls" gcc -O1 -no-pie || skip "no compiler or <sys/sdt.h>"
	raw=$("$NOPAL" list --json "$BATS_TEST_TMPDIR/tls" | jq -r '.arguments[0].raw')
	[[ "$raw" == *@tpoff* ]] || skip "this compiler passes it otherwise: $raw"
	run bash -c '"$1" list --json "$2" | jq -r ".arguments[0] | .kind, .base, .offset"' - "$NOPAL" "$BATS_TEST_TMPDIR/tls"
	[ "${lines[0]}" = memory ]
	# The one variable of 4 bytes ends at the thread pointer.
	[ "${lines[2]}" = -4 ]
}

@test "a note whose arguments are ':' was said to be of an unknown CPU" {
	cat >"$BATS_TEST_TMPDIR/none.s" <<-'END'
		.globl main
		main: ret
		.pushsection .note.stapsdt, "", "note"
		.balign 4
		.4byte 2f - 1f, 4f - 3f, 3
		1: .asciz "stapsdt"
		2: .balign 4
		3: .8byte main, 0, 0
		.asciz "p"
		.asciz "none"
		.asciz ":"
		4: .balign 4
		.popsection
		.section .note.GNU-stack, "", "progbits"
	END
	gcc -no-pie -o "$BATS_TEST_TMPDIR/none" "$BATS_TEST_TMPDIR/none.s"
	run "$NOPAL" list -v "$BATS_TEST_TMPDIR/none"
	[ "$status" = 0 ]
	[[ $output == *":p:none"* ]]
	[[ $output != *"unknown CPU"* ]]
}

@test "a damaged file is told, the others are listed, the exit code says it" {
	head -c 3000 "$tick" >"$BATS_TEST_TMPDIR/cut"
	run "$NOPAL" list "$BATS_TEST_TMPDIR/cut" "$tick"
	[ "$status" = 1 ]
	says corrupt-elf "'$BATS_TEST_TMPDIR/cut' is damaged: "
	[[ "$output" == *"usdt:$tick:tick:word"* ]]
}

@test "messages: what was tried, on what, why" {
	run "$NOPAL" list /nowhere/prog
	[ "$status" = 1 ]
	[[ "$output" == *"cannot open '/nowhere/prog': No such file or directory"* ]]
	run "$NOPAL" list no-such-program-anywhere
	[ "$status" = 1 ]
	[[ "$output" == *"cannot find 'no-such-program-anywhere'"*"hint: searched \$PATH"* ]]
	run "$NOPAL" list /etc/passwd
	[ "$status" = 1 ]
	[[ "$output" == *"'/etc/passwd' is not an ELF file"* ]]
	run "$NOPAL" list /usr
	[ "$status" = 1 ]
	says cannot-open "cannot open '/usr': Is a directory"
	mkfifo "$BATS_TEST_TMPDIR/fifo"
	run timeout 5 "$NOPAL" list "$BATS_TEST_TMPDIR/fifo"
	[ "$status" = 1 ]
	[[ "$output" == *"is not a regular file"* ]]
	run "$NOPAL" list /bin/true
	[ "$status" = 1 ]
	[[ "$output" == *"no probes in '/bin/true'"* ]]
	run "$NOPAL" list -p 4194000
	[ "$status" = 1 ]
	[[ "$output" == *"there is no process 4194000"* ]]
	run "$NOPAL" list "usdt:$tick:tick:numbr"
	[ "$status" = 1 ]
	[[ "$output" == *"no probe matches"*"did you mean 'tick:number'?"* ]]
	run "$NOPAL" list $'/nowhere/\e[31mred'
	[[ "$output" != *$'\e'* ]]
}

@test "wrong usage is 2" {
	for args in "" "--nonsense" "-p" "-p x" "-p 0" "-a $tick" "-a -p 1" "-v --json $tick"; do
		run "$NOPAL" list $args
		[ "$status" = 2 ]
		[[ "$output" == *"nopal: error: "* ]]
	done
}

@test "a reader that goes away is no crash" {
	run bash -c '"$1" list -v "$2" | head -1' - "$NOPAL" "$tick"
	[ "$status" = 0 ]
}

# notes COUNT PROVIDER NAME [ARGS]: a program with COUNT probes at one place; %d is a number.
notes() {
	echo 'int main(void) { __asm__ volatile("nop"); return 0; }' | gcc -x c -O0 -no-pie -o "$BATS_TEST_TMPDIR/none" - || return
	perl -e 'my ($count, $provider, $name, $args, $at) = @ARGV;
		for my $i (0 .. $count - 1) {
			(my $n = $name) =~ s/%d/$i/g;
			my $d = pack("Q3", hex($at), 0, 0) . "$provider\0$n\0$args\0";
			print pack("L3a8", 8, length($d), 3, "stapsdt"), $d, "\0" x (-length($d) % 4);
		}' "$1" "$2" "$3" "$4" "$(nm "$BATS_TEST_TMPDIR/none" | sed -n 's/ T main$//p')" >"$BATS_TEST_TMPDIR/bytes" &&
		objcopy --add-section .note.stapsdt="$BATS_TEST_TMPDIR/bytes" "$BATS_TEST_TMPDIR/none" "$BATS_TEST_TMPDIR/notes"
}

@test "-l does not steer the terminal" {
	notes 1 $'p\033[31m' $'n\033[2J' ''
	run "$NOPAL" -l "usdt:$BATS_TEST_TMPDIR/notes:*"
	[ "$output" = "usdt:$BATS_TEST_TMPDIR/notes:\"p\x1b[31m\":\"n\x1b[2J\"" ]
	run "$NOPAL" -l "$output"
	[ "$status" = 0 ]
}

@test "a file with very many probes is listed in time" {
	notes 150000 p 'n%d' '4@%edi'
	run timeout 120 bash -c '"$1" -l "usdt:$2:*" | wc -l' - "$NOPAL" "$BATS_TEST_TMPDIR/notes"
	[ "$output" = 150000 ]
	run timeout 120 bash -c '"$1" list -v "$2" | grep -c "site 1 "' - "$NOPAL" "$BATS_TEST_TMPDIR/notes"
	[ "$output" = 150000 ]
}
