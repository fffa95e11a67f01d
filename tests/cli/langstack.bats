# Stacks of scripts at probes: langstack, pystack, phpstack, rbstack, plstack. Every call of the scripts in
# tests/programs/lang is known.
load ../helpers
load lang_stacks

setup() {
	need_tracing
	[ "$(uname -m)" = x86_64 ] || skip "stacks of scripts are read on x86-64"
	cd "$BATS_TEST_TMPDIR"
	use ""
}

# Of the root: language and path, a line for each.
interpreters() {
	local path name
	for path in "$root"/usr/bin/*; do
		name=${path##*/}
		case $name in
		python3.9 | python3.1[0-3] | php7.4 | php8.[0-5] | ruby2.7 | ruby3.[0-4] | perl) echo "${name%%[0-9]*} /usr/bin/$name" ;;
		esac
	done
}

@test "random chains of calls are what python itself says" {
	need_program /usr/bin/python3
	python_exact /usr/bin/python3
}

# bats test_tags=deep
@test "random chains of calls are what php itself says" {
	need_program php
	php_exact php
}

# bats test_tags=deep
@test "random chains of calls are what perl itself says" {
	need_perl
	perl_exact perl
}

# bats test_tags=deep
@test "random chains of calls are what ruby itself says" {
	need_program ruby
	ruby_exact ruby
}

@test "python: a thread, a recursion of 200, a generator, async code, a child of fork" {
	need_program /usr/bin/python3
	python_stacks /usr/bin/python3
}

# The first moments of a process are of an unknown runtime, if its program is in none of the usual places.
# bats test_tags=deep
@test "python: other versions have the same stacks" {
	local tried=
	export WAIT=0.5
	for python in python3.9 python3.10 python3.11 python3.12 python3.13; do
		# What the name leads to may be a script that chooses a version.
		python=$("$python" -c 'import sys; print(sys.executable)' 2>/dev/null) || continue
		python_stacks "$python"
		python_exact "$python"
		tried=1
	done
	[ "$tried" ] || skip "needs another version of Python"
}

# bats test_tags=deep
@test "php: methods, a generator, a recursion of 200" {
	need_program php
	php_stacks php
}

# bats test_tags=deep
@test "ruby: a thread, blocks, a recursion of 200, a child of fork" {
	need_program ruby
	ruby_stacks ruby
}

# bats test_tags=deep
@test "perl: subs, a sort block, a recursion of 200, a child of fork" {
	need_perl
	perl_stacks perl
}

