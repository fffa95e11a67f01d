# The provider compiler as build systems use it: real files, real compilers and linkers.

setup_file() {
	export DTRACE="$BATS_FILE_TMPDIR/dtrace"
	ln -s "$NOPAL" "$DTRACE"
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	cases="$ROOT/tests/providers"
	unset CC CFLAGS CPP
}

# "provider name number-of-arguments" of each probe of a header, sorted.
declared() {
	sed -nE 's/.*DTRACE_PROBE([0-9]*)\(([^,]*), ([^,)]*).*/\2 \3 \1/p' "$@" | sed 's/ $/ 0/' | sort
}

# The same, from the notes of a program.
noted() {
	readelf -n "$1" | awk '
		/Provider:/ { p = $2 } /^ *Name:/ { n = $2 }
		/^ *Arguments:/ { print p, n, NF - 1 }' | sort -u
}

semaphores() {
	readelf -n "$1" | sed -n 's/.*Semaphore: //p' | sort
}

needs() {
	command -v "$1" >/dev/null || skip "no $1 here"
}

# make_case FILE: header and object from tests/providers/FILE, and a program that uses them.
make_case() {
	local flags=
	case $1 in database.d | gems.d) flags="-C -I$cases" ;; esac
	echo "# $1"
	"$DTRACE" $flags -h -s "$cases/$1" -o probes.h &&
		"$DTRACE" $flags -G -s "$cases/$1" -o probes.o &&
		awk -v header=probes.h -f "$cases/caller.awk" probes.h >caller.c
}

# The notes of ./caller are the probes of the header, each with a semaphore of its own.
check_caller() {
	[ -n "$(declared probes.h)" ] && ./caller &&
		diff <(declared probes.h) <(noted caller) &&
		[ "$(semaphores caller | sort -u | wc -l)" = "$(declared probes.h | wc -l)" ] &&
		! semaphores caller | grep -q '0x0000000000000000'
}

# build COMPILER FLAGS…: the program, as strict as compilers can be.
build() {
	echo "# $*"
	"$@" -Wall -Wextra -Werror -O2 -o caller caller.c probes.o && check_caller
}

build_cxx() {
	cp caller.c caller.cc
	echo "# $*"
	"$@" -Wall -Wextra -Werror -O2 -o caller caller.cc probes.o && check_caller
}

each_case() {
	local file
	for file in "$cases"/*.d; do
		make_case "$(basename "$file")"
		"$@"
	done
}


# bats test_tags=deep
@test "provider files of all kinds: our header, gcc" {
	each_case build gcc -I"$ROOT/include"
}

# bats test_tags=deep
@test "provider files of all kinds: our header, g++" {
	needs g++
	each_case build_cxx g++ -I"$ROOT/include"
}

# bats test_tags=deep
@test "provider files of all kinds: our header, clang" {
	needs clang
	each_case build clang -I"$ROOT/include"
}

# bats test_tags=deep
@test "provider files of all kinds: our header, clang++, optimised at link time" {
	needs clang++
	needs ld.lld
	each_case build_cxx clang++ -I"$ROOT/include" -flto -fuse-ld=lld
}

# bats test_tags=deep
@test "provider files of all kinds: our header, position-independent and unoptimised" {
	each_case build gcc -I"$ROOT/include" -fPIE -pie -O0
}

stap_header() {
	local dir
	dir=$(dirname "$(gcc -E -x c - <<<'#include <sys/sdt.h>' 2>/dev/null |
		sed -n 's/^# [0-9]* "\(.*sys\/sdt.h\)".*/\1/p' | head -1)")
	[ "$dir" != . ] || skip "no <sys/sdt.h> of SystemTap here: systemtap-sdt-dev"
}

# bats test_tags=deep
@test "provider files of all kinds: SystemTap's header, gcc" {
	stap_header
	each_case build gcc
}

# bats test_tags=deep
@test "provider files of all kinds: SystemTap's header, g++" {
	stap_header
	needs g++
	each_case build_cxx g++
}

