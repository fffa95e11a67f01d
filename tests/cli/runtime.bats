# Probes made at run time, seen and traced from outside: by nopal, bpftrace, gdb, readelf, tplist.
load ../helpers

# Start a program of run-time probes, wait until it is ready. Its pid is $pid, what it prints is in $printed; a
# line to descriptor 7 is a line to its standard input.
start() {
	start_ready "${program:-runtime}" "$@"
}

# A file with the image of process $pid.
save_image() {
	local link
	for link in /proc/$pid/fd/*; do
		case $(readlink "$link") in
		/memfd:nopal:*) cat "$link" >"$BATS_TEST_TMPDIR/image" && return 0 ;;
		esac
	done
	return 1
}

@test "readelf and eu-readelf read the notes without complaint" {
	need_program readelf
	start wait
	save_image
	run readelf -W -n -S -l -s "$BATS_TEST_TMPDIR/image"
	[ "$status" = 0 ]
	[[ "$output" != *[Ww]arning* ]]
	[[ "$output" == *"Provider: waiting"* ]]
	[[ "$output" == *"Name: none"* ]]
	[[ "$output" == *"Build ID: "* ]]
	if command -v eu-readelf >/dev/null; then
		run eu-readelf -n -S -l -s "$BATS_TEST_TMPDIR/image"
		[ "$status" = 0 ]
		[[ "$output" == *"Provider: waiting, Name: none"* ]]
	fi
}

@test "nopal list -p and -a show the probes, with names and types" {
	program=runtime_values start
	run "$NOPAL" list -p "$pid"
	[ "$status" = 0 ]
	[[ "$output" == *":values:int8"* ]]
	[[ "$output" == *":values:twelve"* ]]
	run "$NOPAL" list -v -p "$pid" 'usdt:*:values:counted'
	[[ "$output" == *"const char *value, size_t value_len"* ]]
	[[ "$output" == *$'\n    every type, with its edges\n'* ]]
	"$NOPAL" list --json -p "$pid" >"$BATS_TEST_TMPDIR/json"
	jq -es 'any(.name == "counted" and .description == "every type, with its edges")' "$BATS_TEST_TMPDIR/json"
	[ "$(id -u)" = 0 ] || skip "the rest needs root"
	run "$NOPAL" list -a
	[[ "$output" == *":values:int8"* ]]
}

@test "tplist -p shows the probes" {
	tplist=$(command -v tplist-bpfcc || command -v tplist) || skip "needs tplist"
	program=runtime_values start
	run "$tplist" -p "$pid"
	[ "$status" = 0 ] || skip "tplist does not run here: $output"
	[[ "$output" == *"values:int8"* ]]
	[[ "$output" == *"values:twelve"* ]]
}

@test "a C program with two 64-bit arguments, traced by nopal, silent before and after" {
	need_tracing
	start demo 300
	sleep 0.3
	[ "$(cat "$printed")" = ready ]
	run timeout 20 "$NOPAL" -q -p "$pid" -e 'usdt::capp:pair { @ok = min(arg0 + arg1 + 1); @n = count(); if (arg1 > 0) { @max = max(arg0 + arg1 + 1) } }
		interval:ms:400 { exit() }'
	[ "$status" = 0 ]
	[[ "$output" == *"@ok: 0"* ]]
	[[ "$output" == *"@max: 0"* ]]
	grep -q "Probe fired!" "$printed"
	fired=$(grep -c "Probe fired!" "$printed")
	sleep 0.4
	[ "$(grep -c "Probe fired!" "$printed")" -le $((fired + 1)) ]
}

@test "a C program with two 64-bit arguments, traced by bpftrace" {
	need_tracing
	need_program bpftrace
	start demo 400
	run timeout 30 bpftrace -p "$pid" -e 'usdt::capp:pair { printf("%lu %lu\n", arg0, arg1); } interval:s:1 { exit() }'
	[ "$status" = 0 ]
	line=$(grep -m1 '^1844674407' <<<"$output")
	[ "${line% *}" = "$(printf '%u' $((-1 - ${line#* })))" ]
	grep -q "Probe fired!" "$printed"
	sleep 0.3
	fired=$(grep -c "Probe fired!" "$printed")
	sleep 0.4
	[ "$(grep -c "Probe fired!" "$printed")" = "$fired" ]
}

@test "the semaphore is raised by a tracer and lowered again" {
	need_tracing
	start wait
	save_image
	offset=$(readelf -n "$BATS_TEST_TMPDIR/image" | sed -n 's/.*Semaphore: 0x0*\([0-9a-f]*\).*/\1/p')
	base=$(awk '/memfd:nopal:waiting/ { split($1, a, "-"); print a[1]; exit }' "/proc/$pid/maps")
	semaphore() {
		dd if="/proc/$pid/mem" bs=2 count=1 iflag=skip_bytes skip=$((0x$base + 0x$offset)) 2>/dev/null |
			od -An -tu2 | tr -d ' '
	}
	[ "$(semaphore)" = 0 ]
	start_tracer 'usdt::waiting:none { }' -p "$pid" -q
	[ "$(semaphore)" = 1 ]
	stop_tracer
	[ "$(semaphore)" = 0 ]
}

