# Every command of doc/cookbook.md, on the program that it is about, with the answer checked.
load ../helpers

PG_BIN=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)

setup() {
	need_tracing
	cd "$BATS_TEST_TMPDIR"
}

teardown() {
	[ -z "${target:-}" ] || kill -9 "$target" 2>/dev/null || true
	[ -z "${data:-}" ] || as_postgres "$PG_BIN/pg_ctl" -D "$data/pg" -m immediate stop >/dev/null || true
	rm -rf "${data:-}"
}

as_postgres() {
	setpriv --reuid=postgres --regid=postgres --init-groups "$@"
}

# recipe HEADING: the command below it, which fits a terminal, with our nopal.
recipe() {
	local line
	line=$(awk -v heading="## $1" '$0 == heading { found = 1 } found && sub(/^    /, "") { print; exit }' "$ROOT/doc/cookbook.md")
	[ -n "$line" ] && [ "${#line}" -le 80 ] || return 1
	echo "$line"
}

# start_recipe HEADING [OPTION...]: run it in the background, until it traces.
start_recipe() {
	local line
	line=$(recipe "$1")
	shift
	messages=$BATS_TEST_TMPDIR/messages
	: >"$messages"
	eval "__BPFTRACE_NOTIFY_PROBES_ATTACHED=1 exec \"\$NOPAL\" ${line#nopal }" '"$@"' >out 2>"$messages" 3>&- &
	tracer=$!
	for _ in $(seq 300); do
		! grep -q __BPFTRACE_NOTIFY_PROBES_ATTACHED "$messages" || return 0
		sleep 0.05
	done
	cat "$messages"
	return 1
}

# run_recipe HEADING [OPTION...]: run it to its end.
run_recipe() {
	local line
	line=$(recipe "$1")
	shift
	eval "timeout 60 \"\$NOPAL\" ${line#nopal }" '"$@"' >out 2>messages || {
		cat out messages
		return 1
	}
}

@test "Which SQL statements take the time?" {
	[ -n "$PG_BIN" ] && [ "$(id -u)" = 0 ] && id postgres >/dev/null 2>&1 || skip "needs the Debian package postgresql"
	data=$(mktemp -d /tmp/nopal-cookbook.XXXXXX)
	chown postgres "$data"
	as_postgres "$PG_BIN/initdb" -A trust -D "$data/pg" >/dev/null
	as_postgres "$PG_BIN/pg_ctl" -D "$data/pg" -l "$data/log" -w -o "-c listen_addresses='' -k $data" start >/dev/null 3>&-
	start_recipe "Which SQL statements take the time?"
	for _ in 1 2 3; do as_postgres "$PG_BIN/psql" -h "$data" -At -d postgres -c 'select pg_sleep(0.02)' >/dev/null; done
	kill -INT $tracer
	wait $tracer
	cat out messages
	line=$(grep -F 'select pg_sleep(?)' out | head -1)
	[[ $line =~ (^|[[:space:]])3[[:space:]] ]]
	[[ $line =~ 2[0-9](\.[0-9]+)?' ms' ]]
}

@test "Who collects garbage in Python?" {
	[ -x /usr/bin/python3.11 ] && readelf -n /usr/bin/python3.11 | grep -q gc__start || skip "needs a python with probes"
	run_recipe "Who collects garbage in Python?" -c "/usr/bin/python3.11 -S -c 'import gc; gc.disable(); [gc.collect(1) for i in range(9)]'"
	cat out messages
	grep -E 'python3.11.*\b1\b' out | grep -q '\b9\b'
}

@test "Who throws C++ exceptions?" {
	need_program g++
	printf 'int main() { for (int i = 0; i < 1234; i++) try { throw i; } catch (int) {} }' >thrower.cc
	g++ -O2 -o thrower thrower.cc
	run_recipe "Who throws C++ exceptions?" -c ./thrower
	cat out messages
	grep thrower out | grep -q -E '\b1,?234\b'
}