# bats test_tags=deep
@test "provider files of all kinds: SystemTap's header, clang" {
	stap_header
	needs clang
	each_case build clang
}

# What a build sees of a header and of an object, whoever made them.
macros() { cpp -P -dM "$@" | sed -nE 's/^#define ([A-Z0-9_]+\([^)]*\)) .*DTRACE_PROBE.*/\1/p; s/^#define ([A-Z0-9_]+_ENABLED\(\)) .*/\1/p' | sed 's/ //g' | sort; }
defined() { nm "$1" | sed -n 's/.* [A-Z] \(.*_semaphore\)$/\1/p' | sort; }

# bats test_tags=deep
@test "the same macros and semaphores as SystemTap's dtrace" {
	[ -x /usr/bin/dtrace ] && head -1 /usr/bin/dtrace | grep -q python ||
		skip "no dtrace of SystemTap here: systemtap-sdt-dev"
	# Without it, comments make that dtrace write empty headers, and it does not say so.
	/usr/bin/python3 -c 'import pyparsing' || skip "SystemTap's dtrace needs python3-pyparsing"
	same=0
	for file in "$cases"/*.d; do
		/usr/bin/dtrace -h -s "$file" -o theirs.h >warnings 2>&1 || continue
		grep -q Warning warnings && continue # it gave up, and guesses
		make_case "$(basename "$file")"
		case $file in */database.d) /usr/bin/dtrace -C -h -s "$file" -o theirs.h ;; esac
		/usr/bin/dtrace -G -s "$file" -o theirs.o
		diff <(macros theirs.h) <(macros -I"$ROOT/include" probes.h)
		diff <(defined theirs.o) <(defined probes.o)
		same=$((same + 1))
	done
	echo "# the same: $same"
	[ $same -ge 4 ]
}

# bats test_tags=deep
@test "header and object with C dialects that allow nothing" {
	make_case corners.d
	for std in c99 c11 c17 gnu11 gnu2x; do
		gcc -std=$std -Wall -Wextra -Wpedantic -Wmissing-prototypes -Wredundant-decls \
			-Wnested-externs -Werror -isystem "$ROOT/include" -o caller caller.c probes.o
		./caller
	done
	for std in c++98 c++11 c++17 c++20; do
		build_cxx g++ -std=$std -Wpedantic -Wno-long-long -isystem "$ROOT/include"
	done
}

