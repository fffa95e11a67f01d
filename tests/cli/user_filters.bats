# User mode and processes with system call filters (seccomp) of all kinds. None ever notices: root suspends the filter for the calls that
# are made in it at the beginning, and code at its probes makes none; an ordinary user, who cannot suspend it, is refused before.
load ../helpers

setup() {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	[ "$(id -u)" = 0 ] || skip "needs root, for --user"
	dir=$(mktemp -d /tmp/nopal-filters.XXXXXX)
	chmod 755 "$dir"
	cp "$TARGETS/filters" "$TARGETS/sandboxes" "$TARGETS/pluglib" "$dir"
}

teardown() {
	[ -z "${target:-}" ] || kill -9 "$target" 2>/dev/null || true
	[ -z "${dir:-}" ] || rm -rf "$dir"
}

# start AS FILTER...: $target, by root or by nobody, under that filter.
start() {
	local as=()
	[ "$1" = root ] || as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	shift
	rm -f "$dir/go"
	mkfifo "$dir/go"
	"${as[@]}" "$dir/filters" "$@" <"$dir/go" >"$dir/printed" 3>&- &
	target=$!
	exec 8>"$dir/go"
	# Until it has called exec, it is setpriv.
	for _ in $(seq 200); do
		[ "$(cat /proc/$target/comm)" != filters ] || break
		sleep 0.05
	done
	[ "${3:-}" = late ] || awaits grep -q ready "$dir/printed"
}

# ends_well: it goes on to its end, and no call was made that its filter refuses.
ends_well() {
	echo >&8
	wait $target
	target=
	grep -qx alive "$dir/printed"
}

script='usdt:filters:fire { @[str(arg0), comm, pid == 0, str(arg1)] = count(); @t[tid != 0] = count(); @s = sum(arg2) }'

# traced: what is in no memory that is sure to stay cannot be read without a call.
traced() {
	start_tracer "$script" --engine=native -p $target "$@"
	ends_well
	wait $tracer
	cat "$output_file"
	grep -qx '@\[near, (unreadable), false, (unreadable)\]: 1000' "$output_file"
	grep -qx '@t\[true\]: 1000' "$output_file"
	grep -qx '@s: 499500' "$output_file"
}

refused() {
	run setpriv --reuid=65534 --regid=65534 --clear-groups timeout 20 "$NOPAL" -p $target -e "$script"
	[ "$status" = 1 ]
	says user-mode-filter "it has a system call filter (seccomp), which only root can suspend"
	ends_well
}

@test "strict mode" {
	start root strict
	traced
	start nobody strict
	refused
}

# each_verdict LIST: refused in each way that there is.
each_verdict() {
	for how in kill thread errno trap trace notify; do
		start root $how "$1"
		traced
		start nobody $how "$1"
		refused
	done
}

# bats test_tags=deep
@test "a filter that permits nearly nothing" {
	each_verdict few
}

# bats test_tags=deep
@test "a filter that refuses just what a tracer needs" {
	each_verdict maps
}

# bats test_tags=deep
@test "a filter as services have them" {
	each_verdict service
}

@test "a filter that comes while the process is traced" {
	for how in kill trap errno; do
		start nobody $how few late
		start_tracer "$script" --engine=native -p $target
		echo >&8
		awaits grep -q ready "$dir/printed"
		ends_well
		wait $tracer
		grep -qx '@\[near, (unreadable), false, (unreadable)\]: 1000' "$output_file"
	done
}

# begin_sandbox AS HOW COUNT: the program waits, and is traced. Where the kernel has put its heap to where the bytes after a
# 1-byte nop lead, it is begun again: user mode refuses that layout.
begin_sandbox() {
	local as=()
	[ "$1" = root ] || as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	for _ in 1 2 3; do
		rm -f "$dir/go"
		mkfifo "$dir/go"
		"${as[@]}" "$dir/sandboxes" "$2" "$3" <"$dir/go" >"$dir/printed" 3>&- &
		target=$!
		exec 8>"$dir/go"
		awaits grep -q ready "$dir/printed"
		! start_tracer 'usdt:sandboxes:fire { @n = count(); @[str(arg0)] = count() }' --engine=native --follow -p $target || return 0
		grep -q 'do not lead to a free address' "$messages" || return 1
		kill -9 $target
		wait $target || true
	done
	return 1
}

# sandbox AS HOW COUNT: of COUNT children, none is ended by the filter that it gives itself while its threads are at probes.
# $fired: how often the probe fired.
sandbox() {
	begin_sandbox "$@"
	echo >&8
	wait $target
	target=
	wait $tracer
	cat "$dir/printed" "$output_file" "$messages"
	grep -qx 'killed 0' "$dir/printed"
	fired=$(sed -n 's/^fired //p' "$dir/printed")
	grep -qx "@n: $fired" "$output_file"
}

