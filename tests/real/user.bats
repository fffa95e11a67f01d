# User mode with programs as Debian ships them, 1-byte nops: counts equal to the kernel's and to the programs' own.
load ../helpers

setup() {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	[ "$(id -u)" = 0 ] || skip "needs root"
	cd "$BATS_TEST_TMPDIR"
}

teardown() {
	[ -z "${target:-}" ] || kill -9 "$target" 2>/dev/null || true
}

# as_nobody COMMAND...
as_nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all timeout 60 "$@"
}

need_probes() {
	[ -e "$1" ] || skip "needs $1"
	readelf -n "$1" | grep -q "$2" || skip "$1 has no probes"
}

@test "python: what an ordinary user counts is what gc counts" {
	need_probes /usr/bin/python3.11 gc__start
	cat >gc.py <<-'PY'
		import gc
		for i in range(37): gc.collect(0)
		for i in range(11): gc.collect(1)
		gc.disable()
		print("own", *[s["collections"] for s in gc.get_stats()[:2]])
	PY
	cp gc.py /tmp/nopal-gc.$$.py
	run as_nobody "$NOPAL" -q -e 'usdt:/usr/bin/python3.11:python:gc__start { @[arg0] = count() }' \
		-c "/usr/bin/python3.11 -S /tmp/nopal-gc.$$.py"
	rm -f /tmp/nopal-gc.$$.py
	echo "$output"
	read -r _ young middle < <(grep '^own' <<<"$output")
	[ "$young" -ge 37 ]
	[[ $output == *"@[0]: $young"* ]]
	[[ $output == *"@[1]: $middle"* ]]
}

@test "python: a site that user mode cannot reach is counted in a warning, or refused alone" {
	need_probes /usr/bin/python3.11 audit
	/usr/bin/python3.11 -S -c 'import time; time.sleep(30)' 3>&- &
	target=$!
	sleep 0.3
	"$NOPAL" doctor -p $target | grep -q 'audit .* no ' || skip "this python's sites can all be traced"
	run "$NOPAL" --engine=native -p $target -e 'usdt:/usr/bin/python3.11:python:audit { @ = count() }'
	[ "$status" = 1 ]
	says user-mode-none "cannot trace 'usdt:/usr/bin/python3.11:python:audit' in user mode"
	run timeout -s INT 2 "$NOPAL" --engine=native -p $target -e 'usdt:/usr/bin/python3.11:python:* { @ = count() }'
	says user-mode-skipped "1 of 8 sites cannot be traced in user mode"
}

@test "PHP: functions by name, by an ordinary user" {
	php=$(ls /usr/bin/php8.? 2>/dev/null | head -1)
	need_probes "${php:-/usr/bin/php8}" function__entry
	export USE_ZEND_DTRACE=1
	# Whether its 1-byte nop leads to a free address differs from process to process.
	for _ in $(seq 20); do
		run as_nobody "$NOPAL" -q -e "usdt:$php:php:function__entry { @entry[str(arg0)] = count() }" \
			-c "$php -n -r 'function pear(\$i) { return \$i * 2; } for (\$i = 0; \$i < 300; \$i++) pear(\$i);'"
		[[ $output == *"do not lead to a free address"* ]] || break
	done
	echo "$output"
	[[ $output == *"@entry[pear]: 300"* ]]
}

# Of Debian's PHP, two sites of exception__thrown are three bytes from each other.
@test "PHP: all probes, as often as the kernel counts them" {
	php=$(ls /usr/bin/php8.? 2>/dev/null | head -1)
	need_probes "${php:-/usr/bin/php8}" exception__thrown
	echo '<?php function f($x) { if ($x % 10 == 0) throw new Exception("x"); } for ($i = 0; $i < 1000; $i++) try { f($i); } catch (Exception $e) {}' >all.php
	for engine in kernel user; do
		USE_ZEND_DTRACE=1 "$NOPAL" -q --$engine -e "usdt:$php:php:* { @[probe] = count() }" -c "$php -n all.php" 2>&1 | sort >$engine
	done
	diff kernel <(grep -v 'sites are traced by the kernel: ' user)
	grep -q 'exception__thrown\]: 100$' user
}