# bats test_tags=deep
@test "every wrong file: located message, exit code 1, nothing written" {
	mkdir wrong
	"$BUILD/help/split_cases" "$ROOT/tests/cases/provider.txt" wrong
	for case in wrong/*; do
		cp "$case/file" p.d
		for mode in -h -G; do
			status=0
			"$DTRACE" $mode -s p.d >out 2>&1 || status=$?
			[ $status = 1 ] || { echo "$(cat "$case/name"): exit code $status"; return 1; }
			diff "$case/says" out
			[ ! -e p.h ]
			[ ! -e p.o ]
		done
	done
	[ -z "$(ls -A | grep -vxE 'wrong|p\.d|out')" ]
}

@test "a failing run leaves the old output as it was" {
	echo 'provider p { probe a(int) probe' >p.d
	echo precious >p.h
	run "$DTRACE" -h -s p.d
	[ "$status" = 1 ]
	[ "$(cat p.h)" = precious ]
	# One of two outputs is as good as none.
	echo 'provider p { probe a(int); };' >p.d
	run "$DTRACE" -h -G -s p.d --target=nowhere
	[ "$status" = 1 ]
	[[ "$output" == *"unknown target 'nowhere'"* ]]
	[ "$(cat p.h)" = precious ]
}

# SystemTap's headers have no types: what programs pass to theirs compiled, and failed with ours.
# bats test_tags=deep
@test "a header of dtrace takes every call that SystemTap's takes" {
	cat >p.d <<-'END'
		typedef const static int odd;
		struct node { int n; };
		provider p {
			probe all(uintptr_t address, void *any, int number, string text, double ratio, struct node *node, odd o);
			probe whole(struct node node, char **list);
		};
		#pragma D attributes Evolving/Evolving/Common provider p provider
		#pragma D attributes provider
		#pragma D attributes
		#pragma D attributes Somehow/New/Thing provider p everything
	END
	"$DTRACE" -h -s p.d -o p.h
	"$DTRACE" -G -s p.d -o p.o
	"$DTRACE" -h --check -s p.d -o checked.h
	cat >f.c <<-'END'
		#include HEADER
		struct node { int n; };
		struct other { char text[40]; };
		int f(struct other *o, unsigned char *u, void (*call)(void), int n, float x, const struct node *c);
		int f(struct other *o, unsigned char *u, void (*call)(void), int n, float x, const struct node *c)
		{
			struct node node = {1};
			P_ALL(o, n, o, u, o, u, call);
			P_ALL(call, call, call, 5, n, 0, x);
			P_ALL(c, c, x, c, u, c, 0);
			P_ALL(n, u, n, "text", x, &node, n);
			P_WHOLE(node, u);
			P_WHOLE(*o, c);
			P_WHOLE(n, 0);
			return P_ALL_ENABLED() ? 1 : 0;
		}
	END
	for header in "$ROOT/include" $(dirname "$(dirname "$(find /usr/include -path '*sys/sdt.h' | head -1)")"); do
		for cc in gcc clang g++ clang++; do
			command -v $cc >/dev/null || continue
			echo "# $cc $header"
			$cc -x "$([[ $cc == *++ ]] && echo c++ || echo c)" -Wall -Wextra -Werror -DHEADER='"p.h"' -I"$header" -c f.c
		done
	done
	for std in c99 c11 gnu17; do
		for cc in gcc clang; do
			command -v $cc >/dev/null || continue
			$cc -std=$std -Wall -Wextra -pedantic -Wconversion -Werror -DHEADER='"checked.h"' -I"$ROOT/include" -c f.c 2>errors
			[ "$(grep -c 'warning:.*\(integer\|pointer\)' errors)" -ge 8 ]
		done
	done
	sed '0,/^int f(/s/^int f(/enum class kind { one }; template <class T> T g(T t) { P_ALL(kind::one, t, kind::one, t, t, t, t); return t; }\n&/
		s/return P_/g(n); P_ALL(kind::one, kind::one, kind::one, nullptr, true, nullptr, nullptr); &/' f.c >f.cc
	for name in p.h checked.h; do
		for cc in g++ clang++; do
			command -v $cc >/dev/null || continue
			$cc -std=c++17 -Wall -Wextra -Werror -DHEADER="\"$name\"" -I"$ROOT/include" -c f.cc
		done
	done
}

# bats test_tags=deep
@test "the compiler warns of arguments of other types where it is asked to, and refuses them where it is told to" {
	echo 'provider p { probe a(const char *name, int n); };' >p.d
	"$DTRACE" -h -s p.d
	"$NOPAL" provider -h -s p.d -o q.h
	for call in 'P_A(1, 2)' 'P_A("x", "y")' 'P_A((int *)0, 2)'; do
		echo "#include HEADER
			void f(void); void f(void) { $call; }" >f.c
		gcc -Wall -Werror -DHEADER='"p.h"' -I"$ROOT/include" -c f.c 2>errors
		[ ! -s errors ]
		gcc -Wall -Werror -DHEADER='"p.h"' -DNOPAL_PROVIDER_CHECKED -I"$ROOT/include" -c f.c 2>errors
		grep -q 'warning: passing argument' errors
		gcc -Wall -Werror -DHEADER='"q.h"' -I"$ROOT/include" -c f.c 2>errors
		grep -q 'warning: passing argument' errors
		gcc -Wall -Werror -DHEADER='"q.h"' -DNOPAL_PROVIDER_UNCHECKED -I"$ROOT/include" -c f.c 2>errors
		[ ! -s errors ]
		! gcc -Wall -Werror -DHEADER='"p.h"' -DNOPAL_PROVIDER_STRICT -I"$ROOT/include" -c f.c || false
		! g++ -DHEADER='"p.h"' -DNOPAL_PROVIDER_STRICT -I"$ROOT/include" -c -x c++ f.c || false
	done
	echo '#include "p.h"
		void f(void); void f(void) { P_A((char *)"x", 2); P_A(0, (short)2); }' >f.c
	gcc -Wall -Wextra -Werror -DNOPAL_PROVIDER_CHECKED -I"$ROOT/include" -c f.c 2>errors
	gcc -Wall -Wextra -Werror -DNOPAL_PROVIDER_STRICT -I"$ROOT/include" -c f.c 2>errors
	[ ! -s errors ]
}

@test "sys/sdt.h before the header: no semaphores, ENABLED() is 1, no object is needed" {
	echo 'provider p { probe a(int n); };' >p.d
	"$DTRACE" -h -s p.d
	echo '#include <sys/sdt.h>
		#include "p.h"
		int main(void) { P_A(1); return !P_A_ENABLED(); }' >f.c
	gcc -Wall -Werror -I"$ROOT/include" -o f f.c
	./f
	semaphores f | grep -q 0x0000000000000000
}

@test "builds that put const before char * and void * in the header: memcached, Perl" {
	echo 'provider p { probe a(const char *name, char *text, void *v, const void *cv, char **list); };' >p.d
	"$DTRACE" -h -s p.d -o p.h.in
	sed 's,void \*,const void \*,;s,char \*,const char \*,g' p.h.in | tr '\t' ' ' >p.h
	printf '%s\n' '#include "p.h"' 'int main(int argc, char **argv)' \
		'{ const char *name = *argv; const void *v = name; P_A(name, *argv, *argv, v, argv); return argc > 9; }' >p.c
	"$DTRACE" -G -s p.d -o p.o
	gcc -Wall -Wextra -pedantic -Werror -I"$ROOT/include" -I. p.c p.o -o p
	run "$NOPAL" list -v p
	[[ "$output" == *"p:a(const char *name, char *text, void *v, const void *cv, char **list)"* ]]
}

@test "a loop that waits for somebody to listen sees the semaphore change" {
	echo 'provider p { probe a(); };' >p.d
	"$DTRACE" -h -G -s p.d
	echo '#include "p.h"
		void wait(void); void wait(void) { while (!P_A_ENABLED()); }' >f.c
	gcc -O2 -I"$ROOT/include" -c f.c
	# The loop must load: a jump to itself without a load is endless.
	objdump -d f.o | grep -qE 'movzwl|cmpw'
}

@test "options that build systems give" {
	echo 'provider p { probe a(int n); };' >p.d
	"$DTRACE" -xnolibs -h -s p.d -o 1.h
	"$DTRACE" -x nolibs -64 -fPIC -h -sp.d -o2.h
	"$DTRACE" -Z -q -fpic --no-pyparsing -C -DX -D Y=1 -I. -I . -h -s p.d -o 3.h
	cmp <(tail -n +4 1.h) <(tail -n +4 2.h)
	touch a.o b.o
	"$DTRACE" -G -s p.d a.o b.o -o 4.o
	"$DTRACE" -h -G -s p.d
	cmp 4.o p.o
	[ ! -s a.o ]
	run "$DTRACE" --types -h -s p.d
	[ "$status" = 0 ]
	[[ $output == *"--types"* ]]
	run "$DTRACE" -V
	[ "$status" = 0 ]
	[[ $output == *Nopal* ]]
	"$DTRACE" --version
	"$DTRACE" --help | grep -q usage
	"$DTRACE" --check -h -s p.d -o 1.h
	"$NOPAL" provider -h -s p.d -o 5.h
	cmp <(tail -n +4 1.h) <(tail -n +4 5.h)
}

@test "command lines that make no sense" {
	echo 'provider p { probe a(int n); };' >p.d
	for line in "" "-h" "-G" "-s p.d" "-h -s" "-h -s p.d -o" "-h p.d" "-Y -h -s p.d" \
		"-h -G -s p.d -o x" "-h -s none.d" "-h -s ." "-h -s p.d -o none/p.h" \
		"-G -s p.d --target=vax" "-G -s p.d --target aarch64-linux-gnu -m32"; do
		run "$DTRACE" $line
		echo "$line: $status: $output"
		[ "$status" = 1 ]
		[[ $output == *error:* ]]
	done
	[ "$(ls)" = p.d ]
}

@test "several provider files in one object and one header" {
	echo 'provider p { probe a(int n); };' >p.d
	echo 'provider q { probe a(char *s); };' >q.d
	"$DTRACE" -h -s p.d -s q.d -o both.h
	"$DTRACE" -G -s p.d -s q.d -o both.o
	nm both.o | grep -q ' p_a_semaphore'
	nm both.o | grep -q ' q_a_semaphore'
	[ "$(declared both.h)" = "$(printf 'p a 1\nq a 1')" ]
}

@test "the preprocessor: CPP, -D, -I, positions in the user's file, -k" {
	mkdir inc
	echo '#define NUMBER int' >inc/types.h
	printf '#include "types.h"\n#ifdef WANTED\nprovider p { probe a(NUMBER n);\n\tprobe b(NUMBER NUMBER n); };\n#endif\n' >p.d
	run "$DTRACE" -C -Iinc -DWANTED -h -s p.d
	[ "$status" = 1 ]
	[[ $output == "p.d:4:14: error: too many 'int'"* ]]
	printf '#include "types.h"\nprovider p { probe a(NUMBER n); };\n' >p.d
	CPP="gcc -E" "$DTRACE" -C -I inc -k -h -s p.d
	grep -q 'p:a(int n)' p.h
	[ -s p.cpp.d ]
	run env CPP=/no/such/program "$DTRACE" -C -h -s p.d
	[ "$status" = 1 ]
	run env CPP=false "$DTRACE" -C -h -s p.d
	[ "$status" = 1 ]
	[[ $output == *"'false' failed"* ]]
	run env CPP="cpp '" "$DTRACE" -C -h -s p.d
	[ "$status" = 1 ]
}

@test "input from a pipe, output to a device and through a link" {
	echo 'provider p { probe a(int n); };' | "$DTRACE" -h -s - -o p.h
	grep -q P_A p.h
	echo 'provider p { probe a(int n); };' >p.d
	"$DTRACE" -G -s p.d -o /dev/null
	[ -c /dev/null ]
	"$DTRACE" -h -s p.d -o /dev/stdout | grep -q P_A
	echo old >real.h
	ln -s real.h link.h
	"$DTRACE" -h -s p.d -o link.h
	[ -L link.h ]
	grep -q P_A real.h
	(umask 027 && "$DTRACE" -h -s p.d -o mode.h)
	[ "$(stat -c %a mode.h)" = 640 ]
}

@test "configure scripts: a D program without providers gives an empty object" {
	echo 'BEGIN{}' >conftest.d
	"$DTRACE" -G -s conftest.d -o conftest.o
	echo 'int main(void) { return 0; }' >main.c
	gcc -o main main.c conftest.o
}

@test "generators without probes: an empty file gives an empty header and object, and a warning" {
	: >none.d
	printf '#include <limits.h>\n\n' >blank.d
	echo '/* to do */' >todo.d
	for file in none blank; do
		run "$DTRACE" -h -s $file.d -o $file.h
		[ "$status" = 0 ]
		[ "$output" = "$file.d: warning: the file is empty: there are no probes" ]
		"$DTRACE" -q -G -s $file.d -o $file.o
	done
	printf '#include "none.h"\n#include "blank.h"\nint main(void) { return 0; }\n' >main.c
	gcc -I"$ROOT/include" -o main main.c none.o blank.o
	run "$DTRACE" -h -s todo.d
	[ "$status" = 1 ] && [[ "$output" == *"there is no provider in this file"* ]]
}