@test "8 threads fire while a tracer comes and goes: no value is wrong" {
	need_tracing
	local sessions=0
	start storm "${STRESS:+120}${STRESS:-4}"
	# It runs for a time, not for a number of sessions: a busy machine has fewer.
	for i in $(seq "${STRESS:+100}${STRESS:-3}"); do
		run timeout 20 "$NOPAL" -q -p "$pid" -e 'usdt::storm:all {
			if (arg1 != ~arg0 || arg2 != arg0 * 3 || arg3 != arg0 + 4 || arg4 != (arg0 ^ 5) || arg5 != arg0 - 6 ||
				arg6 != arg0 + 7 || arg7 != arg0 + 8) { @wrong = count() } else { @right = count() } }
			interval:ms:200 { exit() }'
		[ "$status" = 0 ] || { grep -q '^State:.Z' "/proc/$pid/status" && break; }
		[[ "$output" == *"@right: "* ]]
		[[ "$output" == *"@wrong: 0"* ]]
		sessions=$((sessions + 1))
	done
	[ $sessions -gt 0 ]
	wait "$pid"
	[ "$(tail -1 "$printed")" = "done" ]
}

@test "a traced probe changes nothing around its call" {
	need_tracing
	start flags 3
	run timeout 20 "$NOPAL" -q -p "$pid" -e 'usdt::flags:step { @ = count() } interval:s:2 { exit() }'
	[ "$status" = 0 ]
	wait "$pid"
	[ "$(tail -1 "$printed")" = "traced, 0 wrong" ]
}

# Linux 6.18 on x86-64 does so after the first event; the nop must be where it can.
@test "the kernel makes a traced stub's nop a call" {
	need_tracing
	grep -qs ' arch_uprobe_optimize$' /proc/kallsyms && [ "$(uname -m)" = x86_64 ] || skip "this kernel only has breakpoints"
	start demo 30
	base=$(awk '/memfd:nopal:capp/ { split($1, a, "-"); print a[1]; exit }' "/proc/$pid/maps")
	first_byte() {
		dd if="/proc/$pid/mem" bs=1 count=1 iflag=skip_bytes skip=$((0x$base + 352)) 2>/dev/null | od -An -tx1 | tr -d ' '
	}
	[ "$(first_byte)" = 0f ]
	start_tracer 'usdt::capp:pair { @ = count() }' -p "$pid" -q
	for _ in $(seq 200); do
		[ "$(first_byte)" = e8 ] && break
		sleep 0.05
	done
	[ "$(first_byte)" = e8 ]
	stop_tracer
	[ "$(first_byte)" = 0f ]
}

@test "gdb lists the probes, stops at one and reads its arguments" {
	need_program gdb
	start demo 60
	run timeout 60 gdb -q -batch -p "$pid" -ex 'info probes stap capp' -ex 'break -probe-stap capp:pair' -ex continue \
		-ex 'printf "sum %lu\n", $_probe_arg0 + $_probe_arg1' -ex delete -ex detach
	[[ "$output" != *"ptrace: Operation not permitted"* ]] || skip "gdb cannot attach here"
	[[ "$output" == *"stap capp "*"pair"* ]]
	[[ "$output" == *"sum 18446744073709551615"* ]]
	grep -q "Probe fired!" "$printed"
}

@test "a provider that is made after the tracer started is traced, in any process" {
	need_tracing
	start_tracer 'usdt:*:lateapp:request { printf("%d %d\n", pid, arg0) }' -q
	start later
	echo >&7
	for _ in $(seq 100); do
		grep -q traced "$printed" && break
		sleep 0.05
	done
	[ "$(tail -1 "$printed")" = traced ]
	echo >&7
	wait "$pid"
	stop_tracer
	[ "$(cat "$output_file")" = "$(printf "$pid %d\n" 0 1 2 3 4)" ]
}

@test "an image in a file has a name, and is gone at the end" {
	need_program cc
	cat >"$BATS_TEST_TMPDIR/file.c" <<'END'
#include <stdio.h>
#include "nopal/runtime.h"
int main(void)
{
	struct nopal_error e = {0, ""};
	struct nopal_provider *r = nopal_provider_new("filed", NOPAL_RUNTIME_FILE, &e);

	if (!nopal_provider_probe(r, "p", NULL, 0, NULL, &e) || nopal_provider_load(r, &e))
		return puts(e.text), 1;
	puts("ready");
	fflush(stdout);
	getchar();
	return 0;
}
END
	[ -z "${SAN:-}" ] || skip "not with sanitizers"
	cc -I"$ROOT/include" -o "$BATS_TEST_TMPDIR/file" "$BATS_TEST_TMPDIR/file.c" "$BUILD/libnopal-runtime.a" -lpthread
	mkdir -m 700 "$BATS_TEST_TMPDIR/run"
	mkfifo "$BATS_TEST_TMPDIR/in"
	XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR/run "$BATS_TEST_TMPDIR/file" <"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/printed" 3>&- &
	pid=$!
	exec 7>"$BATS_TEST_TMPDIR/in"
	until grep -q ready "$BATS_TEST_TMPDIR/printed"; do sleep 0.02; done
	run "$NOPAL" list "$BATS_TEST_TMPDIR"/run/nopal-filed-*.so
	[[ "$output" == *":filed:p"* ]]
	exec 7>&-
	wait "$pid"
	[ -z "$(ls "$BATS_TEST_TMPDIR/run")" ]
}

