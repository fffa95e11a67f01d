# Arguments by name: where names come from, what values look like, print(args).
load ../helpers

setup() {
	cd "$BATS_TEST_TMPDIR"
	export HOME=$BATS_TEST_TMPDIR
	unset NOPAL_PROVIDERS XDG_CONFIG_HOME
}

# build_kinds [OPTION…]: a program with one probe for each kind of value, built into ./kinds.
build_kinds() {
	need_program gcc
	cat >kinds.cc <<-'C'
		#include <nopal/sdt.h>
		enum color { RED, GREEN = 7 };
		struct pair { long a, b; };
		int main()
		{
			const char *text = "a \"quoted\"\nline";
			char array[8] = "array", letter = 'x', control = 3;
			bool yes = true, no = false;
			double ratio = 0.25;
			float small = -1.5f;
			enum color color = GREEN;
			struct pair pair = {1, 2};
			void *place = (void *)0x1234;
			unsigned char byte = 200;
			signed char minus = -7;
			unsigned int wide = 4000000000u;
			unsigned long huge = ~0ul;
			__asm__ volatile("" : "+r"(text), "+r"(place), "+r"(wide), "+r"(huge));
			NOPAL_PROBE(kinds, text, text, array, letter, control);
			NOPAL_PROBE(kinds, flags, yes, no, color);
			NOPAL_PROBE(kinds, floats, ratio, small, ratio * 2);
			NOPAL_PROBE(kinds, numbers, byte, minus, wide, huge, pair.b);
			NOPAL_PROBE(kinds, others, place, pair);
			NOPAL_PROBE(kinds, none);
			return 0;
		}
	C
	gcc -O2 -I"$ROOT/include" "$@" kinds.cc -o kinds
}

# newest: `print(args)`, `args.c` of type `char` | texts bare, `.c = 120` | texts in quotes, `.c = 'x'`; a number in JSON | a
#   text with blanks ends where it does
@test "print(args) prints all arguments of every probe, with names" {
	need_tracing
	private tick >/dev/null
	run_traced 'usdt:./tick:tick:* { print(args) }' './tick word hello "two words"'
	[ "$status" = 0 ]
	[ "${lines[0]}" = '{ .word = "hello", .length = 5 }' ]
	[ "${lines[1]}" = '{ .word = "two words", .length = 9 }' ]
	[ "${#lines[@]}" = 2 ]
}

@test "as JSON, a record is an object" {
	need_tracing
	need_program jq
	private tick >/dev/null
	"$NOPAL" -f json -q -e 'usdt:./tick:tick:word { print(args) }' -c './tick word hello' >out
	[ "$(jq -c 'select(.type == "value") | .data' out)" = '{"word":"hello","length":5}' ]
}

@test "all arguments are a value: a record that is a key, an element, a variable" {
	local engine
	need_tracing
	private tick >/dev/null
	for engine in --kernel --user; do
		run --separate-stderr timeout 30 "$NOPAL" -q $engine -c './tick word hello b' -e 'usdt:./tick:tick:word {
			@k[args] = count(); @v = args; $a = args; print($a.word); print((1, $a)) }'
		[ "$status" = 0 ]
		diff - <(grep . <<<"$output") <<-'END'
			hello
			(1, { .word = hello, .length = 5 })
			b
			(1, { .word = b, .length = 1 })
			@k[{ .word = b, .length = 1 }]: 1
			@k[{ .word = hello, .length = 5 }]: 1
			@v: { .word = b, .length = 1 }
		END
	done
}

@test "a letter is a number in JSON" {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	need_tracing
	need_program jq
	echo '__attribute__((noinline, noclone)) int f(char c) { return c; } int main(void) { return f(120) == 0; }' >letter.c
	gcc -g -O1 letter.c -o letter
	"$NOPAL" -f json -q -c ./letter -e 'uprobe:./letter:f { print(args); @ = args; }' >out
	[ "$(jq -c 'select(.type == "value" or .type == "map") | .data' out)" = $'{"c":120}\n{"@":{"c":120}}' ]
}