@test "Ruby: methods by class and name, by an ordinary user" {
	lib=$(ls /usr/lib/*/libruby-3.?.so.3.? 2>/dev/null | head -1)
	need_probes "${lib:-/usr/lib/libruby.so}" cmethod__entry
	run as_nobody "$NOPAL" -q -e "usdt:$(readlink -f "$lib"):ruby:cmethod__entry { @[str(arg0), str(arg1)] = count() }" \
		-c "/usr/bin/ruby --disable-gems -e 'i = 0; while i < 777; \"cactus\".upcase; i += 1; end'"
	echo "$output" | tail -20
	[[ $output == *"@[String, upcase]: 777"* ]]
}

@test "a 32-bit program: refused, or left to the kernel by root" {
	printf 'void _start(void) { for (;;) ; }' | gcc -m32 -nostdlib -static -x c - -o small || skip "needs a compiler for 32 bits"
	./small 3>&- &
	target=$!
	sleep 0.5
	kill -0 $target 2>/dev/null || skip "this kernel runs no 32-bit programs"
	run "$NOPAL" --engine=native -p $target -e 'usdt:/usr/bin/python3.11:python:audit { @ = count() }'
	[ "$status" = 1 ]
	need_tracing
	run timeout -s INT 2 "$NOPAL" --user -p $target -e "usdt:$TARGETS/tick:tick:loop { @ = count() }"
	says user-mode-refused "it is a 32-bit program: the kernel traces it"
}

# PostgreSQL: a cluster of our own.
BIN=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)

as_postgres() {
	setpriv --reuid=postgres --regid=postgres --init-groups "$@"
}

@test "PostgreSQL under pgbench: equal to the kernel's counts, by the database's own user" {
	[ -n "$BIN" ] && id postgres >/dev/null 2>&1 || skip "needs the Debian package postgresql"
	need_tracing
	data=$(mktemp -d /tmp/nopal-pg.XXXXXX)
	# A copy: others may trace the installed file at this moment, and their breakpoints are in all processes.
	mkdir "$data/bin"
	cp -L "$BIN"/{initdb,pg_ctl,postgres} "$data/bin"
	ln -s "${BIN%/bin}/lib" "$data/lib"
	tools=$BIN
	BIN=$data/bin
	chown postgres "$data"
	as_postgres "$BIN/initdb" -A trust -D "$data/db" >/dev/null
	printf "listen_addresses = ''\nunix_socket_directories = '%s'\nautovacuum = off\nfsync = off\n" "$data" >>"$data/db/postgresql.conf"
	# Its heap may lie where a site's jump leads: then that site cannot be traced without privileges.
	for _ in 1 2 3 4 5; do
		as_postgres "$BIN/pg_ctl" -D "$data/db" -l "$data/log" -w start >/dev/null 3>&-
		pid=$(head -1 "$data/db/postmaster.pid")
		"$NOPAL" doctor -p "$pid" >sites
		read -r reached all < <(sed -n 's/^  \([0-9]*\) of \([0-9]*\) sites.*/\1 \2/p' sites)
		echo "$reached of $all"
		[ "$((100 * reached))" -ge "$((90 * all))" ]
		grep -qE ':(transaction__commit|query__start|query__done) .* no ' sites || break
		as_postgres "$BIN/pg_ctl" -D "$data/db" -m fast -w stop >/dev/null
	done
	as_postgres "$tools/createdb" -h "$data" bench
	as_postgres "$tools/pgbench" -h "$data" -i -q bench >/dev/null 2>&1
	script="usdt:$BIN/postgres:postgresql:transaction__commit { @commits = count() }
		usdt:$BIN/postgres:postgresql:query__start { @start[tid] = nsecs; @sql[str(arg0, 15)] = count() }
		usdt:$BIN/postgres:postgresql:query__done /@start[tid]/ { @pairs = count(); delete(@start[tid]) }"
	# As the postgres user, who may debug the server; and by the kernel, at once.
	chmod 755 "$data"
	# Not through a function: that would run in a shell of its own, which signals do not end.
	setpriv --reuid=postgres --regid=postgres --init-groups \
		env __BPFTRACE_NOTIFY_PROBES_ATTACHED=1 "$NOPAL" --follow -p "$pid" -e "$script" >user.out 2>user.err 3>&- &
	user=$!
	until grep -q PROBES_ATTACHED user.err; do sleep 0.05; kill -0 $user; done
	as_postgres "$tools/pgbench" -h "$data" -n -S -c 4 -j 2 -t 500 bench >/dev/null 2>&1
	kill -INT $user
	wait $user
	cat user.out user.err
	grep -q '^@sql\[SELECT abalance\]: 2000$' user.out
	start_tracer "$script" --kernel --follow -p "$pid"
	as_postgres "$tools/pgbench" -h "$data" -n -S -c 4 -j 2 -t 500 bench >/dev/null 2>&1
	stop_tracer
	as_postgres "$BIN/pg_ctl" -D "$data/db" -m fast stop >/dev/null
	rm -rf "$data"
	diff <(grep '^@[cps]' user.out | sort) <(grep '^@[cps]' "$output_file" | sort)
}