# scripts/lang-roots makes them.
@test "other versions, below the root directories of LANG_ROOTS, have stacks that are right" {
	[ "${LANG_ROOTS-}" ] || skip "needs LANG_ROOTS, directories that scripts/lang-roots makes"
	local below language program tried=0
	for below in $LANG_ROOTS; do
		use "$below"
		while read -r language program; do
			echo "$below $program"
			"${language}_stacks" "$program"
			"${language}_exact" "$program"
			"${language}_mixed" "$program"
			"${language}_exact" "$program" 'ustack(mixed)'
			[[ $program == *python3.9 || $program == *python3.10 ]] || "${language}_stacks" "$program" 'ustack(mixed)'
			tried=$((tried + 1))
		done < <(interpreters)
	done
	[ "$tried" -gt 0 ]
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

# bats test_tags=deep
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

# bats test_tags=deep
@test "processes that end at once have their stacks from the first instruction on" {
	need_perl
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

# bats test_tags=deep
@test "a process that rewrites Perl's state neither stops nor misleads the tracer" {
	need_program gcc
	gcc -O1 -w -rdynamic -o perl "$scripts/hostile_perl.c" -lpthread
	timeout 120 "$NOPAL" -q -e "uprobe:$libc:getppid { @n = count(); @[plstack(20)] = count(); @m[ustack(mixed)] = count(); }
		uprobe:$libc:getppid /rand % 100 == 0/ { print(ustack(mixed)); }" -c ./perl >got 2>messages
	grep -q '^@n: 20004$' got || { cat messages; tail -3 got; false; }
	grep -q '\\x1b\[31mred' got
	! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]' got || false
}

@test "a thread that runs no script, and a process without a runtime, have a line that says so" {
	need_program perl
	timeout 60 "$NOPAL" -q -e "uprobe:$libc:getppid { print(pystack); exit(); }" -c "perl -e 'getppid()'" >got
	grep -q '\[no language runtime is known in this process\]' got || { cat got; false; }
}

@test "a version that is not known is named, and nothing is guessed" {
	need_program gcc
	printf 'int _PyRuntime[64]; const unsigned Py_Version = 0x030f02f0; int main(void) { return getppid() & 0; }\n' >fake.c
	gcc -w -rdynamic -o python3.15 fake.c
	timeout 60 "$NOPAL" -q -e "uprobe:$libc:getppid { print(pystack); @[langstack] = count(); }" -c ./python3.15 >got
	[ "$(grep -c '\[python 3.15.2: where this version keeps its frames is not known\]' got)" = 2 ] || { cat got; false; }
}

# Of lines that come in pairs, both say the same.
agree() {
	sed 's/^ *//; /^$/d' got | paste - - | awk -F'\t' '$1 != $2 { print; bad = 1 } END { exit bad || !NR }'
}

# bats test_tags=deep
@test "php's and ruby's own probes agree with the stack on function, file and line" {
	need_program php
	need_program ruby
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

# bats test_tags=deep
@test "mixed: functions of Python in place of what evaluates them, in every version" {
	local python tried=
	export WAIT=0.5 # as above
	for python in /usr/bin/python3 python3.9 python3.10 python3.11 python3.12 python3.13; do
		python=$("$python" -c 'import sys; print(sys.executable)' 2>/dev/null) || continue
		python_mixed "$python"
		tried=1
	done
	[ "$tried" ] || skip "needs Python"
}

# bats test_tags=deep
@test "mixed: functions of PHP, called back by C, and a generator" {
	need_program php
	php_mixed php
}

# bats test_tags=deep
@test "mixed: methods and blocks of Ruby, a fiber, a thread and a child" {
	need_program ruby
	ruby_mixed ruby
}

# bats test_tags=deep
@test "mixed: subs of Perl: in a sort, a pattern, an eval and a tied variable, and while the program is compiled" {
	need_perl
	perl_mixed perl
}

# bats test_tags=deep
@test "mixed: threads, generators, async code, a recursion of 200, a child of fork" {
	need_program php
	need_program ruby
	need_perl
	php_stacks php 'ustack(mixed)'
	ruby_stacks ruby 'ustack(mixed)'
	perl_stacks perl 'ustack(mixed)'
	# Before 3.11 each call of Python is one of C, and no more of these are kept.
	/usr/bin/python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || return 0
	python_stacks /usr/bin/python3 'ustack(mixed)'
}

# bats test_tags=deep
@test "mixed: random chains of calls have every frame of the script" {
	need_program php
	need_program ruby
	need_program /usr/bin/python3
	need_perl
	php_exact php 'ustack(mixed)'
	ruby_exact ruby 'ustack(mixed)'
	python_exact /usr/bin/python3 'ustack(mixed)'
	perl_exact perl 'ustack(mixed)'
}

# bats test_tags=deep
@test "mixed: as a key, folded, as JSON and in a table; what does not match is said" {
	need_program /usr/bin/python3
	need_perl
	cat >mixed.py <<'END'
import os
def leaf(): os.getppid()
def deep(n): return deep(n - 1) if n else leaf()
for i in range(3): leaf()
END
	timeout 60 "$NOPAL" -q -f folded -e "uprobe:$libc:getppid { @[ustack(mixed), comm] = count(); }" -c "/usr/bin/python3 mixed.py" >got
	grep -qE '^_start;.*PyEval_EvalCode;<module> \(.*mixed.py:4\);leaf \(.*mixed.py:2\);.*getppid;python3 3$' got || { cat got; false; }
	timeout 60 "$NOPAL" -q -f json -e "uprobe:$libc:getppid { print(ustack(mixed)); exit(); }" -c "/usr/bin/python3 mixed.py" >got
	grep -qE 'leaf \(.*mixed.py:2\).*<module> \(.*mixed.py:4\)' got || { cat got; false; }
	timeout 60 "$NOPAL" count -k 'ustack(mixed)' "uprobe:$libc:getppid" -c "/usr/bin/python3 mixed.py" >got
	grep -qE '^ *3 +100.0 %$' got && grep -q '^ *leaf (.*mixed.py:2)$' got || { cat got; false; }
	# A sort that has not called its block yet.
	timeout 60 "$NOPAL" -q -e "uprobe:$(command -v perl):Perl_sortsv_flags { print(ustack(mixed)); }" \
		-c "perl -e 'sub f { my @x = sort { \$a <=> \$b + 0 } 2, 1 } f()'" >got
	grep -A2 -F '[where the functions of the script belong among these is not known: calls of the interpreter here 1, in the script 2]' got | sed 's/^ *//' | tail -2 >own
	printf '%s\n' 'main::f (-e:1)' 'main (-e:1)' | diff - own
	# Of a program without a script it is the stack of the program.
	timeout 60 "$NOPAL" -q -e "uprobe:$libc:getppid { print(ustack(mixed)); exit(); }" -c "sh -c :" >got
	! grep -F '[' got || false
	run "$NOPAL" -e "uprobe:$libc:getppid { print(ustack(mixed, 3)); }" -c true
	[ "$status" = 1 ]
	says unsupported "'ustack(mixed)' has no depth: it needs both stacks whole"
}

# bats test_tags=deep
@test "kernels without may_goto walk alike, by calls of bpf_loop" {
	export NOPAL_NO_FEATURES=may_goto
	python_exact /usr/bin/python3
	python_stacks /usr/bin/python3
	! command -v php || php_exact php
	! command -v ruby || ruby_exact ruby
	! perl -MConfig -e 'exit !$Config{usethreads}' || perl_exact perl
}

@test "an older kernel cannot do it, and that is said" {
	run env NOPAL_NO_FEATURES=may_goto,bpf_loop "$NOPAL" -e "uprobe:$libc:getppid { print(langstack); }" -c true
	[ "$status" = 1 ]
	says lang-places "stacks of scripts need x86-64, and Linux 5.17 that describes its types (BTF)"
}