@test "names are values: keys, conditions, printf" {
	need_tracing
	private tick >/dev/null
	run_traced 'usdt:./tick:tick:word /args.word != "b"/ {
		@[args.word] = sum(args->length); printf("%s/%d/%s\n", args.word, args.arg1, args) }' \
		'./tick word a b cc a'
	[ "${lines[0]}" = 'a/1/{ .word = "a", .length = 1 }' ]
	[ "${lines[1]}" = 'cc/2/{ .word = "cc", .length = 2 }' ]
	[[ "$output" == *"@[a]: 2"* && "$output" == *"@[cc]: 2"* && "$output" != *"@[b]"* ]]
}

@test "strings that are NULL, or nowhere, say so" {
	need_tracing
	private tick >/dev/null
	run_traced 'usdt:./tick:tick:word { print(args) }' './tick hostile'
	[[ "$output" == *'.word = (null), '* && "$output" == *'.word = (unreadable), '* ]]
	says fault "read failed" "$messages"
}

@test "text, bools, enums, floats, signs, pointers and structs" {
	need_tracing
	build_kinds
	run_traced 'usdt:./kinds:kinds:* { print(args) }' ./kinds
	[ "$status" = 0 ]
	[ "${lines[0]}" = "{ .text = \"a \\\"quoted\\\"\\nline\", .array = \"array\", .letter = 'x', .control = 3 }" ]
	[ "${lines[1]}" = '{ .yes = true, .no = false, .color = 7 }' ]
	[ "${lines[2]}" = '{ .ratio = 0.25, .small = -1.5, .arg2 = 0.5 }' ]
	[ "${lines[3]}" = '{ .byte = 200, .minus = -7, .wide = 4000000000, .huge = 18446744073709551615, .b = 2 }' ]
	[[ "${lines[4]}" =~ ^'{ .place = 0x1234, .pair = 0x'[0-9a-f]+' }'$ ]] # a struct is its address
	[ "${lines[5]}" = '{ }' ]
	run_traced 'usdt:./kinds:kinds:flags { @[args.yes] = count(); @n = args.yes + 1 }
		usdt:./kinds:kinds:floats { printf("%.3f\n", args.ratio); }' ./kinds
	[[ "$output" == *0.250* && "$output" == *"@[true]: 1"* && "$output" == *"@n: 2"* ]]
	run_traced 'usdt:./kinds:kinds:others { printf("%d %d\n", *(int64 *)args.pair, *(int64 *)(args.pair + 8)) }' ./kinds
	[ "$output" = "1 2" ]
}

@test "a name that is not there: what is nearest, and all of them" {
	private tick >/dev/null
	run "$NOPAL" -e 'usdt:./tick:tick:word { @ = args.wrd }'
	[ "$status" != 0 ]
	[[ "$output" == *"has no argument 'wrd'"*"did you mean 'word'? its arguments: word, length"* ]]
}

@test "declared names and types come from the program's own provider file" {
	need_tracing
	need_program gcc
	cat >shop.d <<-'D'
		provider shop { probe sale(const char *item, int item_len, unsigned char *blob, long price); };
	D
	cat >shop.c <<-'C'
		#include "shop.h"
		int main(void)
		{
			long cents = 250;
			unsigned char bytes[4] = {1, 2, 3, 4};
			SHOP_SALE("applesauce", 6, bytes, cents);
			return 0;
		}
	C
	"$NOPAL" provider -h -s shop.d -o shop.h
	gcc -O2 -I. -I"$ROOT/include" -c shop.c -o shop.o
	"$NOPAL" provider -G -s shop.d -o probes.o
	gcc shop.o probes.o -o shop
	run "$NOPAL" list -v ./shop
	[[ "$output" == *"shop:sale(const char *item, int item_len, unsigned char *blob, long price)  shop.c:6"* ]]
	run_traced 'usdt:./shop:shop:sale { print(args); print(args.item) }' ./shop
	[[ "${lines[0]}" == '{ .item = "apples", .item_len = 6, .blob = 0x'*', .price = 250 }' ]]
	[ "${lines[1]}" = apples ]
}