# bats test_tags=deep
@test "a hundred builds at once agree" {
	for i in $(seq 200); do echo "probe p$i(const char *name, int n);"; done >list
	{ echo 'provider many {'; cat list; echo '};'; } >many.d
	"$DTRACE" -h -s many.d -o want.h
	"$DTRACE" -G -s many.d -o want.o
	cp want.h many.h
	for i in $(seq 50); do
		"$DTRACE" -h -s many.d -o many.h &
		"$DTRACE" -G -s many.d -o many.o &
		cmp <(tail -n +4 many.h) <(tail -n +4 want.h) # never half a file
	done
	wait
	cmp <(tail -n +4 many.h) <(tail -n +4 want.h)
	cmp many.o want.o
	[ "$(ls | grep -c "many[.]")" = 3 ]
}

# link_for TRIPLE EMULATION LINKER…: an object that refers to the semaphores, linked with ours.
# bats test_tags=deep
@test "objects for other machines are linked by their linkers" {
	echo 'provider p { probe a(int); probe b(); };' >p.d
	done=0
	while read -r triple target; do
		command -v "$triple-gcc" >/dev/null && command -v "$triple-ld" >/dev/null || continue
		echo 'extern unsigned short p_a_semaphore, p_b_semaphore;
			int sum(void) { return p_a_semaphore + p_b_semaphore; }' >use.c
		"$triple-gcc" -O2 -fPIC -c use.c
		CC=$triple-gcc "$DTRACE" -G -s p.d -o p.o
		"$DTRACE" -G -s p.d --target="$target" -o by-name.o
		cmp p.o by-name.o
		"$triple-gcc" -c use.c -o ref.o
		# Header fields that linkers compare are those of the compiler's own objects.
		for field in Class Data Machine; do
			[ "$("$triple-readelf" -h p.o | grep " $field:")" = "$("$triple-readelf" -h ref.o | grep " $field:")" ]
		done
		"$triple-ld" -shared --fatal-warnings -o out.so use.o p.o
		"$triple-ld" -r -o out.o use.o p.o
		"$triple-readelf" -hW out.so | grep -q DYN
		if command -v ld.lld >/dev/null && [ "${triple%%-*}" != s390x ]; then
			ld.lld -shared --fatal-warnings -o lld.so use.o p.o
		fi
		echo "# $triple: linked"
		done=$((done + 1))
	done <<-'END'
		aarch64-linux-gnu aarch64
		arm-linux-gnueabihf armv7l-unknown-linux-gnueabihf
		i686-linux-gnu i386
		riscv64-linux-gnu riscv64
		powerpc64le-linux-gnu ppc64le
		s390x-linux-gnu s390x
		mips64el-linux-gnuabi64 mips64el
		mips64-linux-gnuabi64 mips64
		x86_64-linux-gnu x86_64
	END
	[ $done -gt 1 ] || skip "no cross compilers here: gcc-aarch64-linux-gnu and the like"
}

