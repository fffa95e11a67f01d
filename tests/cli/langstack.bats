# Stacks of scripts at probes: langstack, pystack, phpstack, rbstack, plstack. Every call of the scripts in
# tests/programs/lang is known.
load ../helpers

setup() {
	need_tracing
	[ "$(uname -m)" = x86_64 ] || skip "stacks of scripts are read on x86-64"
	cd "$BATS_TEST_TMPDIR"
	scripts=$ROOT/tests/programs/lang
	libc=$(ldd "$NOPAL" | awk '$1 == "libc.so.6" { print $3 }')
}

# stacks BUILTIN COMMAND: each stack at getppid(), without folders, equal neighbouring lines counted.
stacks() {
	timeout 60 "$NOPAL" -q -e "uprobe:$libc:getppid { print($1); }" -c "$2" 2>messages |
		sed "s,$scripts/,,; s,^ *,,; /^\$/d" | uniq -c | sed 's,^ *,,' >got || { cat messages; false; }
	! grep -q 'need.*Linux 6.9' messages || skip "$(cat messages)"
}

check_python() {
	stacks 'pystack(300)' "$1 $scripts/stack.py"
	sed -E '/\/(threading|asyncio)/d' got >own
	cat >want <<'END'
1 leaf (stack.py:2)
1 rec (stack.py:5)
2 rec (stack.py:4)
1 leaf (stack.py:2)
1 rec (stack.py:5)
200 rec (stack.py:4)
1 <module> (stack.py:13)
1 leaf (stack.py:2)
1 gen (stack.py:7)
1 <module> (stack.py:14)
1 leaf (stack.py:2)
1 co (stack.py:10)
1 amain (stack.py:11)
1 <module> (stack.py:15)
1 leaf (stack.py:2)
1 <module> (stack.py:17)
END
	diff want own
	grep -q '_bootstrap (.*threading.py:' got
}

# exact BUILTIN SKIP COMMAND: random chains of calls, some hundreds of them (STRESS=1: ten thousands); each stack is what
# the language itself says. SKIP innermost frames are of what asks.
exact() {
	local rounds=${STRESS:+3000}
	rounds=${rounds:-150}
	timeout 120 "$NOPAL" -q -e "uprobe:$libc:getppid { print($1(200)); }" -c "$3 $PWD/want ${rounds}" >printed 2>messages ||
		{ cat messages; false; }
	! grep -q 'need.*Linux 6.9' messages || skip "$(cat messages)"
	awk -v skip="$2" '
		function flush() { if (n > skip) print text; text = ""; n = 0 }
		/^ *$/ { flush(); next }
		{
			sub(/^ +/, "")
			name = $0; line = ""
			if (match($0, / \([^()]*\)$/)) { name = substr($0, 1, RSTART - 1); line = $0; sub(/.*:/, "", line); sub(/\)/, "", line) }
			if ('"${4:-0}"') sub(/.*\./, "", name)
			if (++n > skip) text = text (text == "" ? "" : ";") name ":" line
		}
		END { flush() }' printed >got
	[ "$(wc -l <want)" -ge 100 ]
	cmp want got || { diff want got | head -4; false; }
}

@test "random chains of calls are what python itself says" {
	need_program /usr/bin/python3
	exact pystack 1 "/usr/bin/python3 $scripts/exact.py" 1
}

@test "random chains of calls are what php itself says" {
	need_program php
	php -r 'posix_getppid();' 2>/dev/null || skip "needs PHP's posix"
	exact phpstack 2 "php $scripts/exact.php"
}

@test "random chains of calls are what perl itself says" {
	need_program perl
	perl -MConfig -e 'exit !($] =~ /^5\.036/ && $Config{usethreads})' || skip "needs Perl 5.36 with threads"
	exact plstack 1 "perl $scripts/exact.pl"
}

@test "random chains of calls are what ruby itself says" {
	need_program ruby
	ruby -v | grep -q '^ruby 3\.1' || skip "needs Ruby 3.1"
	exact rbstack 1 "ruby $scripts/exact.rb"
}

@test "python: a thread, a recursion of 200, a generator, async code, a child of fork" {
	need_program /usr/bin/python3
	check_python /usr/bin/python3
}

@test "python: other versions have the same stacks" {
	local tried=
	for python in python3.9 python3.10 python3.11 python3.12 python3.13; do
		! "$python" -c 1 2>/dev/null || { check_python "$(command -v $python)" && tried=1; }
	done
	[ "$tried" ] || skip "needs another version of Python"
}

