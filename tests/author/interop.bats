# Probes of our header as other people's tools see them.
load ../helpers

setup() {
	program=$BATS_TEST_TMPDIR/inter
	gcc -O2 -g -I"$ROOT/include" "$ROOT/tests/author/interop.c" -o "$program"
}

@test "readelf lists the probes" {
	run readelf -n "$program"
	[ "$(grep -c 'Provider: inter' <<<"$output")" = 5 ]
	[[ "$output" != *"corrupt"* ]]
	readelf -n "$program" | grep -A2 'Name: asked' | grep -q 'Semaphore: 0x0*[1-9a-f]'
	readelf -n "$program" | grep -A2 'Name: plain' | grep -q 'Semaphore: 0x0*$'
}

@test "eu-readelf lists the probes" {
	need_program eu-readelf
	run eu-readelf -n "$program"
	[ "$status" = 0 ]
	[ "$(grep -c 'Provider: inter' <<<"$output")" = 5 ]
}

# gdb_at PROBE EXPRESSIONS...: their values at the first hit.
gdb_at() {
	local probe=$1 expressions=()
	shift
	for e; do expressions+=(-ex "print $e"); done
	run gdb -q -batch -nx -ex "break -probe-stap inter:$probe" -ex run "${expressions[@]}" "$program"
	[ "$status" = 0 ]
}

@test "gdb lists the probes, with their semaphores" {
	need_program gdb
	run gdb -q -batch -nx -ex 'info probes stap inter' "$program"
	[ "$(grep -c '^stap  *inter' <<<"$output")" = 5 ]
	[[ "$output" =~ inter\ +asked\ +0x[0-9a-f]+\ +0x[0-9a-f]+ ]]
}

@test "gdb stops at a probe and reads its arguments" {
	need_program gdb
	gdb_at plain '$_probe_argc' '$_probe_arg0' '(char *)$_probe_arg1' '(long)$_probe_arg2' '$_probe_arg3' '$_probe_arg4'
	[[ "$output" == *'$1 = 5'* && "$output" == *'$2 = 1'* && "$output" == *'"word"'* ]]
	[[ "$output" == *'$4 = -3'* && "$output" == *'$5 = -1'* && "$output" == *'$6 = 200'* ]]
}

@test "gdb reads what stands beside a float" {
	need_program gdb
	gdb_at real '$_probe_argc' '$_probe_arg0' '$_probe_arg1' '$_probe_arg2' '$_probe_arg3'
	[[ "$output" == *'$1 = 4'* && "$output" == *'$2 = 1'* ]]
	[[ "$output" == *'$3 = 4612811918334230528'* && "$output" == *'$4 = 1075838976'* ]]
	[[ "$output" == *'$5 = 7'* ]]
}

# As of probes of SystemTap's header, gdb knows no sizes but 1, 2, 4 and 8, and no argument behind another one.
@test "gdb reads a struct, and what stands before 16-byte values" {
	need_program gdb
	gdb_at wide '$_probe_argc' '$_probe_arg0' '$_probe_arg1' '$_probe_arg2'
	[[ "$output" == *'$1 = 3'* && "$output" == *'$2 = 1'* && "$output" == *"\$3 = $(((6 << 32) + 5))"* && "$output" == *'$4 = 7'* ]]
	gdb_at wider '$_probe_argc' '$_probe_arg0' '$_probe_arg1'
	[[ "$output" == *' = 1'* && "$output" == *" = $(((6 << 32) + 5))"* ]]
}

@test "bpftrace lists the probes" {
	need_program bpftrace
	[ "$(id -u)" = 0 ] || skip "bpftrace runs as root only"
	run bpftrace -l "usdt:$program:*"
	for name in plain real wide wider asked; do
		[[ "$output" == *"$program:inter:$name"* ]]
	done
}