# bats test_tags=deep
@test "the machine comes from CC, CFLAGS and options" {
	echo 'provider p { probe a(int); };' >p.d
	class() { readelf -h p.o | sed -n 's/ *Class: *//p'; }
	CC="gcc -m32" "$DTRACE" -G -s p.d
	[ "$(class)" = ELF32 ]
	CFLAGS="-O2 -m32 -g" "$DTRACE" -G -s p.d
	[ "$(class)" = ELF32 ]
	CFLAGS="-m32" "$DTRACE" -64 -G -s p.d # -64 is a habit, CFLAGS is what is built
	[ "$(class)" = ELF32 ]
	CFLAGS="-m32" "$DTRACE" -m64 -G -s p.d
	[ "$(class)" = ELF64 ]
	CC="clang --target=armv7-linux-gnueabihf" "$DTRACE" -G -s p.d
	[ "$(class)" = ELF32 ]
	CC=clang CFLAGS="-O2 -target riscv64-linux-gnu" "$DTRACE" -G -s p.d
	readelf -h p.o | grep -q RISC-V
	CC="no-such-compiler-at-all" run "$DTRACE" -G -s p.d
	[ "$status" = 1 ]
	[[ $output == *"cannot run 'no-such-compiler-at-all'"* ]]
	printf '#!/bin/sh\necho aarch64-linux-gnu\n' >mycc
	chmod +x mycc
	CC="./mycc --flag" "$DTRACE" -G -s p.d
	readelf -h p.o | grep -q AArch64
	cp mycc musl-gcc # what stands before -gcc is not always a machine
	CC=./musl-gcc "$DTRACE" -G -s p.d -o asked.o
	cmp p.o asked.o
}

