# Built for other CPUs: the command runs there (under qemu-user), lists what is listed here, and is installed stripped.
# MATRIX=full builds for all of them; else all is only compiled for one of 32 bits, and only aarch64 is built.
load ../helpers

# build CPU TRIPLET QEMU: build for a CPU without optimisation, which is the quickest; $built is its folder.
build() {
	need_program "$2-gcc"
	need_program "$3"
	cd "$ROOT"
	scripts/cross "$1" -j2 CFLAGS=-O0 all >"$BATS_TEST_TMPDIR/log" 2>&1 || {
		! grep -q 'could not be had' "$BATS_TEST_TMPDIR/log" || skip "$(grep 'could not be had' "$BATS_TEST_TMPDIR/log")"
		cat "$BATS_TEST_TMPDIR/log"
		return 1
	}
	! grep 'warning:' "$BATS_TEST_TMPDIR/log" || false
	built=$ROOT/build-$2
	qemu=$3
	triplet=$2
}

# run_there PROGRAM ARGUMENTS...: run a program of that CPU.
run_there() {
	local libs
	libs=$(find "$built/sysroot" -name 'lib*.so.[0-9]' -printf '%h:')
	"$qemu" -L "/usr/$triplet" -E LD_LIBRARY_PATH="$libs/usr/$triplet/lib" "$@"
}

there() {
	run_there "$built/nopal" "$@"
}

# Which registers a kernel of that CPU gives to its tracers is known for x86-64, i386 and aarch64.
without_kernel() {
	sed -e 's/ (registers of this CPU are not readable on this machine)//' -e 's/, "problem": "registers of this CPU[^"]*"//g'
}

# Files of both byte orders and word sizes are listed there as they are here.
lists_the_same() {
	local file
	"$triplet-gcc" -O1 -I"$ROOT/include" -o "$BATS_TEST_TMPDIR/own" "$ROOT/tests/targets/tick.c" -lpthread
	for file in "$BATS_TEST_TMPDIR/own" "$TARGETS/pluglib" "$TARGETS/tick"; do
		for options in "" -v --json; do
			# shellcheck disable=SC2086
			"$NOPAL" list $options "$file" | without_kernel >"$BATS_TEST_TMPDIR/here"
			# shellcheck disable=SC2086
			there list $options "$file" | without_kernel >"$BATS_TEST_TMPDIR/there"
			diff "$BATS_TEST_TMPDIR/here" "$BATS_TEST_TMPDIR/there"
			[ -s "$BATS_TEST_TMPDIR/here" ]
		done
	done
}

@test "aarch64: builds, and lists the same" {
	build aarch64 aarch64-linux-gnu qemu-aarch64
	lists_the_same
}

# compiles COMPILER: every file, with this machine's headers of the libraries.
compiles() {
	need_program "$1"
	cd "$ROOT"
	printf '%s\n' src/*/*.c src/engine/*/*.c src/script/*/*.c src/user/*/*.c cmd/*.c cmd/*/*.c | grep -v '^src/user/inside/agent.c' | xargs -P2 -n20 "$1" -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 \
		-fsyntax-only -Wall -Werror -Isrc -Iinclude -Icmd -I"$BUILD" -idirafter /usr/include -idirafter /usr/include/x86_64-linux-gnu -DNOPAL_VERSION='"x"'
}

@test "armhf: every file compiles" {
	compiles arm-linux-gnueabihf-gcc
}

@test "s390x: every file compiles" {
	[ "${MATRIX:-}" = full ] || skip "one of the CPUs that are built only with all of them"
	compiles s390x-linux-gnu-gcc
}

@test "armhf: builds, and lists the same" {
	[ "${MATRIX:-}" = full ] || skip "one of the CPUs that are built only with all of them"
	build armhf arm-linux-gnueabihf qemu-arm
	lists_the_same
}

@test "i386: builds, and lists the same" {
	[ "${MATRIX:-}" = full ] || skip "one of the CPUs that are built only with all of them"
	build i386 i686-linux-gnu qemu-i386
	lists_the_same
}

@test "ppc64el: builds, and lists the same" {
	[ "${MATRIX:-}" = full ] || skip "one of the CPUs that are built only with all of them"
	build ppc64el powerpc64le-linux-gnu qemu-ppc64le
	lists_the_same
}

@test "s390x: builds, and lists the same" {
	[ "${MATRIX:-}" = full ] || skip "one of the CPUs that are built only with all of them"
	build s390x s390x-linux-gnu qemu-s390x
	lists_the_same
}

@test "make install of a cross build takes that CPU's strip" {
	build aarch64 aarch64-linux-gnu qemu-aarch64
	scripts/cross aarch64 CFLAGS=-O0 DESTDIR="$BATS_TEST_TMPDIR/root" PREFIX=/usr install >"$BATS_TEST_TMPDIR/log" 2>&1
	file=$BATS_TEST_TMPDIR/root/usr/bin/nopal
	readelf -h "$file" | grep -q AArch64
	! readelf -S "$file" | grep -q '\.symtab'
}

@test "aarch64: the tests build, and those that need no kernel pass" {
	build aarch64 aarch64-linux-gnu qemu-aarch64
	units=(base notes operand describe know script program program_check interp native_code native_gen native_differential
		native_threads provider report runtime runtime_image)
	[ "${MATRIX:-}" != full ] || units+=(native_maps native_cases)
	export DIFFERENTIAL=100 HITS=20000 # machine code of user mode, without rseq
	[ "${MATRIX:-}" != full ] || all=(units targets)
	scripts/cross aarch64 -j2 CFLAGS=-O0 "${units[@]/#/build-$triplet/unit/}" "${all[@]}" >"$BATS_TEST_TMPDIR/log" 2>&1 || { cat "$BATS_TEST_TMPDIR/log"; false; }
	for unit in "${units[@]}"; do
		CMOCKA_MESSAGE_OUTPUT=TAP run_there "$built/unit/$unit" >"$BATS_TEST_TMPDIR/out" 2>&1 || { cat "$BATS_TEST_TMPDIR/out"; false; }
		grep -q '^ok' "$BATS_TEST_TMPDIR/out"
	done
}