@test "bpftrace reads every argument" {
	need_program bpftrace
	need_tracing
	run timeout 60 bpftrace -e "
		usdt:$program:inter:plain { printf(\"plain %d %s %d %d %d\n\", arg0, str(arg1), arg2, arg3, arg4); }
		usdt:$program:inter:real { printf(\"real %d %lx %lx %d\n\", arg0, arg1, arg2, arg3); }
		usdt:$program:inter:wide { printf(\"wide %d %lx %d\n\", arg0, arg1, arg2); }
		usdt:$program:inter:wider { printf(\"wider %d %lx %d\n\", arg0, arg1, arg4); }" -c "$program 1"
	[[ "$output" == *"plain 1 word -3 -1 200"* ]]
	[[ "$output" == *"real 1 4004000000000000 40200000 7"* ]]
	[[ "$output" == *"wide 1 600000005 7"* && "$output" == *"wider 1 600000005 7"* ]]
}

@test "bpftrace turns a semaphore on" {
	need_program bpftrace
	need_tracing
	run "$program" 5
	[ "$output" = "" ]
	run timeout 60 bpftrace -e "usdt:$program:inter:asked { @ = count(); }" -c "$program 5"
	[ "$(grep -c enabled <<<"$output")" = 5 ]
	[[ "$output" == *"@: 5"* ]]
}

@test "nopal reads every argument, and turns a semaphore on" {
	need_tracing
	run_traced "usdt:$program:inter:plain { printf(\"plain %d %s %d %d %d\n\", arg0, str(arg1), arg2, arg3, arg4); }
		usdt:$program:inter:wide { printf(\"wide %d %lx %d\n\", arg0, arg1, arg2); }
		usdt:$program:inter:wider { printf(\"at %d %lx %d\n\", *(int64 *)arg2, *(uint16 *)(arg3 + 8), arg4); }
		usdt:$program:inter:asked { @ = count(); }" "$program 5"
	[[ "$output" == *"plain 1 word -3 -1 200"* ]]
	[[ "$output" == *"wide 1 600000005 7"* ]]
	[[ "$output" == *"at -3 4000 7"* ]]
	[[ "$output" == *"@: 5"* ]]
}

@test "nopal reads a program with SystemTap's header" {
	need_tracing
	theirs=$(find /usr/include -path '*sys/sdt.h' | head -1)
	[ -n "$theirs" ] || skip "needs systemtap-sdt-dev"
	for constraint in nor nr; do
		gcc -O2 -DSTAP_SDT_ARG_CONSTRAINT=$constraint -I"$(dirname "$(dirname "$theirs")")" \
			"$ROOT/tests/author/redzone.c" -o "$program"
		run_traced "usdt:$program:red:edge { @ = count(); @sum = sum(arg0) }" "$program 3000"
		[[ "$output" == *"@: 1000"* ]]
		[[ "$output" == *"@sum: 1499500"* ]]
	done
}

@test "tplist lists the probes" {
	tplist=$(command -v tplist-bpfcc || command -v tplist) || skip "needs bcc's tplist"
	run "$tplist" -v -l "$program"
	[[ "$output" == *"inter:plain [sema 0x0]"* ]]
	[[ "$output" =~ inter:asked\ \[sema\ 0x[1-9a-f] ]]
	[[ "$output" == *"5 argument(s)"* ]]
}

@test "perf finds and records the probes" {
	need_perf_probes
	HOME=$BATS_TEST_TMPDIR
	cd "$HOME"
	# perf takes no probe of a program, of either header, that has an argument of another size than 1, 2, 4 or 8.
	gcc -DNARROW -O2 -I"$ROOT/include" "$ROOT/tests/author/interop.c" -o "$program"
	perf buildid-cache --add "$program"
	perf probe sdt_inter:wide
	run perf record -q -e sdt_inter:wide -o perf.data "$program" 4
	perf probe -d sdt_inter:wide
	[ "$status" = 0 ]
	run perf script -i perf.data
	[ "$(grep -c 'sdt_inter:wide: .* arg1=. arg2=25769803781' <<<"$output")" = 4 ]
}
