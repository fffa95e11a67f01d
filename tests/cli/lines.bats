# Source lines and inlined functions in stacks.
load ../helpers

setup() {
	bats_require_minimum_version 1.5.0
	need_tracing
	cd "$BATS_TEST_TMPDIR"
	private inlined >/dev/null
}

# stack OPTIONS...: the stacks that lead to the probe of the traced program.
stack() {
	run -0 --separate-stderr timeout 30 "$NOPAL" stack -q "$@" ./inlined -c './inlined 1'
}

# at TEXT: where the source of the traced program has it.
at() {
	grep -n "$1" "$ROOT/tests/targets/inlined.c" | sed -n 's/:.*//p' | tail -1
}

@test "text: the line of each frame, and functions that were inlined" {
	stack --top 1
	[[ "$output" == "COUNT   SHARE
    1  50.0 %
        work+"*" at "*"tests/targets/inlined.c:$(at DTRACE_PROBE)
        check (inlined) at "*"tests/targets/inlined.c:"*"
        parse (inlined) at "*"tests/targets/inlined.c:$(at 'line in parse')
        serve+"*" at "*"tests/targets/inlined.c:$(at 'line in serve')
        leave+"*" at "*"tests/targets/inlined.c:$(at 'line in leave')
        main+"*" at "*"tests/targets/inlined.c:$(at 'line in main')
"* ]]
	stack --no-lines
	[[ "$output" != *" at "* && "$output" != *inlined* ]]
	[[ "$output" == *"    serve+"*"    leave+"* ]]
}

@test "folded: inlined functions are frames" {
	stack -f folded
	[[ "$output" == *"main;leave;serve;parse_[i];check_[i];work 1"* ]]
	stack -f folded --no-lines
	[[ "$output" == *"main;leave;serve;work 1"* ]]
}

@test "JSON: file, line, inlined" {
	stack -f json
	[ "$(jq -rs '.[0].key[0][:6] | map("\(.function) \(.inlined // false) \(has("offset"))") | join(", ")' <<<"$output")" = \
		"work false true, check true false, parse true false, serve false true, leave false true, main false true" ]
	[ "$(jq -rs '.[0].key[0][3] | "\(.file) \(.line)"' <<<"$output")" = "$ROOT/tests/targets/inlined.c $(at 'line in serve')" ]
}

@test "scripts: only when asked, and then as bpftrace" {
	run_traced 'usdt:./inlined:inlined:work { print(ustack); exit() }' './inlined 1'
	[[ "$output" != *@* && "$output" == *"        serve+"* ]]
	for script in 'config = { show_debug_info = true }' ''; do
		lines=--lines
		[ -z "$script" ] || lines=-q
		run -0 timeout 30 "$NOPAL" -q $lines -e "$script usdt:./inlined:inlined:work { print(ustack); exit() }" -c './inlined 1'
		[[ "$output" == *"        [inlined] parse@$ROOT/tests/targets/inlined.c:$(at 'line in parse')
        serve+"*"@$ROOT/tests/targets/inlined.c:$(at 'line in serve')"* ]]
	done
}

@test "trace -U shows them below each line" {
	run -0 timeout 30 "$NOPAL" trace -q -U ./inlined -c './inlined 1'
	[[ "${lines[0]}" == *" inlined:work "* && "${lines[1]}" == "        work+"* ]]
	[[ "$output" == *"parse (inlined) at "* && "$output" != *$'\n\n'* ]]
}

@test "a separate debug file, by build-id and by debuglink" {
	need_program objcopy
	objcopy --only-keep-debug inlined inlined.debug
	strip inlined
	objcopy --add-gnu-debuglink=inlined.debug inlined
	stack
	[[ "$output" == *"parse (inlined) at "* ]]
	mv inlined.debug away
	stack
	[[ "$output" == *"    inlined+0x"* && "$output" != *"(inlined)"* ]]
	id=$(readelf -n inlined | sed -n 's/.*Build ID: //p')
	run -0 env DEBUGINFOD_CACHE_PATH="$PWD/cache" bash -c "mkdir -p cache/$id && cp away cache/$id/debuginfo &&
		timeout 30 '$NOPAL' stack -q ./inlined -c './inlined 1'"
	[[ "$output" == *"parse (inlined) at "* ]]
}

# says no-lines are not shown: its debug information is damaged
@test "damaged debug information is said, once, and costs only the lines" {
	# Its header claims compressed sections that are none.
	objcopy --compress-debug-sections=zlib inlined
	python3 - <<-'END'
		import re, struct
		b = bytearray(open('inlined', 'rb').read())
		shoff, = struct.unpack_from('<Q', b, 40)
		size, count, names = struct.unpack_from('<HHH', b, 58)
		def header(i):
		    return struct.unpack_from('<IIQQQQIIQQ', b, shoff + i * size)
		strings = header(names)[4]
		for i in range(count):
		    h = header(i)
		    name = bytes(b[strings + h[0]:b.index(0, strings + h[0])])
		    if name == b'.debug_info':
		        b[h[4] + 24:h[4] + h[5]] = b'x' * (h[5] - 24)
		open('inlined', 'wb').write(b)
	END
	stack
	[[ "$output" == *"    serve+"* && "$output" != *"(inlined)"* ]]
	[ "$(grep -c "are not shown: its debug information is damaged" <<<"$stderr")" = 1 ]
}

@test "names are text, whatever they are" {
	need_program gcc
	gcc -O2 -g -fno-omit-frame-pointer -I"$ROOT/include" -x c -o evil - <<-'END'
		#include <sys/sdt.h>
		#line 7 "a\033[31m;b.c"
		static inline int f(int n) { DTRACE_PROBE1(evil, hit, n); return n; }
		int main(int argc, char **argv) { return f(argc) - 1; }
	END
	run -0 timeout 30 "$NOPAL" stack -q ./evil -c ./evil
	[[ "$output" == *'f (inlined) at '*'a\x1b[31m;b.c:7'* ]]
	[[ "$output" != *$'\033'* ]]
}

@test "C++: names as in the source, short ones in folded stacks, the linker's when asked" {
	need_program g++
	g++ -O2 -g -fno-omit-frame-pointer -I"$ROOT/include" -x c++ -o shop - <<-'END'
		#include <sys/sdt.h>
		#include <vector>
		namespace shop {
		template <class T> struct store {
			std::vector<T> items;
			__attribute__((noinline)) T add(T item, int n) {
				items.push_back(item);
				return sum(n);
			}
			T sum(int n) {
				T all = 0;
				for (T i : items) all += i;
				DTRACE_PROBE1(shop, sum, n);
				return all;
			}
		};
		}
		int main(int argc, char **argv) { shop::store<long> s; return s.add(argc, 2) != 1; }
	END
	run -0 timeout 30 "$NOPAL" stack -q ./shop -c ./shop
	[[ "$output" == *"        shop::store<long>::sum(int) (inlined) at "*":13
        shop::store<long>::add(long, int)+"*":8
        main+"* ]]
	run -0 timeout 30 "$NOPAL" stack -q -f folded ./shop -c ./shop
	[[ "$output" == *"main;shop::store<long>::add;shop::store<long>::sum_[i] 1" ]]
	run -0 timeout 30 "$NOPAL" -q --lines -e 'config = { cpp_demangle = false } usdt:./shop:shop:sum { print(ustack) }' -c ./shop
	[[ "$output" == *"[inlined] _ZN4shop5storeIlE3sumEi@"*"        _ZN4shop5storeIlE3addEli+"* ]]
}

# newest: `cpp:"f(int*)"` | `f(int*, int*)`, too: `*` is any text | `f(int*)`, if there is such a function |
@test "C++: functions are probed by their names in the source" {
	need_program g++
	g++ -O1 -g -x c++ -o overloads - <<-'END'
		#define OUTSIDE __attribute__((noipa))
		namespace shop {
		struct order { int n; OUTSIDE order(int k) : n(k) {} };
		OUTSIDE int add(int a) { return a + 1; }
		OUTSIDE int add(int a, int b) { return a + b; }
		OUTSIDE int at(int *p) { return *p; }
		OUTSIDE int at(int *p, int *q) { return *p + *q; }
		template <class T> OUTSIDE T twice(T t) { return t + t; }
		OUTSIDE order operator+(const order &a, const order &b) { return order(a.n + b.n); }
		}
		extern "C" OUTSIDE int plain(int n) { return n; }
		int main() {
			shop::order o(3);
			return shop::add(1) + shop::add(2, 3) + shop::at(&o.n) + shop::at(&o.n, &o.n) + shop::twice(4) + (o + o).n + plain(7) != 37;
		}
	END
	# called FUNCTION: what is probed by that name
	called() {
		run -0 timeout 30 "$NOPAL" -q -e "uprobe:./overloads:cpp:\"$1\" { print(probe) }" -c ./overloads
		sed -n 's/^uprobe:.\/overloads:cpp://p' <<<"$output"
	}
	[ "$(called 'shop::add(int)')" = '"shop::add(int)"' ]
	[ "$(called shop::add)" = $'"shop::add(int)"\n"shop::add(int, int)"' ]
	[ "$(called 'shop::add(int*')" = $'"shop::add(int)"\n"shop::add(int, int)"' ]
	[ "$(called 'shop::at(int*)')" = '"shop::at(int*)"' ]
	[ "$(called shop::order::order)" = $'"shop::order::order(int)"\n"shop::order::order(int)"' ]
	[ "$(called 'shop::twice<int>')" = '"int shop::twice<int>(int)"' ]
	[ "$(called shop::operator+)" = '"shop::operator+(shop::order const&, shop::order const&)"' ]
	[ "$(called plain)" = '"plain"' ]
	run -0 timeout 30 "$NOPAL" -q -e 'uretprobe:./overloads:cpp:"shop::add" { printf("%d %d|", args.a, retval) }' -c ./overloads
	[ "$output" = "1 2|2 5|" ]
	run -0 "$NOPAL" -l 'uprobe:./overloads:cpp:"shop::a*"'
	[ "$output" = 'uprobe:./overloads:cpp:"shop::add(int)"
uprobe:./overloads:cpp:"shop::add(int, int)"
uprobe:./overloads:cpp:"shop::at(int*)"
uprobe:./overloads:cpp:"shop::at(int*, int*)"' ]
	run -0 "$NOPAL" -lv 'uretprobe:./overloads:cpp:"shop::add(int, int)"'
	[ "$output" = $'uretprobe:./overloads:cpp:"shop::add(int, int)"\n    int a\n    int b\n    int retval' ]
	run -1 "$NOPAL" -e 'uprobe:./overloads:cpp:"shop::sub" { @ = 1 }'
	says missing-probe "there is no probe 'uprobe:./overloads:cpp:\"shop::sub\"'" <<<"$output"
}

@test "C++: what a compiler made of a function is probed by its name, and func shows it" {
	need_program g++
	g++ -O2 -x c++ -o clones - <<-'END'
		extern "C" {
		__attribute__((noinline)) int whole(int n) asm("_ZN4shop4costEi.isra.0");
		__attribute__((noinline)) int piece(int n) asm("_ZN4shop4costEi.cold");
		int whole(int n) { asm volatile("" : "+r"(n)); return n + 1; }
		int piece(int n) { asm volatile("" : "+r"(n)); return n + 2; }
		}
		int main(int argc, char **) { return whole(argc) + piece(argc) != 5; }
	END
	run -0 timeout 30 "$NOPAL" -q -e 'uprobe:./clones:cpp:"shop::cost" { printf("%s|%s\n", func, probe) }' -c ./clones
	[ "$output" = 'shop::cost(int) [clone .isra.0]|uprobe:./clones:cpp:"shop::cost(int)"' ]
	BPFTRACE_CPP_DEMANGLE=0 run -0 timeout 30 "$NOPAL" -q -e 'uprobe:./clones:cpp:"shop::cost" { print(func) }' -c ./clones
	[ "$output" = _ZN4shop4costEi.isra.0 ]
}

@test "C++: functions that linkers do not know have the names of what they are in" {
	need_program g++
	g++ -O2 -g -fno-omit-frame-pointer -I"$ROOT/include" -x c++ -o shop - <<-'END'
		#include <sys/sdt.h>
		namespace shop {
		namespace { int half(int n) { DTRACE_PROBE1(shop, half, n); return n / 2; } }
		static int twice(int n) {
			auto each = [](int m) { return half(m) + half(m + 1); };
			return each(n);
		}
		}
		int main(int argc, char **argv) { return shop::twice(argc) - 1; }
	END
	run -0 timeout 30 "$NOPAL" -q --lines -e 'usdt:./shop:shop:half { print(ustack); exit() }' -c ./shop
	[[ "$output" == *"
        [inlined] shop::(anonymous namespace)::half"*":3
        [inlined] shop::twice"*"::operator()"*":5
        [inlined] shop::twice"*":6
        main+"*":9"* ]]
}
