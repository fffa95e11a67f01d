# Stacks of scripts in user mode, as an ordinary user: the traced process walks along its own stack.
load ../helpers
load lang_stacks

setup() {
	[ "$(id -u)" = 0 ] || skip "needs root, to become an ordinary user"
	[ "$(uname -m)" = x86_64 ] || skip "stacks of scripts are read on x86-64"
	[ -z "${SAN:-}" ] || skip "a preloaded library and the address sanitizer exclude each other"
	need_program setpriv
	need_program gcc
	cd "$BATS_TEST_TMPDIR"
	use_user
}

teardown() {
	rm -rf "${work-}"
}

# bats test_tags=deep
@test "python: a thread, a recursion of 200, a generator, async code, a child of fork; random chains of calls" {
	local python tried=
	for python in /usr/bin/python3 python3.9 python3.10 python3.11 python3.12 python3.13; do
		python=$("$python" -c 'import sys; print(sys.executable)' 2>/dev/null) || continue
		setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'exec "$0" -c 1' "$python" 2>/dev/null || continue
		python_stacks "$python"
		python_exact "$python"
		tried=1
	done
	[ "$tried" ] || skip "needs Python"
}

# bats test_tags=deep
@test "php: methods, a generator, a recursion of 200; random chains of calls" {
	need_program php
	php_stacks php
	php_exact php
}

# bats test_tags=deep
@test "ruby: a thread, blocks, a recursion of 200, a child of fork; random chains of calls" {
	need_program ruby
	ruby_stacks ruby
	ruby_exact ruby
}

# bats test_tags=deep
@test "perl: subs, a sort block, a recursion of 200, a child of fork; random chains of calls" {
	need_perl
	perl_stacks perl
	perl_exact perl
}

@test "keys have their names when their process has ended, and the same stack of two processes is one" {
	need_perl
	cat >"$work/many.sh" <<'END'
for i in 1 2 3 4 5; do perl -e 'sub once { my $x = getppid(); } once() for 1 .. 3'; done
END
	timeout 60 "${as[@]}" -q -f folded -e "$probe /comm == \"perl\"/ { @[langstack] = count(); @n[pid] = count(); }" \
		-c "sh $work/many.sh" >got
	[ "$(grep -c '^[0-9]* 3$' got)" = 5 ] || { cat got; false; }
	[ "$(grep once got)" = "main (-e:1);main::once (-e:1) 15" ] || { cat got; false; }
}

@test "mixed: what frame pointers do not reach is said, and no function of the script is missing" {
	need_perl
	timeout 60 "${as[@]}" -q -e "$probe { print(ustack(mixed)); exit(); }" \
		-c "perl -e 'sub f { my \$x = getppid() } f()'" | sed 's/^ *//' >got
	grep -q '^(cut: user mode follows frame pointers, which end in ' got || { cat got; false; }
	tail -n +2 got | grep -A2 -F '[where the functions of the script belong among these is not known: the stack of the program is cut]' |
		tail -2 >own
	printf '%s\n' 'main::f (-e:1)' 'main (-e:1)' | diff - own
}

@test "a process that rewrites its interpreter's state neither stops nor misleads the tracer" {
	gcc -O1 -w -rdynamic -o "$work/python3.11" "$scripts/hostile.c" -lpthread
	timeout 120 "${as[@]}" -q -e "$probe { @n = count(); @[pystack(20)] = count(); }
		$probe /rand % 100 == 0/ { print(pystack); }" -c "$work/python3.11" >got 2>messages
	grep -q '^@n: 20003$' got || { cat messages; tail -3 got; false; }
	gcc -O1 -w -rdynamic -o "$work/perl" "$scripts/hostile_perl.c" -lpthread
	timeout 120 "${as[@]}" -q -e "$probe { @n = count(); @[plstack(20)] = count(); }
		$probe /rand % 100 == 0/ { print(ustack(mixed)); }" -c "$work/perl" >>got 2>messages
	grep -q '^@n: 20004$' got || { cat messages; tail -3 got; false; }
	! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]' got || false
}