@test "list -v and --json tell what is known" {
	need_program jq
	private tick >/dev/null
	run "$NOPAL" list -v ./tick
	[[ "$output" == *"tick:word(char *word, int length)  tests/targets/tick.c:"* ]]
	"$NOPAL" list --json ./tick >json
	run jq -r 'select(.name == "gate") | "\(.source_file) \(.arguments[0].name) \(.arguments[0].source)"' json
	[ "$output" = "tests/targets/tick.c active active" ]
	jq -es 'any(.name == "gate" and .source_line > 0)' json
	jq -es 'all(.name != "loop" or .arguments[1].string)' json
}

@test "a provider file of the user names arguments, and goes before what we ship" {
	[ -x /usr/bin/python3.11 ] || skip "needs the Debian package python3.11"
	readelf -n /usr/bin/python3.11 | grep -q gc__start || skip "this python has no probes"
	run "$NOPAL" list -v /usr/bin/python3.11
	[[ "$output" == *"python:function__return(const char *filename, const char *funcname, int lineno)"* ]]
	mkdir -p .config/nopal/providers
	echo 'provider python { probe function__return(void *file, const char *what, int where); };' \
		>.config/nopal/providers/mine.d
	run "$NOPAL" list -v /usr/bin/python3.11
	[[ "$output" == *"python:function__return(void *file, const char *what, int where)"* ]]
	[[ "$output" == *"python:gc__start(int generation)"* ]]
	echo 'provider python { probe function__return(int a, int b, int c); };' >first.d
	NOPAL_PROVIDERS=first.d run "$NOPAL" list -v /usr/bin/python3.11
	[[ "$output" == *"python:function__return(int a, int b, int c)"* ]]
	# Another number of arguments is another version.
	echo 'provider python { probe function__return(int a); };' >first.d
	NOPAL_PROVIDERS=first.d run "$NOPAL" list -v /usr/bin/python3.11
	[[ "$output" == *"python:function__return(void *file"* ]]
}

@test "a provider file with a mistake is a warning, and counts for nothing" {
	[ -x /usr/bin/python3.11 ] || skip "needs the Debian package python3.11"
	readelf -n /usr/bin/python3.11 | grep -q gc__start || skip "this python has no probes"
	echo 'provider python { probe gc__start(int oops };' >bad.d
	NOPAL_PROVIDERS=bad.d:missing.d run "$NOPAL" list -v /usr/bin/python3.11
	[ "$status" = 0 ]
	[[ "$output" == *"bad.d:1:"*"warning"* && "$output" == *"missing.d': No such file"* ]]
	[[ "$output" == *"python:gc__start(int generation)"* ]]
	# Who asks for no name does not read them.
	NOPAL_PROVIDERS=bad.d run "$NOPAL" -d -e 'usdt:/usr/bin/python3.11:python:gc__start { @ = arg0 }'
	[[ "$output" != *bad.d* ]]
}

@test "a directory of provider files that cannot be read is a warning" {
	need_program setpriv
	[ "$(id -u)" = 0 ] || skip "needs root, to become somebody else"
	build_kinds -DNOPAL_SDT_NO_DESCRIBE
	cp "$NOPAL" .
	mkdir -m 700 secret
	chmod 755 "$BATS_RUN_TMPDIR" .
	NOPAL_PROVIDERS=$PWD/secret run setpriv --reuid=65534 --regid=65534 --clear-groups ./nopal list -v ./kinds
	[ "$status" = 0 ]
	says bad-provider-file "warning: cannot read provider file '$PWD/secret': Permission denied"
}

@test "python by names" {
	need_tracing
	[ -x /usr/bin/python3.11 ] || skip "needs the Debian package python3.11"
	readelf -n /usr/bin/python3.11 | grep -q gc__start || skip "this python has no probes"
	cp /usr/bin/python3.11 python
	printf 'import gc\ndef spam(): pass\nfor i in range(5): spam()\ngc.collect(1)\n' >spam.py
	run_traced 'usdt:./python:python:function__return /args.funcname == "spam"/ {
			@[args.funcname, args.lineno] = count() }
		usdt:./python:python:gc__start { @gc[args.generation] = count() }' './python -S spam.py'
	[[ "$output" == *"@[spam, 2]: 5"* && "$output" == *"@gc[1]: 1"* ]]
}

