# What the header promises about the code it makes: no cost, right under every linker, errors to read.
load ../helpers

setup() {
	cd "$BATS_TEST_TMPDIR"
	include=-I$ROOT/include
}

# Those compilers of a list that are here.
installed() {
	for cc; do
		! command -v "$cc" >/dev/null || echo "$cc"
	done
}

# Compile text from stdin: compile COMPILER FLAGS... -o FILE
compile() {
	local cc=$1
	shift
	case $cc in *++) set -- -x c++ "$@" ;; *) set -- -x c "$@" ;; esac
	"$cc" "$include" "$@" -
}

# "provider:name location base semaphore" of each site, in order of the file.
sites() {
	readelf -n "$1" | awk '/Provider:/ { p = $2 } /Name:/ { n = $2 }
		/Location:/ { gsub(",", ""); print p ":" n, $2, $4, $6 }'
}

# Instructions of a function that are not padding, mnemonics only.
instructions() {
	objdump -d --no-show-raw-insn "$1" | awk -v f="<$2>:" '$2 == f { on = 1; next } /^$/ { on = 0 } on { print $2 }'
}

@test "arguments in registers cost nothing but the nop" {
	[ "$(uname -m)" = x86_64 ] || skip "looks at x86-64 code"
	for cc in $(installed gcc clang g++ clang++); do
		compile $cc -O2 -c -o zero.o <<-'END'
			#include <sys/sdt.h>
			#ifdef __cplusplus
			extern "C"
			#endif
			int f(int a, char *b, long c, short d, unsigned char e, unsigned long g)
			{
				DTRACE_PROBE8(p, n, a, b, c, d, e, g, 42, -1);
				return 0;
			}
		END
		run instructions zero.o f
		echo "$cc: $output"
		[ "$(tr '\n' ' ' <<<"$output")" = "nop cs xor ret " ]
	done
}

# gdb knows no %r8b, and then none of the arguments; SystemTap extends the sign of %eax, not of %al.
@test "a value of one byte has the register's 32-bit name" {
	[ "$(uname -m)" = x86_64 ] || skip "has x86-64 operands"
	for cc in $(installed gcc clang g++ clang++); do
		for opt in -O0 -O2; do
			compile $cc $opt -c -o byte.o <<-'END'
				#include <nopal/sdt.h>
				void f(char a, char b, char c, signed char d, unsigned char e, char g, char h, char i, short s)
				{
					NOPAL_PROBE(p, n, a, b, c, d, e, g, h, i, (signed char)(a + b), s);
				}
			END
			operands=$(readelf -n byte.o | grep -o '[-0-9]*@[^ ]*')
			echo "$cc $opt: $operands"
			[ "$(grep -cE '^-?1@%(e[a-ds][xip]|edi|ebp|r[0-9]+d)$' <<<"$operands")" -ge 9 ]
			[ "$(grep -cE '@%([a-d][lh]|..l|r[0-9]+[bl])$' <<<"$operands")" = 0 ]
			grep -qE -- '-2@%(..|r[0-9]+w)$' <<<"$operands"
		done
	done
}

# clang++ without optimization had them in registers: an instruction each, and nothing to read in the note.
# bats test_tags=deep
@test "constants are constants, optimized or not" {
	[ "$(uname -m)" = x86_64 ] || skip "has x86-64 operands"
	for cc in $(installed gcc clang g++ clang++); do
		for option in -O0 -O1 -O2; do
			compile $cc $option -c -o constant.o <<-'END'
				#include <sys/sdt.h>
				#include <usdt.h>
				enum color { RED, GREEN = 7 };
				void f(void)
				{
					DTRACE_PROBE5(p, stap, (char)1, -2, 3ul, GREEN, sizeof(int));
					NOPAL_PROBE(p, own, (char)1, -2, 3ul, GREEN, sizeof(int));
					USDT(p, usdt, (char)1, -2, 3ul, GREEN, sizeof(int));
				}
			END
			readelf -n constant.o | grep Arguments | tee constants
			[ "$(grep -cE 'Arguments: -1@\$1 -4@\$-2 8@\$3 -?4@\$7 8@\$4$' constants)" = 3 ]
		done
	done
}

@test "the site is a 1-byte nop and a 10-byte nop; NOPAL_SDT_SHORT_NOP: the 1-byte nop" {
	[ "$(uname -m)" = x86_64 ] || skip "looks at x86-64 code"
	for define in -DNONE -DNOPAL_SDT_SHORT_NOP; do
		compile gcc -O2 $define -c -o site.o <<-'END'
			#include <nopal/sdt.h>
			void f(void) { NOPAL_PROBE(p, n); }
		END
		bytes=$(objdump -s -j .text site.o | awk '/^ 0/ { print $2 $3 $4 $5 }' | head -1)
		case $define in
		-DNONE) [[ $bytes == 90662e0f1f840000000000c3* ]] ;;
		*) [[ $bytes == 90c3* ]] ;;
		esac
	done
}