@test "the object tells how the probes were declared, whatever links it" {
	echo 'provider p { probe word(const char *word, int (*f)(int), long); };' >p.d
	"$DTRACE" -h -G -s p.d
	echo '#include "p.h"
		int main(void) { P_WORD("x", 0, 1L); return P_WORD_ENABLED(); }' >f.c
	for linker in bfd gold lld; do
		command -v ld.$linker >/dev/null || continue
		gcc -O2 -ffunction-sections -fdata-sections -I"$ROOT/include" -fuse-ld=$linker \
			-Wl,--gc-sections -o f f.c p.o
		./f
		! semaphores f | grep -q '0x0000000000000000' || false
		objcopy -O binary --only-section=.note.nopal --set-section-flags .note.nopal=alloc f notes
		tr '\0' '|' <notes | grep -qaF $'p|word|\003\006\010word|const char *|\005\010f|int (*)(int)|\202\010|long|'
		done=1
	done
	[ "$done" = 1 ]
}

@test "a probe behind ENABLED() fires once a tracer has raised its semaphore" {
	[ "$(id -u)" = 0 ] && "$NOPAL" doctor >/dev/null 2>&1 || skip "not root, or no uprobes here"
	echo 'provider p { probe word(const char *word, int n); probe other(); };' >p.d
	"$DTRACE" -h -G -s p.d
	echo '#include "p.h"
		#include <unistd.h>
		int main(void)
		{
			for (int i = 0; i < 500; i++, usleep(10000))
				if (P_WORD_ENABLED())
					P_WORD(P_OTHER_ENABLED() ? "wrong" : "right", 42);
			return 0;
		}' >f.c
	gcc -Wall -Wextra -Werror -I"$ROOT/include" -o f f.c p.o
	run timeout 60 "$NOPAL" -e 'usdt:./f:p:word { printf("%s %d\n", str(arg0), arg1); exit(); }' -c ./f
	[[ $output == *"right 42"* ]]
}