@test "php: methods, a generator, a recursion of 200" {
	need_program php
	php -r 'posix_getppid();' 2>/dev/null || skip "needs PHP's posix"
	stacks 'phpstack(300)' "php $scripts/stack.php"
	cat >want <<'END'
1 posix_getppid
1 A::leaf (stack.php:2)
3 A::rec (stack.php:3)
1 gen (stack.php:4)
1 {main} (stack.php:5)
1 posix_getppid
1 A::leaf (stack.php:2)
201 A::rec (stack.php:3)
1 {main} (stack.php:6)
END
	diff want got
}

@test "ruby: a thread, blocks, a recursion of 200, a child of fork" {
	need_program ruby
	ruby -v | grep -q '^ruby 3\.1' || skip "needs Ruby 3.1"
	stacks 'rbstack(300)' "ruby $scripts/stack.rb"
	cat >want <<'END'
1 leaf (stack.rb:1)
3 rec (stack.rb:2)
1 block in <main> (stack.rb:3)
1 leaf (stack.rb:1)
201 rec (stack.rb:2)
1 <main> (stack.rb:4)
1 leaf (stack.rb:1)
1 block in <main> (stack.rb:6)
1 <main> (stack.rb:5)
1 leaf (stack.rb:1)
1 block in <main> (stack.rb:7)
1 <main> (stack.rb:7)
END
	diff want got
}

@test "perl: subs, a sort block, a recursion of 200, a child of fork" {
	need_program perl
	perl -MConfig -e 'exit !($] =~ /^5\.036/ && $Config{usethreads})' || skip "needs Perl 5.36 with threads"
	stacks 'plstack(300)' "perl $scripts/stack.pl"
	cat >want <<'END'
1 main::leaf (stack.pl:1)
1 main::rec (stack.pl:4)
2 main::rec (stack.pl:3)
1 main (stack.pl:5)
1 main::leaf (stack.pl:1)
1 main::rec (stack.pl:4)
200 main::rec (stack.pl:3)
1 main (stack.pl:5)
1 main::leaf (stack.pl:1)
1 main (stack.pl:6)
1 main::leaf (stack.pl:1)
1 main (stack.pl:7)
END
	diff want got
}

@test "a stack as a key has its names when its process has ended; folded, and as JSON" {
	need_program perl
	timeout 60 "$NOPAL" -q -f folded -e "uprobe:$libc:getppid { @[langstack(4)] = count(); }" \
		-c "perl -e 'sub a { my \$x = getppid(); } sub b { a() } b() for 1..3'" >got
	[ "$(cat got)" = "main (-e:1);main::b (-e:1);main::a (-e:1) 3" ] || { cat got; false; }
	timeout 60 "$NOPAL" -q -f json -e "uprobe:$libc:getppid { print(plstack); }" \
		-c "perl -e 'sub a { my \$x = getppid(); } a()'" >got
	grep -q 'main::a (-e:1).*main (-e:1)' got || { cat got; false; }
}

@test "a table for people has the names of a script's stack below its row" {
	need_program perl
	timeout 60 "$NOPAL" count -k 'plstack(4)' -c "perl -e 'sub a { my \$x = getppid(); } a() for 1..3'" \
		"uprobe:$libc:getppid" 2>messages | sed 's/^ *//' >got
	printf '%s\n' 'COUNT    SHARE' '3  100.0 %' 'main::a (-e:1)' 'main (-e:1)' >want
	diff want got || { cat messages; false; }
}

@test "the same stack of four processes, and three calls of one line, are one key" {
	need_program /usr/bin/python3
	timeout 60 "$NOPAL" -q -f folded -e "uprobe:$libc:getppid { @[pystack] = count(); @n[pystack]++; @last[pystack] = 1; }" \
		-c "/usr/bin/python3 $scripts/same.py" | sed "s,$scripts/,,g" >got
	[ "$(grep -c '^<module> (same.py:7);f (same.py:3) 12$' got)" = 2 ] || { cat got; false; }
	[ "$(grep -c '^<module> (same.py:7);f (same.py:4) 4$' got)" = 2 ] || { cat got; false; }
	# A number that is set cannot be added: its entries stay apart.
	[ "$(grep -c ' 1$' got)" = 16 ] || { cat got; false; }
}