@test "no relocation at load, nothing loaded" {
	compile gcc -O2 -fPIC -shared -o libp.so <<-'END'
		#include <nopal/sdt.h>
		int f(int a) { NOPAL_PROBE(p, n, a); return NOPAL_ENABLED(p, n); }
	END
	compile gcc -O2 -fPIC -shared -o libq.so <<<'int v; int f(int a) { return v + a; }'
	[ "$(readelf -rW libp.so | grep -c R_)" -le "$(readelf -rW libq.so | grep -c R_)" ]
	run readelf -SW libp.so
	[[ "$output" =~ \.note\.stapsdt\ +NOTE\ +0+\  ]]
	[[ "$output" =~ \.note\.nopal\ +NOTE\ +0+\  ]]
}

@test "no assembler mode, macro or label is left behind" {
	for cc in $(installed gcc clang); do
		compile $cc -O2 -o modes <<-'END'
			#include <sys/sdt.h>
			extern const char text[];
			int main(void)
			{
				__asm__(".pushsection .rodata\n.macro show x\n.asciz \"\\x\"\n.endm\n"
					"text: show <a!b>\n.popsection\n.purgem show\n");
				__asm__("990: nop\n");
				DTRACE_PROBE1(p, n, 5);
				__asm__(".pushsection .rodata\n.macro show x\n.asciz \"\\x\"\n.endm\n"
					"more: show <a!b>\n.popsection\n.purgem show\n"
					".pushsection .rodata\n.4byte 990b - 990b\n.popsection\n");
				return 0;
			}
		END
		[ "$(strings -a modes | grep -c '^<a!b>$')" = 2 ]
	done
}

# bats test_tags=deep
@test "assembler files" {
	[ "$(uname -m)" = x86_64 ] || skip "has x86-64 operands"
	cat >probes.S <<-'END'
		#define _SDT_HAS_SEMAPHORES 1
		#include <sys/sdt.h>
		.section .probes, "aw"
		p_none_semaphore: .zero 2
		p_three_semaphore: .zero 2
		.text
		.globl f
		f:	STAP_PROBE(p, none)
			DTRACE_PROBE3(p, three, -4@%eax, 8@-8(%rsp), $5)
			ret
		.section .note.GNU-stack, "", @progbits
	END
	for cc in $(installed gcc clang); do
		$cc "$include" -c probes.S -o probes.o
		$cc -o asm probes.o -x c - <<<'int main(void) { return 0; }'
		readelf -n asm | grep -q 'Arguments: -4@%eax 8@-8(%rsp) \$5'
		[ "$(sites asm | awk '{ print $4 }' | grep -vc '^0x0*$')" = 2 ]
	done
}

# bats test_tags=deep
@test "probes inside asm statements, in C and C++" {
	[ "$(uname -m)" = x86_64 ] || skip "has x86-64 operands"
	for cc in $(installed gcc g++ clang clang++); do
		compile $cc -O2 -o inside <<-'END'
			#include <sys/sdt.h>
			int main(int argc, char **argv)
			{
				__asm__ volatile("nop\n" STAP_PROBE_ASM(p, text, -4@%%edi 8@(%%rsi,%%rax)) "nop" : : "r"(argv));
				__asm__ volatile("nop\n" STAP_PROBE_ASM(p, operands, STAP_PROBE_ASM_TEMPLATE(2)) "nop %0"
					: : "r"(argc), STAP_PROBE_ASM_OPERANDS(2, argc, *argv));
				__asm__ volatile("nop\n" STAP_PROBE_ASM(p, basic, %edi) "nop");
				return 0;
			}
		END
		run readelf -n inside
		[[ "$output" == *"Arguments: -4@%edi 8@(%rsi,%rax)"* ]]
		[[ "$output" =~ "Arguments: -4@%"[a-z0-9]+" 8@%" ]]
		[[ "$output" == *"Arguments: %edi"* ]]
	done
}

