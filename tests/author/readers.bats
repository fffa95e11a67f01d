# Every argument of every type, as other people's tools read it: the same values, bit for bit.
# READERS=full: the slower tools look at all builds too.
load ../helpers

builds=("gcc -O2" "clang -O2" "gcc -O0" "clang -O0" "gcc -O2 -fPIC" "clang -O2 -fPIC" "gcc -O0 -fPIC" "clang -O0 -fPIC")
some=("${builds[@]:0:2}")
[ "${READERS:-}" != full ] || some=("${builds[@]}")

setup_file() {
	[ "$(uname -m)" = x86_64 ] || skip "knows the registers of x86-64"
	for build in "${builds[@]}"; do
		command -v ${build%% *} >/dev/null || continue
		$build -DPROVIDER=read_$$ -Wall -Wextra -Werror -I"$ROOT/include" "$ROOT/tests/author/readers.c" \
			-o "$BATS_FILE_TMPDIR/${build// /_}"
	done
}

# read_by READER BUILDS...: it reads each of these programs.
read_by() {
	local reader=$1 program
	shift
	for build; do
		program=$BATS_FILE_TMPDIR/${build// /_}
		[ -e "$program" ] || continue
		echo "$build:"
		/usr/bin/python3 "$ROOT/tests/author/readers.py" "$reader" "$program"
	done
}

@test "gdb reads every argument" {
	need_program gdb
	read_by gdb "${builds[@]}"
}

# Its module for the kernel is translated, not built: gdb computes what the module would.
@test "SystemTap reads every argument" {
	need_program gdb
	need_program stap
	read_by stap "${builds[@]}"
}

@test "bpftrace reads the six arguments it has" {
	need_program bpftrace
	need_tracing
	read_by bpftrace "${some[@]}"
}

@test "bcc reads every argument" {
	/usr/bin/python3 -c 'import bcc' 2>/dev/null || skip "needs bcc for Python: python3-bpfcc"
	need_tracing
	read_by bcc "${some[@]}"
}

@test "perf reads every argument that is not a constant" {
	need_perf_probes
	read_by perf "${some[@]}"
}

@test "perf reads constants where they are in registers" {
	need_perf_probes
	build="gcc -O2 -DNARROW -DNOPAL_SDT_ARG_CONSTRAINT=r"
	$build -DPROVIDER=read_$$ -I"$ROOT/include" "$ROOT/tests/author/readers.c" -o "$BATS_FILE_TMPDIR/${build// /_}"
	run readelf -n "$BATS_FILE_TMPDIR/${build// /_}"
	[[ "$output" != *'@$'* ]]
	read_by perf "$build"
}

@test "libbpf reads every argument" {
	need_program clang
	need_tracing
	[ -e /usr/include/bpf/usdt.bpf.h ] || skip "needs libbpf-dev with usdt.bpf.h"
	export READERS_LIBBPF=$BATS_TEST_TMPDIR/readers_libbpf
	clang -target bpf -D__TARGET_ARCH_x86 -I"/usr/include/$(gcc -print-multiarch)" -O2 -g \
		-c "$ROOT/tests/author/readers_libbpf.bpf.c" -o "$READERS_LIBBPF.bpf.o"
	gcc "$ROOT/tests/author/readers_libbpf.c" -o "$READERS_LIBBPF" -lbpf
	read_by libbpf "${some[@]}"
}
