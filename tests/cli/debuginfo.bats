# What debug information says of a program: names and types of parameters, results, lines, inlined functions.
load ../helpers

# nopal -c on a program with debug information: traced SCRIPT [PROGRAM [OPTION...]]
traced() {
	need_tracing
	run --separate-stderr timeout 20 "$NOPAL" -q "${@:3}" -e "$1" -c "${2:-$TARGETS/params}"
	[ "$status" -eq 0 ] || echo "$stderr"
}

setup() {
	bats_require_minimum_version 1.5.0
	cd "$BATS_TEST_TMPDIR"
	cp "$TARGETS/params" .
}

@test "parameters have names, types and values" {
	traced 'uprobe:./params:use { printf("%d %s %d %d %d %d\n", args.n, args.text, args.b, args.col, args.yes, args.c == arg0) }' ./params
	[ "$output" = "-3 word 200 5 1 1" ]
	traced 'uprobe:./params:use { print(args.n); print(args.yes); print(str(args.text)) }' ./params
	[ "$output" = $'-3\ntrue\nword' ]
}

@test "a char * is a pointer that is shown as text" {
	traced 'uprobe:./params:use { printf("%s %s %s %d %d", args.text, str(args.text), str(args.text, 2),
		args.text == arg1, *args.text); print(args.text); print(strlen(args.text)) }' ./params
	[ "$output" = $'word word wo 1 119word\n4' ]
	traced 'uprobe:./params:use /args.text != 0 && args.text && args.text == "word"/ {
		$n = 3; $p = args.text; print((str(args.text, $n), str($p, 1), str($p + 1), str(args.text, 9))) }' ./params
	[ "$output" = "(wor, w, ord, word)" ]
	traced 'uprobe:./params:use { printf("%p %x %p", args.text, args.text, arg1) }' ./params
	read -r pointer hex raw <<<"$output"
	[[ $raw == 0x[0-9a-f]* ]]
	[ "$pointer 0x$hex" = "$raw $raw" ]
	traced 'uprobe:./params:use { @at[tid] = args.text } uretprobe:./params:use { print(str(@at[tid])); clear(@at) }' ./params
	[ "${lines[0]}" = "word" ]
	for script in 'if (args.text < "a") { }' 'print(str(args.n, "a"))'; do
		run -1 "$NOPAL" --dry-run -e "uprobe:./params:use { $script }"
	done
}

@test "parameters after floats and structs are where the calling convention has them" {
	traced 'uprobe:./params:mixed { printf("%d %d %d %d %d", args.a, args.s, args.l3, args.l4, args.last) } uprobe:./params:make { printf(" %d", args.a) }' ./params
	[ "$output" = "-1 -2 5 6 77 40" ]
}

@test "all parameters are printed by their names" {
	traced 'uprobe:./params:use { print(args) } uprobe:./params:mixed { print(args) }' ./params
	[[ "${lines[0]}" =~ ^"{ .c = 0x"[0-9a-f]+', .text = "word", .d = (unreadable), .n = -3, .b = 200, .col = GREEN, .yes = true }'$ ]]
	[[ "${lines[1]}" == "{ .p = (unreadable), .a = -1, .g = "*", .s = -2, .w = "*", .l3 = 5, .l4 = 6, .last = 77 }" ]]
}