# Inline functions and templates, used from two files, with implicit semaphores.
write_cxx() {
	cat >common.h <<-'END'
		#include <nopal/sdt.h>
		namespace deep { namespace er {
		struct counter {
			int value;
			int add(int n) { NOPAL_PROBE(cxx, member, this, n); return value += n; }
		};
		template <class T> __attribute__((noinline)) T twice(T x)
		{
			if (NOPAL_ENABLED(cxx, twice))
				NOPAL_PROBE(cxx, twice, x);
			return x + x;
		}
		inline __attribute__((noinline)) int plain(int n)
		{
			NOPAL_PROBE(cxx, plain, n);
			return n;
		}
		namespace { __attribute__((noinline)) int hidden(int n) { NOPAL_PROBE(cxx, hidden, n); return n + 1; } }
		}}
	END
	cat >one.cc <<-'END'
		#include "common.h"
		int two(int);
		int main()
		{
			deep::er::counter c = {1};
			return deep::er::twice(2) + (int)deep::er::twice(2.5) + deep::er::plain(3) + deep::er::hidden(1) +
			       c.add(4) + two(1) == 4 + 5 + 3 + 2 + 5 + 17 ? 0 : 1;
		}
	END
	cat >two.cc <<-'END'
		#include "common.h"
		int two(int n)
		{
			deep::er::counter c = {n};
			return deep::er::twice(n + 2) + deep::er::plain(3) + deep::er::hidden(n) + c.add(5) +
			       (NOPAL_ENABLED(cxx, twice) ? 100 : 0);
		}
	END
}

# bats test_tags=deep
@test "inline functions and templates of two files: as many notes as sites" {
	write_cxx
	for cc in $(installed g++ clang++); do
		for ld in bfd gold lld; do
			command -v ld.$ld >/dev/null || continue
			for flags in -O0 -O2 '-O2 -ffunction-sections -Wl,--gc-sections' '-O2 -flto'; do
				[ "$cc $ld ${flags#*-O2 }" != "clang++ bfd -flto" ] || continue
				[ "$cc $ld ${flags#*-O2 }" != "clang++ gold -flto" ] || continue
				[ "$cc $ld ${flags#*-O2 }" != "g++ lld -flto" ] || continue
				$cc $flags -fuse-ld=$ld "$include" -I. one.cc two.cc -o cxx
				./cxx
				sites cxx >found
				echo "$cc $ld $flags:" && cat found
				# every note is at a nop of the program, and no two are at the same
				objdump -d --no-show-raw-insn cxx | awk '$2 == "nop" { sub(":", "", $1); print $1 }' | sort >nops
				awk '{ sub("0x0*", "", $2); print $2 }' found | sort >locations
				[ -z "$(uniq -d locations)" ]
				[ -z "$(comm -13 nops locations)" ]
				[ "$(awk '{ print $1 }' found | sort -u | wc -l)" = 4 ]
				# one semaphore for the probe that is asked about, none for the others
				[ "$(awk '$1 == "cxx:twice" { print $4 }' found | sort -u | wc -l)" = 1 ]
				[ -z "$(awk '$1 == "cxx:twice" && $4 ~ /^0x0*$/' found)" ]
				[ -z "$(awk '$1 != "cxx:twice" && $4 !~ /^0x0*$/' found)" ]
				[ -z "$(awk '$3 ~ /^0x0*$/' found)" ]
			done
		done
	done
}

# bats test_tags=deep
@test "a semaphore of a shared object, and of the program that uses it, are two" {
	need_tracing
	cat >lib.c <<-'END'
		#include <nopal/sdt.h>
		int asked(void) { return NOPAL_ENABLED(so, probe); }
		void hit(void) { NOPAL_PROBE(so, probe, 1); }
	END
	cat >main.c <<-'END'
		#include <nopal/sdt.h>
		#include <stdio.h>
		int asked(void);
		void hit(void);
		int main(void)
		{
			hit();
			NOPAL_PROBE(so, probe, 2);
			printf("library %d program %d\n", asked(), NOPAL_ENABLED(so, probe));
			return 0;
		}
	END
	for cc in $(installed gcc clang); do
		$cc -O2 "$include" -fPIC -shared lib.c -o libso.so
		$cc -O2 "$include" main.c -o main -L. -lso -Wl,-rpath,"$PWD"
		[ "$(./main)" = "library 0 program 0" ]
		run_traced "usdt:$PWD/libso.so:so:probe { @ = sum(arg0) }" "$PWD/main"
		[[ "$output" == *"library 1 program 0"* && "$output" == *"@: 1"* ]]
		run_traced "usdt:$PWD/main:so:probe { @ = sum(arg0) }" "$PWD/main"
		[[ "$output" == *"library 0 program 1"* && "$output" == *"@: 2"* ]]
	done
}