# sandboxed AS HOW COUNT: ... and text on the heap is read until then.
sandboxed() {
	sandbox "$@"
	grep -qx '@\[text\]: [0-9]*' "$output_file"
	grep -qx '@\[(unreadable)\]: [0-9]*' "$output_file"
}

# sandboxed_unread AS HOW COUNT: ... and text on the heap is never read.
sandboxed_unread() {
	sandbox "$@"
	grep -qx "@\[(unreadable)\]: $fired" "$output_file"
	says user-mode-unread "makes system calls by code of its own" "$messages"
}

# bats test_tags=deep
@test "a filter that a thread gives itself at any moment ends nothing" {
	local count=${STRESS:+1000}
	for how in prctl seccomp tsync strict; do
		sandboxed root $how "${count:-100}"
	done
	sandboxed nobody tsync 20
}

# bats test_tags=deep
@test "... in a static program, and with another C library" {
	cc -O2 -static -I"$ROOT/include" -o "$dir/sandboxes" "$ROOT/tests/targets/sandboxes.c" -lpthread || skip "no static libc"
	sandboxed_unread root prctl 20
	sandboxed_unread root tsync 20
	command -v musl-gcc >/dev/null || skip "no musl-gcc"
	musl-gcc -O2 -idirafter /usr/include -idirafter "/usr/include/$(uname -m)-linux-gnu" -I"$ROOT/include" -o "$dir/sandboxes" "$ROOT/tests/targets/sandboxes.c"
	sandboxed_unread root prctl 20
}

# bats test_tags=deep
@test "code that is made to be read for very long: attached soon, and what is not known is reported" {
	# Bytes of a call in the middle of each of 2 million instructions.
	cat >"$dir/long.s" <<-'END'
		.globl _start
		_start: jmp wait
		.rept 2000000
		mov $0x050f050f, %eax
		.endr
		wait: mov $34, %eax
		syscall
		jmp wait
		probe: nop
		nopw 0(%rax,%rax,1)
		ret
		.section .note.stapsdt, "", "note"
		.balign 4
		.4byte 8, 32, 3
		.asciz "stapsdt"
		.8byte probe, 0, 0
		.asciz "long"
		.asciz "p"
		.asciz ""
		.balign 4
	END
	gcc -static -nostdlib -o "$dir/long" "$dir/long.s"
	"$dir/long" 3>&- &
	target=$!
	run timeout 60 "$NOPAL" --user -q -p $target -e "usdt:$dir/long:long:p { @[str(reg(\"sp\"))] = count() } interval:ms:1 { exit() }"
	echo "$output"
	[ "$status" = 0 ]
	says user-mode-unread "makes system calls by code of its own"
}

# bats test_tags=deep
@test "a filter that the program makes by an instruction of its own: no call is made from the start, in 50 of 50 children" {
	for define in -DOWN_CALLS -DHIDDEN_CALLS; do
		cc -O2 -static $define -I"$ROOT/include" -o "$dir/sandboxes" "$ROOT/tests/targets/sandboxes.c" -lpthread || skip "no static libc"
		for how in prctl seccomp tsync; do
			sandboxed_unread root $how 50
		done
	done
	cc -O2 -DOWN_CALLS -I"$ROOT/include" -o "$dir/sandboxes" "$ROOT/tests/targets/sandboxes.c" -lpthread
	sandboxed_unread root prctl 50
	command -v musl-gcc >/dev/null || skip "no musl-gcc"
	for static in "" -static; do
		# shellcheck disable=SC2086
		musl-gcc -O2 $static -DOWN_CALLS -idirafter /usr/include -idirafter "/usr/include/$(uname -m)-linux-gnu" -I"$ROOT/include" -o "$dir/sandboxes" "$ROOT/tests/targets/sandboxes.c"
		sandboxed_unread root seccomp 50
	done
}

