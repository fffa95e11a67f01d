# nopal lang: runtimes that are recognised, and the stacks of real interpreters, of which each call is known.
load ../helpers

setup() {
	cd "$BATS_TEST_TMPDIR"
	chains=$ROOT/tests/programs/lang
	[ "$(uname -m)" = x86_64 ] || skip "stacks are read on x86-64"
}

# start_chain DEPTH INTERPRETER FILE: run it until its innermost function waits for a line on descriptor 7.
start_chain() {
	rm -f in ready
	mkfifo in
	"$2" "$chains/$3" "$1" <in >ready 2>errors 3>&- &
	pid=$!
	exec 7>in
	until grep -q ready ready; do
		kill -0 $pid
		sleep 0.02
	done
}

# The frames of its main thread, without the folder.
frames() {
	"$NOPAL" lang $pid >out
	awk -v head="thread $pid," 'index($0, head) == 1 { on = 1; next } /^$/ { on = 0 } on' out |
		sed -E "s,^ +,,; s,$chains/,,"
}

end_chain() {
	exec 7>&-
	wait $pid
}

python_frames() {
	local in_class=$1 inner=$2 depth=$3
	echo "${inner}inner (chain.py:8)"
	echo "${in_class}run (chain.py:10)"
	for _ in $(seq "$depth"); do echo "${in_class}run (chain.py:5)"; done
	printf '%s\n' 'gen (chain.py:14)' 'größe (chain.py:18)' '<module> (chain.py:26)'
}

check_python() {
	start_chain "$2" "$1" chain.py
	frames >got
	[[ "$(head -1 out)" == "python 3."* ]]
	case $(head -1 out) in
	'python 3.9 '* | 'python 3.10 '*) python_frames '' '' "$2" ;;
	*) python_frames 'Worker.' 'Worker.run.<locals>.' "$2" ;;
	esac | diff - got
	# The other thread has a stack of its own.
	grep -q '^ *waits (.*chain.py:22)$' out
	end_chain
}

@test "python: threads, generators, closures, names that are not ASCII" {
	need_program /usr/bin/python3
	check_python /usr/bin/python3 2
}

@test "python: a recursion of 200" {
	need_program /usr/bin/python3
	check_python /usr/bin/python3 200
}

# bats test_tags=deep
@test "python: other versions" {
	local tried=
	for python in python3.9 python3.10 python3.11 python3.12 python3.13; do
		! "$python" -c 1 2>/dev/null || { check_python "$python" 2 && tried=1; }
	done
	[ "$tried" ] || skip "needs another version of Python"
}

@test "php: classes, closures, generators, functions written in C" {
	need_program php
	start_chain 2 php chain.php
	frames >got
	cat >want <<'END'
fgets
Worker::{closure} (chain.php:8)
Worker::run (chain.php:10)
Worker::run (chain.php:5)
Worker::run (chain.php:5)
gen (chain.php:15)
outer (chain.php:19)
{closure} (chain.php:22)
array_map
{main} (chain.php:22)
END
	diff want got
	end_chain
	start_chain 200 php chain.php
	[ "$(frames | grep -c '^Worker::run (chain.php:5)$')" = 200 ]
	end_chain
}

@test "ruby: blocks, methods, threads" {
	need_program ruby
	ruby -v | grep -q '^ruby 3\.1' || skip "needs Ruby 3.1"
	start_chain 2 ruby chain.rb
	frames >got
	cat >want <<'END'
block in run (chain.rb:7)
run (chain.rb:4)
run (chain.rb:3)
run (chain.rb:3)
outer (chain.rb:13)
<main> (chain.rb:17)
END
	diff want got
	grep -q '^ *block in <main> (.*chain.rb:16)$' out
	end_chain
	start_chain 200 ruby chain.rb
	[ "$(frames | grep -c '^run (chain.rb:3)$')" = 200 ]
	end_chain
}

@test "perl: methods, closures, sort blocks, eval" {
	need_program perl
	perl -e 'exit !($] =~ /^5\.036/ && $Config::Config{usethreads} // 1)' || skip "needs Perl 5.36"
	start_chain 2 perl chain.pl
	frames >got
	cat >want <<'END'
Worker::__ANON__ (chain.pl:10)
Worker::run (chain.pl:12)
Worker::run (chain.pl:6)
Worker::run (chain.pl:6)
main::outer (chain.pl:17)
main (chain.pl:20)
END
	diff want got
	end_chain
	start_chain 200 perl chain.pl
	[ "$(frames | grep -c '^Worker::run (chain.pl:6)$')" = 200 ]
	end_chain
}

# bats test_tags=deep
@test "node and the jvm: how ustack names their code" {
	need_program node
	need_program java
	node -e 'setTimeout(() => {}, 60000)' 3>&- &
	node=$!
	printf 'class Sleep { public static void main(String[] a) throws Exception { Thread.sleep(60000); } }\n' >Sleep.java
	java Sleep.java >/dev/null 2>&1 3>&- &
	java=$!
	until grep -q /node /proc/$node/maps && grep -q libjvm /proc/$java/maps; do sleep 0.05; done
	run "$NOPAL" lang $node
	[ "$status" = 1 ]
	[[ "$output" =~ ^node\ [0-9]+\.[0-9]+.*--perf-basic-prof ]]
	run "$NOPAL" lang $java
	[ "$status" = 1 ]
	[[ "$output" == jvm*"start it with -XX:+PreserveFramePointer, and for names run nopal lang --perf-map PID" ]]
	kill $node $java
}

@test "what has no runtime, is not there or may not be read is said" {
	sleep 100 3>&- &
	run "$NOPAL" lang $!
	[ "$status" = 1 ]
	says no-runtime "runs no known language runtime: python, php, ruby, perl, node or jvm"
	kill $!
	run "$NOPAL" lang 999999999
	[ "$status" = 1 ]
	says lang-process "cannot read the mappings of process 999999999: No such process"
	run "$NOPAL" lang
	[ "$status" = 2 ]
	run "$NOPAL" lang x
	[ "$status" = 2 ]
}

@test "a process that is traced by another is left alone" {
	need_program perl
	need_program gdb
	start_chain 2 perl chain.pl
	gdb -q -nx -batch -p $pid -ex "shell '$NOPAL' lang $pid >out 2>&1; echo \$? >status" >/dev/null 2>&1
	[ "$(cat status)" = 1 ]
	says lang-threads "cannot stop the threads of process $pid: Operation not permitted" out
	end_chain
}

@test "an unknown version is named, and nothing is guessed" {
	need_program gcc
	printf 'int _PyRuntime[64]; const unsigned Py_Version = 0x030f02f0; int main(void) { return getchar(); }\n' >fake.c
	gcc -w -rdynamic -o python3.15 fake.c
	mkfifo in
	./python3.15 <in 3>&- &
	exec 7>in
	until grep -q python3.15 /proc/$!/maps; do sleep 0.02; done
	run "$NOPAL" lang $!
	exec 7>&-
	[ "$status" = 1 ]
	[[ "$output" == "python 3.15.2  "*$'\n  where this version keeps its frames is not known' ]]
}