# bats test_tags=deep
@test "functions that differ in nothing but their probes stay two under --icf" {
	for ld in gold lld; do
		command -v ld.$ld >/dev/null || continue
		compile gcc -O2 -ffunction-sections -fuse-ld=$ld -Wl,--icf=all -o icf <<-'END'
			#include <nopal/sdt.h>
			__attribute__((noinline)) int f(int a) { NOPAL_PROBE(p, one, a); return a + 5; }
			__attribute__((noinline)) int g(int a) { NOPAL_PROBE(p, two, a); return a + 5; }
			int main(int argc, char **argv) { return f(argc) + g(argc) + (argv == 0); }
		END
		[ "$(sites icf | awk '{ print $2 }' | sort -u | wc -l)" = 2 ]
	done
}

# The offset of .probes in the file, and its address, are at the start of a page.
has_own_page() {
	local at
	at=$(readelf -SW "$1" | awk '{ for (i = 1; i < NF; i++) if ($i == ".probes") print $(i + 2), $(i + 3) }')
	[ -n "$at" ]
	for number in $at; do
		((16#$number % $2 == 0)) || { echo "$1: .probes is at $at"; return 1; }
	done
}

# bats test_tags=deep
@test "semaphores shared a page of the file with data that lld makes read-only, and the kernel raised another word" {
	cat >own.c <<-'END'
		#include <nopal/sdt.h>
		const char *const table[] = {"a", "b"};
		int main(int argc, char **argv)
		{
			int i;
			for (i = 0; i < 50; i++)
				if (NOPAL_ENABLED(own, page))
					NOPAL_PROBE(own, page, i);
			return table[argc > 9] == argv[0];
		}
	END
	cat >stap.c <<-'END'
		#define _SDT_HAS_SEMAPHORES 1
		#include <sys/sdt.h>
		__extension__ unsigned short own_page_semaphore __attribute__((unused, section(".probes")));
		const char *const table[] = {"a", "b"};
		int main(int argc, char **argv)
		{
			int i;
			for (i = 0; i < 50; i++)
				if (own_page_semaphore)
					STAP_PROBE1(own, page, i);
			return table[argc > 9] == argv[0];
		}
	END
	echo 'provider own { probe page(int); };' >own.d
	"$BUILD/dtrace" -G -s own.d -o own.o
	sed '/__extension__/s/.*/extern unsigned short own_page_semaphore;/' stap.c >given.c
	for ld in bfd gold lld; do
		command -v ld.$ld >/dev/null || continue
		for cc in $(installed gcc clang g++ clang++); do
			case $cc in *++) language="-x c++" ;; *) language="-x c -std=c99" ;; esac
			for source in own stap; do
				# shellcheck disable=SC2086
				$cc -O2 "$include" -Wall -Wextra -pedantic -Werror -ffunction-sections -fdata-sections \
					-fuse-ld=$ld -Wl,--gc-sections $language $source.c -o $source
				has_own_page $source 4096
			done
		done
		gcc -O2 "$include" -DNOPAL_SDT_ANY_PAGE -fuse-ld=$ld given.c own.o -o given
		has_own_page given 4096
		[ "$(id -u)" = 0 ] || continue
		need_tracing
		for program in own stap given; do
			run_traced "usdt:./$program:own:page { @ = count(); }" "./$program"
			[[ "$output" == *"@: 50"* ]]
			! grep semaphores "$messages" || false
		done
	done
	if command -v aarch64-linux-gnu-gcc; then
		aarch64-linux-gnu-gcc -O2 "$include" own.c -o far
		has_own_page far 65536
	fi
}

# bats test_tags=deep
@test "the base stays under --gc-sections" {
	for ld in bfd gold lld; do
		command -v ld.$ld >/dev/null || continue
		for cc in $(installed gcc clang); do
			compile $cc -O2 -ffunction-sections -fuse-ld=$ld -Wl,--gc-sections -o gc <<-'END'
				#include <nopal/sdt.h>
				int main(int argc, char **argv) { NOPAL_PROBE(p, one, argc, argv); return 0; }
			END
			base=$(sites gc | awk '{ print $3 }')
			[[ $base != 0x0000000000000000 ]]
			readelf -SW gc | grep -F .stapsdt.base | grep -q "${base#0x}"
		done
	done
}

