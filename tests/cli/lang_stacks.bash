# The scripts of tests/programs/lang and their stacks: every call is known. Interpreters are this machine's, or those of
# another root directory.

# use ROOT: interpreters and their C library are those below ROOT; "" is this machine.
use() {
	root=$1
	as=("$NOPAL")
	work=$BATS_TEST_TMPDIR
	scripts=$ROOT/tests/programs/lang
	libc=$(ldd "$NOPAL" | awk '$1 == "libc.so.6" { print $3 }')
	[ "$root" ] || return 0
	libc=$root/lib/x86_64-linux-gnu/libc.so.6
	# The first moments of a process are of an unknown runtime, if its program is in none of the usual places.
	export WAIT=0.5
	work=$root/tmp
	mkdir -p "$work/lang"
	cp "$scripts"/* "$work/lang"
	scripts=/tmp/lang
}

# With threads, as Debian builds it: without, its interpreter is kept elsewhere.
need_perl() {
	need_program perl
	perl -MConfig -e 'exit !$Config{usethreads}' || skip "needs Perl with threads"
}

# A command as the interpreter of the root is run.
within() {
	echo "${root:+chroot $root }$*"
}

# use_user: an ordinary user, whose programs are traced in user mode: at a probe in a library that has the function of
# libc which the scripts call.
use_user() {
	use ""
	work=$(mktemp -d /tmp/nopal-lang.XXXXXX)
	cp -r "$scripts" "$work/lang"
	cp "$NOPAL" "${NOPAL%/*}"/nopal-agent.so "$work"
	scripts=$work/lang
	cat >hit.c <<'END'
#include <nopal/sdt.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

pid_t getppid(void)
{
	NOPAL_PROBE(script, hit);
	return (pid_t)syscall(SYS_getppid);
}

int gethostname(char *name, size_t len)
{
	NOPAL_PROBE(script, hit);
	name[len - 1] = name[0] = '\0';
	return 0;
}
END
	gcc -O2 -shared -fPIC -I "$ROOT/include" -o "$work/hit.so" hit.c
	chmod -R a+rX "$work"
	chmod a+w "$work"
	as=(env "LD_PRELOAD=$work/hit.so" setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all "$work/nopal")
	probe=usdt:$work/hit.so:script:hit
}

# The probe that a script hits in its innermost function.
hit() {
	case $1 in
	*php*) echo "${probe:-uprobe:$libc:gethostname}" ;;
	*) echo "${probe:-uprobe:$libc:getppid}" ;;
	esac
}

# stacks BUILTIN COMMAND: each stack at that function, without folders and functions of C, equal neighbouring lines counted.
stacks() {
	timeout 60 "${as[@]}" -q -e "$(hit "$2") { print($1); }" -c "$(within "$2")" 2>messages |
		sed "s,$scripts/,,; s,^ *,,; /^\$/d; /^[^ ]*+[0-9a-fx]*\$/d" | uniq -c | sed 's,^ *,,' >got || { cat messages; false; }
	! grep -q 'need.*Linux 6.9' messages || skip "$(cat messages)"
}

python_stacks() {
	stacks "${2-pystack(300)}" "$1 $scripts/stack.py"
	sed -E '/\/(threading|asyncio)/d' got >own
	diff - own <<'END'
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
	grep -q '_bootstrap (.*threading.py:' got
}

php_stacks() {
	stacks "${2-phpstack(300)}" "$1 $scripts/stack.php"
	diff - got <<'END'
1 gethostname
1 A::leaf (stack.php:2)
3 A::rec (stack.php:3)
1 gen (stack.php:4)
1 {main} (stack.php:5)
1 gethostname
1 A::leaf (stack.php:2)
201 A::rec (stack.php:3)
1 {main} (stack.php:6)
END
}

ruby_stacks() {
	stacks "${2-rbstack(300)}" "$1 $scripts/stack.rb"
	diff - got <<'END'
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
}

perl_stacks() {
	stacks "${2-plstack(300)}" "$1 $scripts/stack.pl"
	diff - got <<'END'
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
}

# exact STACK SKIP COMMAND [DOTS]: random chains of calls, some hundreds of them (STRESS=1: ten thousands); each stack is what
# the language itself says. SKIP innermost frames are of what asks. Of a mixed one only the script's frames are looked at.
exact() {
	local rounds=${STRESS:+3000}
	rounds=${rounds:-150}
	timeout 120 "${as[@]}" -q -e "${STRESS:+config = { perf_rb_pages = 16384 \}} $(hit "$3") { print($1); }" \
		-c "$(within "$3 ${work#"$root"}/want $rounds")" >printed 2>messages || { cat messages; false; }
	! grep -q 'need.*Linux 6.9' messages || skip "$(cat messages)"
	awk -v skip="$2" '
		function flush() { if (n > skip) print text; text = ""; n = 0 }
		/^ *$/ { flush(); next }
		/ \(<internal:/ { next } # of Ruby itself, in Ruby
		/^ *([^ ]+\+(0x)?[0-9a-f]+|0x[0-9a-f]+)$/ { next } # of C
		{
			sub(/^ +/, "")
			name = $0; line = ""
			if (match($0, / \([^()]*\)$/)) { name = substr($0, 1, RSTART - 1); line = $0; sub(/.*:/, "", line); sub(/\)/, "", line) }
			if ('"${4:-0}"') sub(/.*\./, "", name)
			if (++n > skip) text = text (text == "" ? "" : ";") name ":" line
		}
		END { flush() }' printed >got
	[ "$(wc -l <"$work/want")" -ge 100 ]
	[ -z "${STRESS-}" ] || echo "# $(within "$3"): $(wc -l <"$work/want") stacks" >&3
	cmp "$work/want" got || { diff "$work/want" got | head -4; false; }
}

python_exact() {
	exact "${2-pystack(200)}" 1 "$1 $scripts/exact.py" 1
}

php_exact() {
	exact "${2-phpstack(200)}" 2 "$1 $scripts/exact.php"
}

ruby_exact() {
	exact "${2-rbstack(200)}" 1 "$1 $scripts/exact.rb"
}

perl_exact() {
	exact "${2-plstack(200)}" 1 "$1 $scripts/exact.pl"
}

# Functions of C that call scripts again.
calls='zend_call_function|zend_generator_resume|rb_ary_each|Perl_call_list|Perl_sortsv_flags|Perl_regexec_flags|perl_parse'

# mixed COMMAND: the stack of the program and its script; of functions of C only those that call the script again.
mixed() {
	timeout 60 "${as[@]}" -q -e "$(hit "$1") { print(ustack(mixed)); }" -c "$(within "$2")" 2>messages |
		sed -nE "s,^ *,,; s,$scripts/,,; /\\[/p; s/^($calls)\\+.*/\\1/p; /\\(mixed\\.[a-z]*:/p" >got || { cat messages; false; }
}

python_mixed() {
	mixed python "$1 $scripts/mixed.py"
	diff - got <<'END'
leaf (mixed.py:3)
key (mixed.py:5)
work (mixed.py:7)
work (mixed.py:7)
work (mixed.py:7)
gen (mixed.py:9)
<lambda> (mixed.py:10)
END
}

php_mixed() {
	mixed php "$1 $scripts/mixed.php"
	diff - got <<'END'
leaf (mixed.php:2)
cb (mixed.php:3)
zend_call_function
work (mixed.php:5)
work (mixed.php:4)
work (mixed.php:4)
gen (mixed.php:6)
zend_generator_resume
{main} (mixed.php:7)
END
}

ruby_mixed() {
	mixed ruby "$1 $scripts/mixed.rb"
	diff - got <<'END'
leaf (mixed.rb:2)
block in work (mixed.rb:3)
rb_ary_each
work (mixed.rb:3)
work (mixed.rb:3)
block in <class:A> (mixed.rb:6)
block in <main> (mixed.rb:8)
leaf (mixed.rb:2)
block (2 levels) in method_missing (mixed.rb:5)
leaf (mixed.rb:2)
block in method_missing (mixed.rb:5)
rb_ary_each
method_missing (mixed.rb:5)
<main> (mixed.rb:9)
leaf (mixed.rb:2)
block in <main> (mixed.rb:10)
<main> (mixed.rb:10)
END
}

perl_mixed() {
	mixed perl "$1 $scripts/mixed.pl"
	diff - got <<'END'
main::BEGIN (mixed.pl:3)
Perl_call_list
main (mixed.pl:3)
perl_parse
main::leaf (mixed.pl:4)
T::FETCH (mixed.pl:7)
Perl_sortsv_flags
main (mixed.pl:9)
main::leaf (mixed.pl:4)
main::order (mixed.pl:5)
Perl_sortsv_flags
main (mixed.pl:10)
main::leaf (mixed.pl:4)
main::__ANON__ (mixed.pl:6)
main::work (mixed.pl:6)
main::work (mixed.pl:6)
main (mixed.pl:11)
main::leaf (mixed.pl:4)
Perl_regexec_flags
main (mixed.pl:12)
END
}