@test "Which Java threads wait for a lock?" {
	need_program javac
	cat >Wait.java <<-'JAVA'
		public class Wait {
			public static void main(String[] a) throws Exception {
				System.in.read();
				Object lock = new Object();
				Thread t = new Thread(() -> { for (int i = 0; i < 5; i++) synchronized (lock) { sleep(30); } }, "holder");
				t.start();
				for (int i = 0; i < 5; i++) { sleep(5); synchronized (lock) { } }
				t.join();
			}
			static void sleep(int ms) { try { Thread.sleep(ms); } catch (InterruptedException e) { } }
		}
	JAVA
	javac Wait.java
	mkfifo go
	java -XX:+DTraceMonitorProbes -cp . Wait <go >/dev/null 3>&- &
	target=$!
	exec 8>go
	until grep -q libjvm /proc/$target/maps; do sleep 0.1; done
	start_recipe "Which Java threads wait for a lock?"
	echo >&8
	wait $target
	kill -INT $tracer
	wait $tracer
	cat out messages
	grep -q -E '(java|main|holder)' out
	grep -q ' ms' out
}

@test "Which PHP functions are called?" {
	need_program php
	readelf -n "$(readlink -f "$(command -v php)")" | grep -q function__entry || skip "this php has no probes"
	printf '<?php function prickly() {} for ($i = 0; $i < 321; $i++) prickly();' >calls.php
	USE_ZEND_DTRACE=1 run_recipe "Which PHP functions are called?" -c "php -n calls.php"
	cat out messages
	grep prickly out | grep -q '\b321\b'
}

@test "Which Ruby methods are called?" {
	need_program ruby
	run_recipe "Which Ruby methods are called?" -c "ruby --disable-gems -e 'i = 0; while i < 777; \"cactus\".upcase; i += 1; end'"
	cat out messages
	grep upcase out | grep String | grep -q '\b777\b'
}

@test "What does my own program do?" {
	make -s -C "$ROOT" O="${O:-build}" "${O:-build}/examples/shop" >/dev/null
	cp "$BUILD/examples/shop" shop
	run_recipe "What does my own program do?" -d 1
	cat messages
	grep -q 'shop:order.*number.*item = "prickly pear"' out
}

@test "What do my Python and Node.js programs report?" {
	PYTHONPATH=$BUILD/python/lib /usr/bin/python3 -c 'import nopal' 2>/dev/null || skip "the Python package is not built"
	cat >app.py <<-'PY'
		import nopal, time
		p = nopal.Provider("app")
		request = p.probe("request", number=int, name=str)
		p.load()
		end = time.time() + 20
		while time.time() < end:
		    request(7, "cactus")
		    time.sleep(0.01)
	PY
	PYTHONPATH=$BUILD/python/lib /usr/bin/python3 app.py 3>&- &
	target=$!
	sleep 0.5
	start_recipe "What do my Python and Node.js programs report?"
	for _ in $(seq 100); do grep -q cactus out && break; sleep 0.1; done
	kill -INT $tracer
	wait $tracer || true
	cat messages
	grep -q 'app:request.*7.*cactus' out
}

@test "What does the program in a container do?" {
	unshare --mount --pid --fork true 2>/dev/null || skip "no namespaces here"
	cp "$TARGETS/tick" tick
	unshare --mount --pid --fork --kill-child sh -c "mount -t tmpfs none /mnt && cp $PWD/tick /mnt/inner && (sleep 2; echo) | /mnt/inner wait word a b c; sleep 1" 3>&- &
	target=$!
	for _ in $(seq 50); do
		inner=$(pgrep -n -x inner) && break
		sleep 0.05
	done
	eval "timeout 60 \"\$NOPAL\" $(recipe "What does the program in a container do?" | sed "s/^nopal //; s/4711/$inner/")" >out 2>messages
	cat out messages
	grep tick:word out | grep -q -w 3
}

@test "Which probes fire on this machine?" {
	cp "$TARGETS/tick" tick
	(sleep 0.4; for _ in 1 2 3 4 5; do ./tick word a b c; sleep 0.1; done) >/dev/null 3>&- &
	run_recipe "Which probes fire on this machine?"
	cat out messages
	grep -q tick:word out
}
