#!/usr/bin/env bats
# Every allocation of every command fails once, in turn: it must end with an error that says so, or with
# exactly the right output. STRESS=1 fails each of them, else only every so-manieth.
load ../helpers

setup() {
	[ -z "${SAN:-}" ] || skip "a preloaded library and the address sanitizer exclude each other"
}

setup_file() {
	export DIR=$(mktemp -d)
	cc -O1 -shared -fPIC -o "$DIR/shim.so" "$ROOT/tests/programs/failing_malloc.c"
	cc -O1 -o "$DIR/each" "$ROOT/tests/programs/fail_each.c"
	printf 'provider small { probe a(int n, char *s); probe b(); };\n' >"$DIR/small.d"
}

teardown_file() {
	rm -rf "$DIR"
}

# Fail each N-th allocation of a command.
each() {
	local step=$1
	shift
	[ -z "${STRESS:-}" ] || step=1
	run timeout 500 "$DIR/each" "$DIR/shim.so" "$step" "$NOPAL" "$@"
	echo "$output"
	[ "$status" = 0 ]
	[[ $output == *", 0 wrong" ]]
}

# bats test_tags=deep
@test "without memory list leaves out no line and no argument with status 0" {
	each 3 list "$TARGETS/tick"
	each 5 list -v "$TARGETS/tick"
	each 5 list --json "$TARGETS/tick"
	each 5 list "$TARGETS/ti*"
}

@test "without memory a dump is whole or an error" {
	script="usdt:$TARGETS/tick:tick:word { @[str(arg0)] = count(); printf(\"%d\\n\", arg1); }"
	each 5 --dump=tree -e "$script"
	each 9 --dump=program -e "$script"
}

@test "without memory provider says so and does not end with status 244" {
	cd "$DIR"
	each 3 provider -h -s small.d -o small.h
	# libelf 0.188 itself crashes in elf_newdata() when it gets none.
	NOPAL_FAIL_EXCEPT=libelf each 3 provider -G -s small.d -o small.o
}

# bats test_tags=deep
@test "without memory no half of a program is loaded and attached" {
	need_tracing
	each 9 --dump=bpf -e "usdt:$TARGETS/tick:tick:word { @[str(arg0)] = count(); }"
	each 13 -q -e 'BEGIN { printf("%d\n", 3); @a[1] = count(); exit(); }'
	each 13 -q -e "usdt:$TARGETS/tick:tick:word { printf(\"%s %d\\n\", str(arg0), arg1); }" \
		-c "$TARGETS/tick word 3"
}

# bats test_tags=deep
@test "without memory the event buffer was said to be malformed" {
	for n in $(seq 120); do
		NOPAL_FAIL_PROGRAM=nopal NOPAL_FAIL_AT=$n LD_PRELOAD=$DIR/shim.so timeout 10 "$NOPAL" -q --engine=interp \
			-e 'BEGIN { @a[1] = count(); print(@a); exit(); }' >>"$DIR/said" 2>&1 || true
	done
	grep -q 'cannot attach the script: Cannot allocate memory' "$DIR/said"
	! grep malformed "$DIR/said"
}

@test "without memory a small file was said to be larger than 64 MiB" {
	for n in $(seq 20); do
		NOPAL_FAIL_PROGRAM=nopal NOPAL_FAIL_AT=$n LD_PRELOAD=$DIR/shim.so timeout 10 "$NOPAL" provider -h \
			-s "$DIR/small.d" -o "$DIR/small.h" >>"$DIR/read" 2>&1 || true
	done
	grep -q "cannot read '.*small.d': Cannot allocate memory" "$DIR/read"
	! grep 'larger than' "$DIR/read"
}

# bats test_tags=deep
@test "without memory count, hist and doctor fail with a word of it" {
	need_tracing
	each 17 count "usdt:$TARGETS/tick:tick:word" -c "$TARGETS/tick word 3"
	each 17 hist "usdt:$TARGETS/tick:tick:word" arg1 -c "$TARGETS/tick word 3"
	each 17 doctor
}

# bats test_tags=deep
@test "without memory fmt, check and flame ended with status 1 and no word of it" {
	cd "$BATS_TEST_TMPDIR"
	printf 'BEGIN { printf("%%d\\n", 1) } // one\n' >small.bt
	printf 'a;b;c 3\na;d 2\n' >small.folded
	each 1 fmt small.bt
	each 2 check small.bt
	each 1 flame -o /dev/null small.folded
}

@test "provider on a read-only file system does not say that there is no such file" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	mkdir "$DIR/ro"
	unshare -m sh -c 'mount -t tmpfs -o ro none "$1/ro" && exec "$2" provider -h -s "$1/small.d" -o "$1/ro/x.h"' \
		- "$DIR" "$NOPAL" >"$DIR/said" 2>&1 && return 1
	cat "$DIR/said"
	grep -q 'Read-only file system' "$DIR/said"
}