make_structs() {
	cat >structs.c <<-'END'
		#include <stddef.h>
		struct small { int a; short b; };
		struct bits { long a; int b : 5; unsigned c : 7; };
		struct text { char name[12]; int n; };
		struct array { short v[4]; struct { signed char x; unsigned char y; } in; float f; };
		struct big { long a[4]; const char *s; struct small in; };
		struct real { double d; long n; };
		#define FUNCTION __attribute__((noinline, noclone, used))
		#define USED(v) __asm__ volatile("" ::"r"(&(v)) : "memory")
		FUNCTION int f_small(struct small s, int n) { USED(s); return s.a + n; }
		FUNCTION int f_bits(int k, struct bits s, int n) { USED(s); return s.b + n + k; }
		FUNCTION long f_big(struct big b, int n) { USED(b); return b.a[3] + n; }
		FUNCTION long f_text(struct text t) { USED(t); return t.n; }
		FUNCTION long f_many(struct array t, struct big b, struct bits w, struct bits x, struct small y) { USED(t); USED(b); USED(w); USED(x); USED(y); return t.v[2] + b.a[0] + w.a + x.a + y.a; }
		FUNCTION double f_real(struct real r, struct small s) { USED(r); USED(s); return r.d + s.a; }
		int main(void)
		{
			struct small s = {-1, -2};
			struct bits w = {3, -4, 99}, x = {4, 5, 6};
			struct text t = {"hello", 13};
			struct array v = {{1, -2, 3, -4}, {-5, 250}, 1.5};
			struct big b = {{7, 8, 9, 10}, "text", {11, 12}};
			struct real r = {1, 2};
			return f_small(s, 10) + f_bits(9, w, 11) + f_big(b, 14) + f_text(t) + f_many(v, b, w, x, s) + f_real(r, s) == 0;
		}
	END
	"$@" -w structs.c -o structs
}

# bats test_tags=deep
@test "structs that are passed by value, in registers and on the stack" {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	need_program clang
	for cc in "gcc -O0 -g" "gcc -O2 -g" "clang -O2 -g" "clang -O0 -gdwarf-4"; do
		make_structs $cc
		traced 'uprobe:./structs:f_* { printf("%s ", func); print(args) }' ./structs
		sed 's/0x[0-9a-f]*/0x/' <<<"$output" | sort >printed
		diff - printed <<-'END'
			f_big { .b = { .a = [7,8,9,10], .s = 0x, .in = { .a = 11, .b = 12 } }, .n = 14 }
			f_bits { .k = 9, .s = { .a = 3, .b = -4, .c = 99 }, .n = 11 }
			f_many { .t = { .v = [1,-2,3,-4], .in = { .x = -5, .y = 250 }, .f = 1.5 }, .b = { .a = [7,8,9,10], .s = 0x, .in = { .a = 11, .b = 12 } }, .w = { .a = 3, .b = -4, .c = 99 }, .x = { .a = 4, .b = 5, .c = 6 }, .y = { .a = -1, .b = -2 } }
			f_real { .r = (unreadable), .s = { .a = -1, .b = -2 } }
			f_small { .s = { .a = -1, .b = -2 }, .n = 10 }
			f_text { .t = { .name = hello, .n = 13 } }
		END
	done
}

@test "members of structs that are passed by value" {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	make_structs gcc -O1 -g
	for engine in --kernel --user; do
		[ "$engine" = --kernel ] && need_tracing
		run --separate-stderr timeout 30 "$NOPAL" -q $engine -e 'uprobe:./structs:f_big { $i = 1; $p = &args.b; printf("%d %d %d %s %d\n", args.b.a[3], args.b.a[$i], $p->a[2], str(args.b.s), args.b.in.b) }
			uprobe:./structs:f_many { print((args.t.v[1], args.t.in.y, args.t.f, args.b.in.a, args.w.b, args.x.c, args.y.b)) }
			uprobe:./structs:f_text { $t = args.t; @[args.t.name, args.t] = sum(args.t.n); print($t.name) } uprobe:./structs:f_bits /args.s.b == -4/ { @n = args.s.c }' -c ./structs
		[ "$(sort <<<"$output" | grep .)" = "$(sort <<-'END'
			10 8 9 text 12
			(-2, 250, 1.5, 11, -4, 6, -2)
			hello
			@[hello, { .name = hello, .n = 13 }]: 13
			@n: 99
		END
		)" ]
	done
	run -1 "$NOPAL" --dry-run -e 'uprobe:./structs:f_text { print(&args.t.n) }'
	says no-address "it is not in memory" <<<"$output"
	run -1 "$NOPAL" --dry-run -e 'uprobe:./structs:f_many { $i = 1; print(args.t.v[$i]) }'
	says wrong-type "the index must be a constant: the array is in registers" <<<"$output"
	run -1 "$NOPAL" --dry-run -e 'uprobe:./structs:f_real { print(args.r.n) }'
	says unreadable-arg "some of it is passed in a vector register" <<<"$output"
}