@test "php by names" {
	need_tracing
	[ -x /usr/bin/php8.2 ] || skip "needs the Debian package php8.2-cli"
	readelf -n /usr/bin/php8.2 | grep -q function__entry || skip "this php has no probes"
	cp /usr/bin/php8.2 php
	echo '<?php class Shop { static function sell($x) {} } for ($i = 0; $i < 3; $i++) Shop::sell($i);' >shop.php
	USE_ZEND_DTRACE=1 run_traced 'usdt:./php:php:function__entry {
		@[args.classname, args.function_name] = count() }' './php -n shop.php'
	[[ "$output" == *"@[Shop, sell]: 3"* ]]
}

@test "a virtual machine's counted strings" {
	need_tracing
	jvm=$(ls -d /usr/lib/jvm/java-17-openjdk-*/ 2>/dev/null | head -1)
	[ -n "$jvm" ] && [ -x "$jvm/bin/javac" ] || skip "needs the Debian package openjdk-17-jdk-headless"
	cat >H.java <<-'J'
		public class H {
			public static void main(String[] a) throws Exception {
				Thread t = new Thread(() -> {}, "worker-one");
				t.start();
				t.join();
			}
		}
	J
	"$jvm/bin/javac" H.java
	run_traced "usdt:$jvm/lib/server/libjvm.so:hotspot:thread__start /args.thread_name == \"worker-one\"/ { print(args) }
		usdt:$jvm/lib/server/libjvm.so:hotspot:class__loaded { @[args.class_name] = count() }" \
		"$jvm/bin/java -cp . H"
	[[ "$output" == *'{ .thread_name = "worker-one", .thread_name_len = 10, '*'.is_daemon = false }'* ]]
	[[ "$output" == *"@[H]: 1"* ]]
}

@test "nopal trace shows names and strings" {
	need_tracing
	private tick >/dev/null
	run timeout 60 "$NOPAL" trace -q -c './tick word hello' 'usdt:./tick:tick:*'
	[ "${#lines[@]}" = 1 ]
	[[ "$output" == *' tick '*' tick:word  { .word = "hello", .length = 5 }' ]]
}

@test "print(args) of a tracepoint prints its fields" {
	need_tracing
	cp /bin/true nothing
	run_traced 'tracepoint:sched:sched_process_exit /comm == "nothing"/ { print(args); print(args.pid) }' ./nothing
	[ "$status" = 0 ] || skip "no tracepoint sched:sched_process_exit here: $output"
	[[ "${lines[0]}" == '{ .comm = "nothing", .pid = '"${lines[1]}, "*' }' ]]
}

@test "a field of a tracepoint that is an array of numbers has elements" {
	local id
	need_program python3
	need_tracing
	id=$(printf '#include <sys/syscall.h>\nSYS_getpriority\n' | ${CC:-cc} -E - | tail -1)
	run_traced 'tracepoint:raw_syscalls:sys_enter /args.id == '"$id"'/ {
		$second = 1; print(args.args[0]); print(args.args[$second]); $all = args.args; print($all[2] == args.args[2]); print(args.args) }' \
		"python3 -c 'import os; os.getpriority(2, 7)'"
	[ "$status" = 0 ] || skip "no tracepoint raw_syscalls:sys_enter here: $output"
	[[ "$output" == $'2\n7\ntrue\n[2,7,'*,*,*,*] ]]
	run "$NOPAL" -e 'tracepoint:raw_syscalls:sys_enter { print(args.args[6]); }'
	says bad-element "it has 6 elements: [0] to [5]" <<<"$output"
	run timeout 20 "$NOPAL" -q -e 'tracepoint:sock:inet_sock_set_state { print((ntop(args.family, args.saddr), ntop(args.saddr_v6))); exit() }' \
		-c "python3 -c 'import socket; socket.socket().connect_ex((\"127.0.0.1\", 9))'"
	[ "$output" = '(127.0.0.1, ::ffff:127.0.0.1)' ]
}