# Programs that libbpf's header takes, and SystemTap's where its compiler can: these were errors, or half a value.
# bats test_tags=deep
@test "structs, unions, complex and 16-byte values of any size are arguments" {
	cat >whole.c <<-'END'
		#define SDT_USE_VARIADIC
		#include <sys/sdt.h>
		#include <usdt.h>
		struct one { char c; };
		struct three { char text[3]; };
		struct __attribute__((packed)) five { char c; int i; };
		struct bits { unsigned a : 3; int b : 17; };
		struct twelve { int list[3]; };
		struct many { const char *name; const int n; struct three three; double d[3]; };
		struct large { char text[12345]; };
		union mix { int n; char text[20]; };
		struct twelve everywhere;
		struct large large;
		static struct twelve made(int n) { struct twelve t; t.list[0] = n; return t; }
		int f(struct one a, const struct three *b, volatile struct five *c, struct bits d, struct many *e,
		      const union mix g, __int128 h, long double i, float __complex__ j, long double __complex__ k)
		{
			NOPAL_PROBE(own, whole, a, *b, d, *e, g, h, i, j, k, large, everywhere, made(1));
			USDT(libbpf, whole, a, *b, d, *e, g, h, i, j, k, large, everywhere, made(1));
			USDT_WITH_SEMA(libbpf, sema, *b, 3);
			STAP_PROBEV(stap, whole, a, *b, d, *e, g, h, i, j, k, large, everywhere, made(1));
			DTRACE_PROBE5(stap, values, h + 1, i + 1, j + 1.0f, k + 1.0L, c->i);
			return USDT_IS_ACTIVE(libbpf, sema);
		}
	END
	for cc in $(installed gcc clang g++ clang++); do
		for option in -O0 -O2 '-O2 -fPIC' -Os; do
			compile $cc $option -Wall -Wextra -Werror -c -o whole.o <whole.c
			sizes=$(readelf -n whole.o | awk '/Arguments:/ { $1 = ""; gsub("@[^ ]*", "@"); print }' | sort -u)
			echo "$cc $option: $sizes"
			[ "$(grep -cx ' 1@ 3@ 4@ 40@ 20@ 16@ 16@ 8@ 32@ 12345@ 12@ 12@' <<<"$sizes")" = 1 ]
			[ "$(grep -cx ' 3@ -4@' <<<"$sizes")" = 1 ]
			[ "$(grep -cx ' 16@ 16@ 8@ 32@ -4@' <<<"$sizes")" = 1 ]
		done
	done
}

# bats test_tags=deep
@test "a struct, a union and a long double are traced by their address" {
	need_tracing
	cat >whole.c <<-'END'
		#include <sys/sdt.h>
		struct big { int a, b; long c, d; };
		union mix { int n; char text[20]; };
		static struct big everywhere = {1, 2, 3, 4};
		static struct big made(int n) { struct big s = {n, n + 1, n + 2, n + 3}; return s; }
		__attribute__((noinline)) void f(struct big b, union mix *m, long double r, int n)
		{
			DTRACE_PROBE4(whole, values, b, *m, n, r);
			DTRACE_PROBE3(whole, more, everywhere, made(n), n);
		}
		int main(void)
		{
			union mix m = {7};
			for (int i = 0; i < 3; i++)
				f(made(40 + i), &m, 1.0L, i);
			return 0;
		}
	END
	theirs=$(find /usr/include -path '*sys/sdt.h' | head -1)
	mkdir -p theirs/sys
	[ -z "$theirs" ] || cp "$(dirname "$theirs")"/sdt*.h theirs/sys/
	for cc in $(installed gcc clang g++ clang++); do
		for header in "$include" "${theirs:+-Itheirs}"; do
			$cc -x "$([[ $cc == *++ ]] && echo c++ || echo c)" -O2 -w ${header:-$include} whole.c -o whole
			run_traced 'usdt:./whole:whole:values { printf("%d %d %d %d %x\n", *(int32 *)arg0,
					*(int64 *)(arg0 + 16), *(int32 *)arg1, arg2, ((uint16 *)arg3)[4]); }
				usdt:./whole:whole:more { printf("%r %d\n", buf(arg0, 1), *(int64 *)(arg1 + 8)); }' ./whole
			echo "$cc $header: $output"
			[ "$(head -2 <<<"$output")" = $'40 43 7 0 3fff\n\\x01 2' ]
			[ "$(grep -c '^4[012] 4[345] 7 [012] 3fff$' <<<"$output")" = 3 ]
		done
	done
	"$NOPAL" list -v ./whole | grep -q 'arg0  24 bytes at '
}

# bats test_tags=deep
@test "an argument of 400,000 bytes is refused, with a message to read" {
	for cc in $(installed gcc clang g++ clang++); do
		std=c99 # glibc's _Static_assert of C99 has no text
		[[ $cc != *++ ]] || std=c++11
		for option in -O0 -std=$std; do
			run compile $cc $option -c -o refused.o <<-'END'
				#include <stdio.h>
				#include <sys/sdt.h>
				struct big { char text[400000]; };
				void f(struct big *b) { DTRACE_PROBE1(p, n, *b); }
			END
			[ "$status" != 0 ]
			[[ "$output" == *"a probe argument cannot have 400,000 bytes"* ]]
			[[ "$output" == *"pass its address, or its members"* ]]
		done
	done
	need_program g++
	run compile g++ -std=c++98 -c -o refused.o <<-'END'
		#include <sys/sdt.h>
		struct big { char text[400000]; };
		void f(struct big *b) { DTRACE_PROBE1(p, n, *b); }
	END
	[[ "$output" == *argument_is_too_big___pass_its_address* ]]
}