@test "floats in vector registers are read in user mode" {
	need_program gcc
	cat >floats.c <<-'END'
		__attribute__((noinline, noclone)) double mix(double x, int n, float y, double z, double a, double b, double c, double d, double e, double last)
		{
			__asm__ volatile("" ::: "memory");
			return x * n + y + z + a + b + c + d + e + last;
		}
		int main(void) { return (int)mix(1.5, 2, 2.25f, -3.5, 4, 5, 6, 7, 8, 9.5) == 0; }
	END
	gcc -O2 -g -fcf-protection=none -fpatchable-function-entry=5 floats.c -o floats || skip "needs -fpatchable-function-entry"
	run --separate-stderr timeout 30 "$NOPAL" -q --user -c ./floats -e 'uprobe:./floats:mix { printf("%.1f %d %.2f %.0f\n", args.x, args.n, args.y, args.e); @[args.z] = sum((int64)args.last) }'
	[ "$(sed '/^$/d' <<<"$output")" = $'1.5 2 2.25 8\n@[-3.5]: 9' ]
	run --separate-stderr timeout 30 "$NOPAL" -q --engine=native -c ./floats -e 'uprobe:./floats:mix { print(args) }'
	[ "$(sed '/^$/d' <<<"$output")" = "{ .x = 1.5, .n = 2, .y = 2.25, .z = -3.5, .a = 4, .b = 5, .c = 6, .d = 7, .e = 8, .last = 9.5 }" ]
	traced 'uprobe:./floats:mix { print(args) }' ./floats
	[ "$output" = "{ .x = (unreadable), .n = 2, .y = (unreadable), .z = (unreadable), .a = (unreadable), .b = (unreadable), .c = (unreadable), .d = (unreadable), .e = (unreadable), .last = 9.5 }" ]
	run -1 "$NOPAL" --dry-run -e 'uprobe:./floats:mix { print(args.y) }'
	says unreadable-arg "'y' of 'uprobe:./floats:mix' cannot be read: the kernel does not show vector registers to tracers; user mode (--user) does" <<<"$output"
	run -1 "$NOPAL" --dry-run -e 'uretprobe:./floats:mix { print(args.y) }'
	says unreadable-arg "it was passed in a vector register, which the kernel's tracers cannot see" <<<"$output"
}

# bats test_tags=deep
@test "other compilers and options say the same" {
	need_program gcc
	need_program clang
	for cc in "gcc -O0 -g" "gcc -O2 -gdwarf-4" "clang -O2 -g" "clang -O0 -gdwarf-4"; do
		$cc "$ROOT/tests/targets/params.c" -o other
		traced 'uprobe:./other:use { printf("%d %s %d", args.n, args.text, args.col) } uprobe:./other:mixed { printf(" %d %d %d", args.a, args.s, args.last) } uretprobe:./other:low { printf(" %d", retval) }' ./other
		[ "$output" = "-3 word 5 -1 -2 77 255" ]
	done
}

@test "retval has the type of the function's result" {
	traced 'uretprobe:./params:low { printf("%d ", retval) } uretprobe:./params:mixed { printf("%d ", retval) } uretprobe:./params:name { printf("%s", str(retval)) }' ./params
	[ "$output" = "103 hello255 " ]
}

# says no-result returns nothing
@test "a result that is in no register that can be read is said" {
	run -1 "$NOPAL" --dry-run -e 'uretprobe:./params:half { print(retval) }'
	[[ "$output" == *"'uretprobe:./params:half' returns a float, in a register that tracers cannot see"* ]]
	run -1 "$NOPAL" --dry-run -e 'uretprobe:./params:nothing { print(retval) }'
	[[ "$output" == *"'uretprobe:./params:nothing' returns nothing"* ]]
	run -0 "$NOPAL" --dry-run -e 'uretprobe:./params:n* { @ = hist(retval) }'
}