@test "perf records probes and their arguments where NOPAL_RUNTIME asks for files" {
	need_program perf
	need_tracing
	export HOME=$BATS_TEST_TMPDIR XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR/run NOPAL_RUNTIME=file
	mkdir -m 700 "$XDG_RUNTIME_DIR"
	program=runtime_values start
	image=$(echo "$XDG_RUNTIME_DIR"/nopal-values-*.so)
	perf buildid-cache --add "$image" && perf probe sdt_values:six && perf probe sdt_values:int16 ||
		skip "perf cannot make events of probes on this machine"
	perf record -q -e sdt_values:six,sdt_values:int16 -o "$HOME/data" -p "$pid" &
	recorder=$!
	for _ in $(seq 400); do # it maps their buffers when it has opened all events
		grep -q perf_event /proc/$recorder/maps && break
		sleep 0.05
	done
	sleep 0.5 # then it enables them
	echo >&7
	wait "$pid" "$recorder" || true
	perf probe -d sdt_values:six -d sdt_values:int16
	run perf script -i "$HOME/data"
	# perf script prints 1- and 2-byte numbers without their sign.
	for value in 32768 32769 65407 65535 0 1 256 32767; do
		grep -q "sdt_values:int16:.* arg1=$value\$" <<<"$output"
	done
	[[ "$output" == *"arg1=255 arg2=65535 arg3=-2147483648 arg4=18446744073709551615 arg5=13836183955189006336 "* ]]
}

@test "a memfd does where NOPAL_RUNTIME asks for a file that cannot be made" {
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR/nowhere NOPAL_RUNTIME=file
	start wait
	readlink /proc/$pid/fd/* | grep -q memfd:nopal:waiting
}

# bats test_tags=deep
@test "static programs and musl have run-time probes too" {
	need_program cc
	sources="$ROOT"/src/runtime/*.c
	for compiler in cc musl-gcc; do
		command -v $compiler >/dev/null || continue
		# shellcheck disable=SC2086
		for target in runtime runtime_values; do
			$compiler -static -std=gnu11 -D_GNU_SOURCE -O1 -I"$ROOT/src" -I"$ROOT/include" -o "$BATS_TEST_TMPDIR/$target" \
				"$ROOT/tests/targets/$target.c" $sources "$ROOT"/src/base/{buf,str,utf8}.c -lm -lpthread
		done
		echo >"$BATS_TEST_TMPDIR/line"
		run "$BATS_TEST_TMPDIR/runtime_values" <"$BATS_TEST_TMPDIR/line"
		[ "$status" = 0 ]
		"$BATS_TEST_TMPDIR/runtime" wait <"/dev/zero" >/dev/null 3>&- &
		pid=$!
		sleep 0.3
		"$NOPAL" list -p "$pid" | grep -q waiting:none
		kill $pid
	done
}

# bats test_tags=deep
@test "aarch64 and riscv64 programs make images that readers take" {
	need_program readelf
	tried=
	for cpu in aarch64 riscv64; do
		command -v $cpu-linux-gnu-gcc >/dev/null && command -v qemu-$cpu >/dev/null || continue
		echo 'int main(void) { return 0; }' | $cpu-linux-gnu-gcc -static -x c - -o "$BATS_TEST_TMPDIR/empty" 2>/dev/null || continue
		# shellcheck disable=SC2086
		$cpu-linux-gnu-gcc -static -std=gnu11 -D_GNU_SOURCE -O1 -I"$ROOT/src" -I"$ROOT/include" -I"$ROOT/tests" \
			-o "$BATS_TEST_TMPDIR/$cpu" "$ROOT/tests/programs/runtime_self.c" "$ROOT/tests/help/spy.c" "$ROOT"/src/runtime/*.c \
			"$ROOT"/src/base/{buf,str,utf8}.c -lpthread
		run qemu-$cpu "$BATS_TEST_TMPDIR/$cpu" "$BATS_TEST_TMPDIR/image"
		[ "$status" = 0 ]
		run readelf -W -n "$BATS_TEST_TMPDIR/image"
		[[ "$output" == *"Arguments: "* ]]
		[[ "$output" != *[Ww]arning* ]]
		"$NOPAL" list "$BATS_TEST_TMPDIR/image" | grep -q self:probe
		tried="$tried $cpu"
	done
	[ -n "$tried" ] || skip "needs a cross compiler with its libc, and qemu-user"
}