@test "a bit-field is an argument, or an error that says what to write" {
	text='#include <sys/sdt.h>
	struct bits { unsigned a : 3; int b : 5; };
	void f(struct bits *s) { DTRACE_PROBE2(p, n, s->a, s->b); }'
	for cc in $(installed clang g++ clang++); do
		compile $cc -c -o bits.o <<<"$text"
		readelf -n bits.o | grep -q 'Arguments: 4@.* -4@'
	done
	run compile gcc -c -o bits.o <<<"$text"
	[ "$status" != 0 ]
	[ "$(grep -c "error:.*argument cannot be a bit-field: write a + before it" <<<"$output")" = 2 ]
	[ "$(grep -c error: <<<"$output")" = 2 ]
	compile gcc -c -o bits.o <<<"${text/s->a, s->b/+s->a, +s->b}"
}

# bats test_tags=deep
@test "too many arguments, or no name: the error says so" {
	many=1,2,3,4,5,6,7,8,9,10,11,12,13
	for cc in $(installed gcc clang g++ clang++); do
		for call in NOPAL_PROBE STAP_PROBEV USDT USDT_WITH_SEMA; do
			text="#define SDT_USE_VARIADIC
			#include <sys/sdt.h>
			#include <usdt.h>
			int main(void) { $call(p, n, $many); return 0; }"
			run compile $cc -c -o many.o <<<"$text"
			[[ "$status" != 0 && "$output" == *error:*a_probe_has_at_most_12_arguments* ]]
			compile $cc -c -o many.o <<<"${text/,13/}"
		done
		run compile $cc -c -o few.o <<<'#include <nopal/sdt.h>
			int main(void) { NOPAL_PROBE(p); return 0; }'
		[[ "$status" != 0 && "$output" == *error:*a_probe_needs_a_provider_and_a_name* ]]
	done
}

# bats test_tags=deep
@test "names with quotes and dashes are taken as SystemTap's header takes them" {
	compile gcc -o names <<-'END'
		#include <sys/sdt.h>
		#define PROVIDER real
		int main(void) { DTRACE_PROBE1("quoted", with-dash, 1); DTRACE_PROBE(PROVIDER, two__words); return 0; }
	END
	run sites names
	[[ "$output" == *'"quoted":with-dash'* ]]
	[[ "$output" == *'real:two__words'* ]]
}

# bats test_tags=deep
@test "what glibc and libstdc++ do with the header" {
	for cc in $(installed gcc g++); do
		compile $cc -Wall -Werror -c -o glibc.o <<-'END'
			#define SDT_USE_VARIADIC 1
			#include <sys/sdt.h>
			#define STAP_PROBE0 STAP_PROBE
			#if !defined _SYS_SDT_H || _SDT_NOTE_TYPE < 3 || !defined STAP_PROBE2
			#error "not the names that others ask for"
			#endif
			#define LIBC_PROBE(name, n, ...) LIBC_PROBE_1(libc, name, n, ##__VA_ARGS__)
			#define LIBC_PROBE_1(lib, name, n, ...) STAP_PROBE##n(lib, name, ##__VA_ARGS__)
			#define PROBE2(name, arg1, arg2) STAP_PROBE2 (libstdcxx, name, arg1, arg2)
			void f(int a, void *b)
			{
				LIBC_PROBE(none, 0);
				LIBC_PROBE(two, 2, a, b);
				PROBE2(throw, b, b);
				STAP_PROBEV(v, zero);
				STAP_PROBEV(v, three, a, b, a);
			}
		END
		[ "$(sites glibc.o | wc -l)" = 5 ]
	done
}

# bats test_tags=deep
@test "a loop that waits for a semaphore ends" {
	need_tracing
	for cc in $(installed gcc clang); do
		compile $cc -O2 -o loop <<-'END'
			#include <usdt.h>
			#include <unistd.h>
			int main(void)
			{
				alarm(20);
				while (!USDT_IS_ACTIVE(wait, here))
					;
				USDT_WITH_SEMA(wait, here, 5);
				return 0;
			}
		END
		run_traced "usdt:$PWD/loop:wait:here { @ = sum(arg0) }" "$PWD/loop"
		[ "$status" = 0 ]
		[[ "$output" == *"@: 5"* ]]
	done
}