# bats test_tags=deep
@test "plug-ins may use the semaphores of their program when it wants that" {
	echo 'provider p { probe a(); };' >p.d
	"$DTRACE" -h -s p.d
	"$DTRACE" -DSTAP_SDT_V2 -G -s p.d -o visible.o
	"$DTRACE" -G -s p.d -o hidden.o
	echo '#include "p.h"
		int plug(void); int plug(void) { P_A(); return P_A_ENABLED(); }' >plug.c
	echo 'int main(void) { return 0; }' >main.c
	gcc -shared -fPIC -I"$ROOT/include" -o plug.so plug.c
	gcc -rdynamic -o main main.c visible.o
	nm -D main | grep -q ' p_a_semaphore'
	gcc -rdynamic -o main main.c hidden.o
	! nm -D main | grep -q ' p_a_semaphore' || false
	# What is not there twice is the program's own affair: one object, one place.
	gcc -shared -fPIC -I"$ROOT/include" -Wl,-z,defs -o whole.so plug.c hidden.o
}

# bats test_tags=deep
@test "branch protection of the program survives the object" {
	echo 'provider p { probe a(int); };' >p.d
	"$DTRACE" -h -G -s p.d
	echo '#include "p.h"
		int f(void) { P_A(1); return 0; }' >f.c
	gcc -fcf-protection -fPIC -I"$ROOT/include" -c f.c
	ld -shared -o f.so f.o p.o
	readelf -n f.so | grep -q 'IBT, SHSTK'
}