@test "samples, tracepoints and ustack(lang) have stacks of scripts" {
	need_program /usr/bin/python3
	cat >busy.py <<'END'
import os
def work():
    for i in range(3000000):
        pass
def spin():
    work()
os.getppid()
spin()
END
	timeout 60 "$NOPAL" -q -f folded -e "profile:hz:999 { @[pystack] = count(); }
		tracepoint:syscalls:sys_enter_getppid { print(ustack(lang, 3)); }" -c "/usr/bin/python3 busy.py" >got
	grep -q '^<module> (.*busy.py:8);spin (.*busy.py:6);work (.*busy.py:[34]) ' got || { cat got; false; }
	grep -q '^<module> (.*busy.py:7)$' got || { cat got; false; }
}

@test "processes that end at once have their stacks from the first instruction on" {
	need_program perl
	perl -MConfig -e 'exit !($] =~ /^5\.036/ && $Config{usethreads})' || skip "needs Perl 5.36 with threads"
	cat >many.sh <<'END'
for i in 1 2 3 4 5 6 7 8 9 10; do perl -e 'sub once { my $x = getppid(); } once()'; done
END
	timeout 60 "$NOPAL" -q -f folded -e "uprobe:$libc:getppid /comm == \"perl\"/ { @[langstack] = count(); }" \
		-c "sh many.sh" >got
	[ "$(cat got)" = "main (-e:1);main::once (-e:1) 10" ] || { cat got; false; }
}

@test "a process that rewrites its interpreter's state neither stops nor misleads the tracer" {
	need_program gcc
	gcc -O1 -w -rdynamic -o python3.11 "$scripts/hostile.c" -lpthread
	timeout 120 "$NOPAL" -q -e "uprobe:$libc:getppid { @n = count(); @[pystack(20)] = count(); }
		uprobe:$libc:getppid /rand % 100 == 0/ { print(pystack); }" -c ./python3.11 >got 2>messages
	grep -q '^@n: 20003$' got || { cat messages; tail -3 got; false; }
	grep -q '\\x1b\[31mred' got
	! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]' got || false
	# As it runs, too.
	./python3.11 &
	timeout 20 "$NOPAL" lang $! >got 2>&1 || true
	! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]' got || false
	wait $!
}

@test "a thread that runs no script, and a process without a runtime, have a line that says so" {
	need_program perl
	timeout 60 "$NOPAL" -q -e "uprobe:$libc:getppid { print(pystack); exit(); }" -c "perl -e 'getppid()'" >got
	grep -q '\[no language runtime is known in this process\]' got || { cat got; false; }
}

# Of lines that come in pairs, both say the same.
agree() {
	sed 's/^ *//; /^$/d' got | paste - - | awk -F'\t' '$1 != $2 { print; bad = 1 } END { exit bad || !NR }'
}

@test "php's and ruby's own probes agree with the stack on function, file and line" {
	need_program php
	need_program ruby
	ruby -v | grep -q '^ruby 3\.1' || skip "needs Ruby 3.1"
	local php ruby
	php=$(readlink -f "$(command -v php)")
	ruby=$(ldd "$(command -v ruby)" | awk '/libruby/ { print $3 }')
	timeout 60 "$NOPAL" -q -e "usdt:$php:php:function__entry {
		printf(\"%s%s%s (%s:%d)%s\", str(arg3), str(arg4), str(arg0), str(arg1), arg2, phpstack(1)); }" \
		-c "env USE_ZEND_DTRACE=1 php $scripts/stack.php" | sed 's/^ *{main}/main/' >got
	agree
	[ "$(grep -c 'A::rec (.*stack.php:3)$' got)" -ge 400 ]
	timeout 60 "$NOPAL" -q -e "usdt:$ruby:ruby:method__entry /str(arg1) == \"rec\"/ {
		printf(\"%s (%s:%d)%s\", str(arg1), str(arg2), arg3, rbstack(1)); }" \
		-c "ruby -e 'TracePoint.new(:call) {}.enable; load ARGV[0]' $scripts/stack.rb" >got
	agree
	[ "$(grep -c 'rec (.*stack.rb:2)$' got)" -ge 400 ]
}

@test "an older kernel cannot do it, and that is said" {
	run env NOPAL_NO_FEATURES=may_goto "$NOPAL" -e "uprobe:$libc:getppid { print(langstack); }" -c true
	[ "$status" = 1 ]
	says lang-places "stacks of scripts need x86-64, and Linux 6.9 that describes its types (BTF)"
}

@test "user mode refuses a stack of a script with a reason" {
	run timeout 20 "$NOPAL" --engine=native -e "uprobe:$TARGETS/tick:main { print(langstack); }" -c true
	[ "$status" = 1 ]
	says undoable "the engine 'native' cannot do this: only the kernel can read the stack of a script so far"
}