@test "members of structs that parameters point to, enums by name" {
	traced 'uprobe:./params:use { printf("%d %s %s", args.c->fd, str(args.c->peer), args.col); @[args.col] = count() }' ./params
	[[ "$output" == "7 peer GREEN"*"@[GREEN]: 1"* ]]
	traced 'uprobe:./params:use { print(((struct conn *)arg0)->fd); print(sizeof(struct big)); print(args.col == GREEN) }' ./params
	[ "$output" = $'7\n40\ntrue' ] || [ "$output" = $'7\n40\n1' ]
}

@test "a separate debug file says it, too" {
	need_program objcopy
	objcopy --only-keep-debug params params.debug
	strip params
	objcopy --add-gnu-debuglink=params.debug params
	traced 'uprobe:./params:use { print(args.n) }' ./params
	[ "$output" = "-3" ]
}

@test "debug files are found in the folders of --debuginfo, by build id and by their link" {
	local id
	need_program objcopy
	cp params linked
	objcopy --only-keep-debug linked linked.debug
	strip linked
	cp linked by_id
	id=$(readelf -n linked | awk '/Build ID/ { print $3 }')
	mkdir -p "folder/.build-id/${id:0:2}" other
	cp linked.debug "folder/.build-id/${id:0:2}/${id:2}.debug"
	traced 'uprobe:./by_id:use { print(args.n) }' ./by_id --debuginfo "other:$PWD/folder"
	[ "$output" = "-3" ]
	objcopy --add-gnu-debuglink=linked.debug linked
	mv linked.debug other/
	run -1 "$NOPAL" --dry-run -e 'uprobe:./linked:use { print(args.n) }'
	traced 'uprobe:./linked:use { print(args.n) }' ./linked --debuginfo "$PWD/nothing" --debuginfo other
	[ "$output" = "-3" ]
}

# says no-params without debug information
# says unreadable-arg cannot be read
@test "what is not known of parameters is said" {
	cp params bare
	strip -g bare
	for script in 'print(args.n)' 'print(args)'; do
		run -1 "$NOPAL" --dry-run -e "uprobe:./bare:use { $script }"
		[[ "$output" == *"the parameters of 'uprobe:./bare:use' are not known"*"compile the program with -g"* ]]
	done
	run -1 "$NOPAL" --dry-run -e 'uprobe:./params:use { print(args.txt) }'
	[[ "$output" == *"has no argument 'txt'"*"did you mean 'text'?"*"its arguments: c, text, d, n, b, col, yes"* ]]
	run -1 "$NOPAL" --dry-run -e 'uprobe:./params:use+1 { print(args.n) }' --unsafe
	[[ "$output" == *"is not the start of a function"* ]]
	run -1 "$NOPAL" --dry-run -e 'uprobe:./params:use { print(args.d) }'
	[[ "$output" == *"'d' of 'uprobe:./params:use' cannot be read: the kernel does not show vector registers to tracers; user mode (--user) does"* ]]
	run -1 "$NOPAL" --dry-run -e 'uprobe:./params:use { print(arg14) }'
	[[ "$output" == *"has no arg14"* ]]
}

# line TEXT: its number in the source of the traced program.
line() {
	grep -n "$1" "$ROOT/tests/targets/params.c" | cut -d: -f1
}

@test "a line of source, in each inlined copy" {
	traced "uprobe:./params@params.c:$(line 'line between') { @[func] = count() }" './params 3'
	[[ "$output" == *"@[outer]: 3"* ]]
	traced "uprobe:./params@targets/params.c:$(line 'line twice') { @[func] = count() }" './params 3'
	[[ "$output" == *"@[outer]: 6"* ]]
	gcc -O0 -g "$ROOT/tests/targets/params.c" -o plain
	traced "uprobe:./plain@params.c:$(line 'line twice') { @[probe] = count() }" './plain 3'
	[[ "$output" == *"@[uprobe:./plain@params.c:$(line 'line twice')]: 6"* ]]
}