# bats test_tags=deep
@test "usdt.h: semaphores of their own, shared, and none" {
	for cc in $(installed gcc g++ clang clang++); do
		for std in 99 17; do
			case $cc in *++) dialect=c++${std/99/11} ;; *) dialect=c$std ;; esac
			compile $cc -std=$dialect -Wall -Wextra -pedantic -Werror -O2 -o usdt <<-'END'
				#include <usdt.h>
				USDT_DEFINE_SEMA(shared);
				static struct usdt_sema *address(void) { return &USDT_SEMA(shared); }
				int main(int argc, char **argv)
				{
					USDT(g, plain);
					USDT(g, args, argc, argv, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
					USDT_WITH_SEMA(g, own, argc);
					USDT_WITH_EXPLICIT_SEMA(shared, g, first);
					USDT_WITH_EXPLICIT_SEMA(shared, g, second, argc);
					return USDT_IS_ACTIVE(g, own) + USDT_SEMA_IS_ACTIVE(shared) + address()->active;
				}
			END
			./usdt
			run sites usdt
			[ "$(wc -l <<<"$output")" = 5 ]
			[ "$(awk '$1 == "g:first" || $1 == "g:second" { print $4 }' <<<"$output" | sort -u | wc -l)" = 1 ]
			[ "$(awk '{ print $4 }' <<<"$output" | sort -u | wc -l)" = 3 ]
		done
	done
}