# bats test_tags=deep
@test "a program in Go whose filter is made by its runtime" {
	need_program go
	mkdir "$dir/go1"
	cat >"$dir/go1/main.go" <<-'END'
		package main

		// #include <sys/mman.h>
		// #include <string.h>
		// #include <sys/sdt.h>
		// static char *text;
		// static void begin(void) { text = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); strcpy(text, "text"); }
		// static void fire(int n) { for (int i = 0; i < n; i++) STAP_PROBE1(sandboxes, fire, text); }
		import "C"
		import (
			"fmt"
			"os"
			"syscall"
			"unsafe"
		)

		type rule struct {
			code   uint16
			jt, jf uint8
			k      uint32
		}

		func main() {
			rules := []rule{{0x20, 0, 0, 0}, {0x15, 0, 1, 310}, {0x06, 0, 0, 0x80000000}, {0x06, 0, 0, 0x7fff0000}}
			program := struct {
				len    uint16
				filter *rule
			}{uint16(len(rules)), &rules[0]}
			C.begin()
			fmt.Println("ready")
			line := make([]byte, 1)
			os.Stdin.Read(line)
			C.fire(1000)
			syscall.RawSyscall6(157, 38, 1, 0, 0, 0, 0)
			_, _, err := syscall.RawSyscall6(317, 1, 1, uintptr(unsafe.Pointer(&program)), 0, 0, 0)
			C.fire(1000)
			fmt.Println("alive", int(err))
		}
	END
	(cd "$dir/go1" && HOME=$dir GOFLAGS=-mod=mod GO111MODULE=off CGO_CFLAGS="-O2 -I$ROOT/include" go build -o "$dir/gone" main.go) || skip "this Go cannot use C"
	for _ in $(seq 10); do
		rm -f "$dir/go"
		mkfifo "$dir/go"
		"$dir/gone" <"$dir/go" >"$dir/printed" 3>&- &
		target=$!
		exec 8>"$dir/go"
		awaits grep -q ready "$dir/printed"
		start_tracer 'usdt:gone:sandboxes:fire { @n = count(); @[str(arg0)] = count() }' --engine=native -p $target
		echo >&8
		wait $target
		target=
		wait $tracer
		cat "$dir/printed" "$output_file" "$messages"
		grep -qx 'alive 0' "$dir/printed"
		grep -qx '@n: 2000' "$output_file"
		grep -qx '@\[(unreadable)\]: 2000' "$output_file"
		says user-mode-unread "makes system calls by code of its own" "$messages"
	done
}

# loads AS: a library, when it has a filter; the tracer is the same user.
loads() {
	local NOPAL=$NOPAL
	if [ "$1" = nobody ]; then
		printf '#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups %s "$@"\n' "$NOPAL" >"$dir/nopal"
		chmod 755 "$dir/nopal"
		NOPAL=$dir/nopal
	fi
	start "$1" kill tracer late "$dir/pluglib"
	start_tracer "$script usdt:$dir/pluglib:plug:in { @plugged = count() }" --engine=native -p $target
	echo >&8
	awaits grep -q ready "$dir/printed"
	ends_well
	wait $tracer || { cat "$messages" && false; }
	cat "$output_file" "$messages"
	grep -qx '@\[near, (unreadable), false, (unreadable)\]: 1000' "$output_file"
}

@test "a library that is loaded under a filter" {
	loads root
	grep -qx '@plugged: 10' "$output_file"
	loads nobody
	says user-mode-filtered "has got a system call filter (seccomp): what it maps from now on is not traced" "$messages"
}

@test "a library that is loaded just after the filter was made, by a program without other probes, and by its children" {
	cat >"$dir/guarded.c" <<-'END'
		#include <dlfcn.h>
		#include <linux/filter.h>
		#include <linux/seccomp.h>
		#include <stdlib.h>
		#include <sys/prctl.h>
		#include <sys/syscall.h>
		#include <sys/wait.h>
		#include <unistd.h>
		#define REFUSE(n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (n), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
		static struct sock_filter code[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
			REFUSE(SYS_futex),
			REFUSE(SYS_process_vm_readv),
			REFUSE(SYS_getpid),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		};
		static const struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};
		static int load(const char *path)
		{
			if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
				return 3;
			void *library = dlopen(path, RTLD_NOW);
			void (*plug)(int) = library ? (void (*)(int))dlsym(library, "plug") : NULL;
			if (!plug)
				return 2;
			plug(1);
			return 0;
		}
		int main(int argc, char **argv)
		{
			for (int status, i = 0; i < atoi(argv[2]); i++) {
				if (!fork())
					_exit(load(argv[1]));
				if (wait(&status) < 0 || status)
					return 1;
			}
			return load(argv[1]);
		}
	END
	cc -O2 -o "$dir/guarded" "$dir/guarded.c" -ldl
	for children in 0 5; do
		for probe in "usdt:$dir/pluglib:plug:in" 'usdt:*:plug:in'; do
			run timeout 60 "$NOPAL" --user -c "$dir/guarded $dir/pluglib $children" -e "$probe { @n = count() }"
			echo "$output"
			[ "$status" = 0 ]
			grep -qx "@n: $((children + 1))" <<<"$output"
			! grep -q 'nopal: warning' <<<"$output" || false
		done
	done
}
