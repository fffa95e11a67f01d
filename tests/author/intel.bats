# Programs that the compiler wrote in Intel syntax (-masm=intel): their notes say the same as those in AT&T syntax.
load ../helpers

setup() {
	case $(uname -m) in x86_64) ;; *) skip "needs x86-64" ;; esac
	cd "$BATS_TEST_TMPDIR"
}

# headers: the folders of Nopal's header and, where it is installed, of SystemTap's.
headers() {
	echo "$ROOT/include"
	[ ! -e "/usr/include/$(gcc -dumpmachine)/sys/sdt.h" ] || echo "/usr/include/$(gcc -dumpmachine)"
}

# places FILE: how each argument is read, without the words of the note.
places() {
	"$NOPAL" list --json "./$1" | jq -c '[.name, .location, (.arguments | map(del(.raw)))]'
}

@test "Intel syntax: a constant was read as an address, and what is in memory not at all" {
	need_tracing
	local script='usdt:./PROG:intel:many { printf("%d %d %d %d %d %d %d %d %d %d %s %d\n", arg0, arg1, arg2, arg3, arg4, arg5, arg6, arg7, arg8, arg9, str(arg10), arg11) }
		usdt:./PROG:intel:fields { printf("%d %d %d %d %d %d\n", arg0, arg1, arg2, arg3, arg4, arg5) }
		usdt:./PROG:intel:words { printf("%s\n", str(arg0)) }
		usdt:./PROG:intel:locals { printf("%d %d %d\n", arg0, arg1, arg2) }
		usdt:./PROG:intel:constants { printf("%d %d %d %d\n", arg0, arg1, arg2, arg3) }'
	local wanted='99 1 101 -3 3 -4 -101 201 7 8 text -1
1 -2 11 3 -3 1073741824
odd
2 -9 -1
120 2147483648 4000000000 2147483647
99 2 102 -6 3 -4 102 202 8 8 text -1
1 -2 12 3 -3 1073741824
even
4 -8 -2
120 2147483648 4000000000 2147483647'
	local cc header level
	for cc in gcc clang; do
		command -v $cc >/dev/null || continue
		for header in $(headers); do
			for level in '-O0' '-O2' '-Os' '-O2 -fno-pie -no-pie'; do
				$cc -masm=intel $level -isystem "$header" -o prog "$ROOT/tests/author/intel.c"
				readelf -n prog | grep -q '4@99 '
				run timeout 30 "$NOPAL" -q -e "${script//PROG/prog}" -c ./prog
				echo "$cc $level $header: $output"
				[ "$output" = "$wanted" ]
			done
		done
	done
}

@test "Intel and AT&T syntax of one program name the same places" {
	local cc header level n=0
	for cc in gcc clang; do
		command -v $cc >/dev/null || continue
		for header in $(headers); do
			for level in -O0 -O1 -O2 -Os -O3 '-O2 -fno-pie -no-pie' '-O2 -fPIC' '-O2 -mcmodel=large' '-O2 -march=x86-64-v3' '-O2 -fno-omit-frame-pointer'; do
				$cc -w -masm=intel $level -isystem "$header" -o intel "$ROOT/tests/author/intel.c"
				$cc -w -masm=att $level -isystem "$header" -o att "$ROOT/tests/author/intel.c"
				places intel >intel.json
				places att >att.json
				diff intel.json att.json
				[ "$(wc -l <intel.json)" -ge 6 ]
				n=$((n + 1))
			done
		done
	done
	[ $n -ge 10 ]
}

@test "Intel and AT&T syntax of one program name the same places, in 32 bits" {
	local cc level
	for cc in gcc clang; do
		command -v $cc >/dev/null || continue
		for level in -O1 -O2 -Os '-O2 -fPIE'; do
			for syntax in intel att; do
				$cc -w -m32 -masm=$syntax $level -ffreestanding -isystem "$ROOT/include" -c -o $syntax.o "$ROOT/tests/author/intel.c"
				ld -m elf_i386 -e main --unresolved-symbols=ignore-all -o $syntax $syntax.o
				places $syntax >$syntax.json
			done
			diff intel.json att.json
			[ "$(wc -l <intel.json)" -ge 6 ]
		done
	done
}