# bats test_tags=deep
@test "every face, every dialect, not a warning, from a plain -I" {
	text='#include <nopal/sdt.h>
	#include <usdt.h>
	#include <sys/sdt.h>
	struct pair { int a, b; };
	enum color { RED, GREEN };
	USDT_DEFINE_SEMA(shared);
	int f(int a, char *b, double c, long double d, struct pair p, enum color e, float g, const volatile char h);
	int f(int a, char *b, double c, long double d, struct pair p, enum color e, float g, const volatile char h)
	{
		NOPAL_PROBE(own, none);
		NOPAL_PROBE(own, all, a, b, c, d, p, e, g, a > 3, b[0] % 3, "text", &p, &f);
		if (NOPAL_ENABLED(own, all))
			NOPAL_PROBE(own, all, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
		USDT(u, one, a, c);
		USDT_WITH_SEMA(u, two);
		if (USDT_IS_ACTIVE(u, two) || USDT_SEMA_IS_ACTIVE(shared))
			USDT_WITH_EXPLICIT_SEMA(shared, u, three, a);
		DTRACE_PROBE(d, four);
		STAP_PROBE3(d, five, h, b, c);
		return a;
	}'
	for cc in $(installed gcc clang); do
		for std in c89 gnu89 c99 gnu99 c11 gnu11 c17 gnu17 c2x gnu2x; do
			for opt in -O0 -O2; do
				compile $cc -std=$std $opt -Wall -Wextra -pedantic -Werror -c -o face.o <<<"$text"
			done
		done
	done
	for cc in $(installed g++ clang++); do
		for std in c++98 gnu++98 c++11 c++14 c++17 gnu++17 c++20 c++2b; do
			for opt in -O0 -O2; do
				compile $cc -std=$std $opt -Wall -Wextra -pedantic -Werror \
					-c -o face.o <<<"${text//volatile /}"
			done
		done
	done
}

# bats test_tags=deep
@test "runtime.h: every dialect, not a warning, from a plain -I" {
	text='#include <nopal/runtime.h>
	struct bits { unsigned a : 3; int b : 5; };
	enum color { RED, GREEN };
	int f(struct nopal_probe *p, int a, char *b, double c, float d, struct bits *s, enum color e, const char *t);
	int f(struct nopal_probe *p, int a, char *b, double c, float d, struct bits *s, enum color e, const char *t)
	{
		static const struct nopal_probe_arg args[] = {{NOPAL_INT32, "n"}};
		struct nopal_error error;
		struct nopal_provider *r = nopal_provider_new("x", NOPAL_RUNTIME_FILE, &error);
		struct nopal_probe *q = nopal_provider_probe(r, "p", args, 1, (const char *)0, &error);
	#if !defined __cplusplus || __cplusplus >= 201103L
		nopal_probe_fire(p);
		nopal_probe_fire(p, a);
		nopal_probe_fire(q, a, b, c, d, e, t, a > 3, "text", 1L, +s->a, &a, 1.5L);
	#endif
	#ifndef __cplusplus
		nopal_probe_fire(q, s->a, s->b);
	#endif
		(void)a; (void)b; (void)c; (void)d; (void)s; (void)e; (void)t; (void)q;
		return nopal_probe_enabled(p);
	}'
	for opt in -O0 -O2; do
		for cc in $(installed gcc clang); do
			for std in c89 gnu89 c99 gnu99 c11 gnu11 c17 gnu17 c2x gnu2x; do
				compile $cc -std=$std $opt -Wall -Wextra -pedantic -Werror -c -o runtime.o <<<"$text"
			done
		done
		for cc in $(installed g++ clang++); do
			for std in c++98 gnu++98 c++11 c++14 c++17 gnu++17 c++20 c++2b; do
				compile $cc -std=$std $opt -Wall -Wextra -pedantic -Werror -c -o runtime.o <<<"$text"
			done
		done
	done
}

# clang had words about each of these: internal linkage, __func__ "outside" of a function, static in inline.
# bats test_tags=deep
@test "unnamed namespaces, __func__, inline functions that others see: not a warning" {
	for cc in $(installed gcc clang); do
		for std in c99 c11 gnu17 c2x; do
			compile $cc -std=$std -O2 -Wall -Wextra -pedantic -Werror -o inline <<-'END'
				#include <stdio.h>
				#include <nopal/sdt.h>
				extern int seen(int a);
				inline int seen(int a)
				{
					NOPAL_PROBE(p, seen, a, 1.5L, __func__);
					return NOPAL_ENABLED(p, seen);
				}
				extern int seen(int a);
				int main(int argc, char **argv) { (void)argv; return seen(argc); }
			END
			./inline
		done
	done
	for cc in $(installed g++ clang++); do
		for std in c++98 c++11 c++17 c++20; do
			compile $cc -std=$std -O2 -Wall -Wextra -pedantic -Werror -o unnamed <<-'END'
				#include <nopal/sdt.h>
				namespace {
				int plain() { return NOPAL_ENABLED(p, plain); }
				struct local { static int member() { return NOPAL_ENABLED(p, member); } };
				template <class T> int generic(T) { return NOPAL_ENABLED(p, generic); }
				}
				int main() { return plain() + local::member() + generic(1) + generic(2.0); }
			END
			./unnamed
			[ "$(nm unnamed | grep -c __usdt_sema_p__)" = 3 ]
		done
	done
}

# bats test_tags=deep
@test "objects of both headers link, also by way of ld -r, stripped, static" {
	theirs=$(find /usr/include -path '*sys/sdt.h' | head -1)
	[ -n "$theirs" ] || skip "needs systemtap-sdt-dev"
	printf '#include "%s"\nint f(int a) { DTRACE_PROBE1(mix, theirs, a); return a; }\n' "$theirs" >theirs.c
	gcc -O2 -c theirs.c
	compile gcc -O2 -c -o ours.o <<-'END'
		#include <nopal/sdt.h>
		int f(int);
		int main(int argc, char **argv)
		{
			NOPAL_PROBE(mix, ours, argc, argv);
			return f(0) + NOPAL_ENABLED(mix, ours);
		}
	END
	for ld in bfd gold lld; do
		command -v ld.$ld >/dev/null || continue
		ld.$ld -r theirs.o ours.o -o both.o
		strip --strip-unneeded both.o
		for flags in '' -static -no-pie -Wl,--emit-relocs; do
			for objects in 'theirs.o ours.o' both.o; do
				gcc -fuse-ld=$ld $flags $objects -o mixed
				./mixed
				[ "$(sites mixed | awk '{ print $2 }' | sort -u | grep -vc '^0x0*$')" -ge 2 ]
				[ "$(sites mixed | awk '$1 ~ /^mix:/ { print $3 }' | sort -u | wc -l)" = 1 ]
			done
		done
	done
}

# bats test_tags=deep
@test "32 bits: a constant float as a later argument was at a symbol of the compiler that is in no table" {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	local cc level rest
	for cc in $(installed gcc clang g++ clang++); do
		# In C++ a constant double is still there.
		case $cc in *++) rest='7, 8' ;; *) rest='2.5, d' ;; esac
		for level in -O0 -O2 '-O2 -fPIC'; do
			compile $cc -m32 $level -ffreestanding -Wall -Werror -c -o floats.o <<-END
				#include <sys/sdt.h>
				double d = 1;
				float f = 1;
				int main(void)
				{
					DTRACE_PROBE8(t, floats, 1, 2, 3, 1.5f, f, -0.5f, $rest);
					return 0;
				}
			END
			ld -m elf_i386 -e main --unresolved-symbols=ignore-all -o floats floats.o
			"$NOPAL" list --json ./floats >said
			cat said
			! grep -q '@\.L\|"its symbol' said || return 1
			# 1.5 and -0.5, where the compiler knows them.
			[ "$level" = -O0 ] || grep -q '@\$1069547520 .*@\$-\?[0-9]* ' said
		done
	done
}
