# Shared by the tests that look for wrong uses of memory in run-time probes.
MEMCHECK='valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite
	--fair-sched=yes --smc-check=all --freelist-vol=1000000'

# Compile a program together with the library: compile SOURCE OUT [FLAGS...]
compile() {
	local source=$1 out=$2
	shift 2
	[[ $source != */unit/* ]] || set -- "$@" "$ROOT"/tests/help/{runtime,spy}.c
	# shellcheck disable=SC2086
	cc -O1 -g -std=gnu11 -D_GNU_SOURCE -I"$ROOT/src" -I"$ROOT/include" -I"$ROOT/tests" "$@" -o "$out" "$source" \
		"$ROOT"/src/runtime/*.c "$ROOT"/src/base/{buf,str,utf8}.c -lpthread -lm $LIBS
}