# says other-line is probed
# says no-code has no code at line
# says no-source is called
# says no-debuginfo has no debug information
@test "a line without code, and files without lines, are said" {
	traced "uprobe:./params@params.c:1 { @ = count() }" './params 3'
	[[ "$stderr" == *"warning: 'params.c:1' has no code: 'params.c:"*"' is probed"* ]]
	run -1 "$NOPAL" --dry-run -e 'uprobe:./params@params.c:9999 { }'
	[[ "$output" == *"'params.c' has no code at line 9999 or after it"* ]]
	run -1 "$NOPAL" --dry-run -e 'uprobe:./params@params.c:30:77 { }'
	[[ "$output" == *"has no code at line 30, column 77, or after it"* ]]
	run -1 "$NOPAL" --dry-run -e 'uprobe:./params@none.c:3 { }'
	[[ "$output" == *"no source file of './params' is called 'none.c'"* ]]
	strip -g params -o bare
	run -1 "$NOPAL" --dry-run -e 'uprobe:./bare@params.c:3 { }'
	[[ "$output" == *"'./bare' has no debug information"* ]]
	run -1 "$NOPAL" --dry-run -e 'uretprobe:./params@params.c:30 { }'
	[[ "$output" == *"not a complete probe"* ]]
}

# says inlined the compiler put it into other functions
@test "a function that was inlined everywhere is probed in its copies" {
	traced 'uprobe:./params:twice { @[func, probe] = count() }' './params 3'
	[[ "$output" == *"@[twice, uprobe:./params:twice]: 6"* ]]
	run -1 "$NOPAL" --dry-run -e 'uprobe:./params:twice { print(args.v) }'
	[[ "$output" == *"the parameters of 'uprobe:./params:twice' are not known"* ]]
	run -1 "$NOPAL" --dry-run -e 'uretprobe:./params:twice { }'
	[[ "$output" == *"'twice' does not return: the compiler put it into other functions"* ]]
}

@test "-lv shows the types of parameters, results, fields and arguments" {
	run -0 "$NOPAL" -lv 'uprobe:./params:use'
	[ "$output" = $'uprobe:./params:use\n    struct conn * c\n    const char * text\n    double d\n    int n\n    unsigned char b\n    enum color col\n    _Bool yes' ]
	run -0 "$NOPAL" -lv 'uretprobe:./params:name'
	[ "$output" = $'uretprobe:./params:name\n    int from\n    char * retval' ]
	run -0 "$NOPAL" -l 'uprobe:./params:use'
	[ "$output" = 'uprobe:./params:use' ]
	run -0 "$NOPAL" -lv "usdt:$TARGETS/tick:tick:word"
	[[ "$output" == *$'tick:word\n    char *word\n    int length' ]]
	[ ! -e /sys/kernel/tracing/events ] || {
		run -0 "$NOPAL" -lv 'tracepoint:sched:sched_switch'
		[[ "$output" == *$'\n    char prev_comm[16]\n    pid_t prev_pid\n'* ]]
	}
}

@test "-l lists types of the kernel, and -lv shows their definitions" {
	[ -r /sys/kernel/btf/vmlinux ] || skip "the kernel has no BTF"
	run -0 "$NOPAL" -lv 'struct list_head'
	[ "$output" = $'struct list_head {\n\tstruct list_head *next;\n\tstruct list_head *prev;\n};' ]
	run -0 "$NOPAL" -l 'enum pid_typ*'
	[ "$output" = "enum pid_type" ]
	run -0 "$NOPAL" -l 'struct no_such_struct'
	[[ "$output" == *"no type matches 'struct no_such_struct'"* ]]
}
