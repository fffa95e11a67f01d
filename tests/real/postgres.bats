# PostgreSQL under pgbench: a cluster of our own, traced by the postmaster's pid, compared with its own statistics.
load ../helpers

BIN=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
PG=$BIN/postgres

setup_file() {
	[ -n "$BIN" ] && [ "$(id -u)" = 0 ] && id postgres >/dev/null 2>&1 || return 0
	export DATA=$(mktemp -d /tmp/nopal-pg.XXXXXX)
	chown postgres "$DATA"
	as_postgres "$BIN/initdb" -A trust -D "$DATA/db" >/dev/null
	cat >>"$DATA/db/postgresql.conf" <<-CONF
		listen_addresses = ''
		unix_socket_directories = '$DATA'
		autovacuum = off
		max_logical_replication_workers = 0
		fsync = off
	CONF
	as_postgres "$BIN/pg_ctl" -D "$DATA/db" -l "$DATA/log" -w start >/dev/null 3>&-
	as_postgres "$BIN/createdb" -h "$DATA" bench
	as_postgres "$BIN/pgbench" -h "$DATA" -i -q bench >/dev/null 2>&1
	export POSTMASTER=$(head -1 "$DATA/db/postmaster.pid")
}

teardown_file() {
	[ -n "${DATA:-}" ] || return 0
	as_postgres "$BIN/pg_ctl" -D "$DATA/db" -m fast stop >/dev/null
	rm -rf "$DATA"
}

as_postgres() {
	setpriv --reuid=postgres --regid=postgres --init-groups "$@"
}

setup() {
	need_tracing
	[ -n "${DATA:-}" ] || skip "needs the Debian package postgresql"
}

pgbench() {
	as_postgres "$BIN/pgbench" -h "$DATA" -n "$@" bench >/dev/null 2>&1
}

# Commits and rollbacks in the database "bench", as the server itself counts them.
transactions() {
	sleep 1.2 # backends hand in their statistics when they end, the view shows them a moment later
	as_postgres "$BIN/psql" -h "$DATA" -At -d postgres \
		-c "select xact_commit + xact_rollback from pg_stat_database where datname = 'bench'"
}

@test "transactions: as many as pg_stat_database counts" {
	before=$(transactions)
	start_tracer "usdt:$PG:postgresql:transaction__commit, usdt:$PG:postgresql:transaction__abort { @ = count() }" -p "$POSTMASTER" --follow
	pgbench -S -c 4 -j 2 -t 500
	stop_tracer
	after=$(transactions)
	cat "$output_file"
	echo "pg_stat_database: $((after - before))"
	[ "$(sed -n 's/^@: //p' "$output_file")" = $((after - before)) ]
	[ $((after - before)) -ge 2000 ]
}

@test "query__start carries the SQL text, each query paired with its end" {
	start_tracer "
		usdt:$PG:postgresql:query__start { @start[tid] = nsecs; @sql[str(arg0)] = count(); @started = count() }
		usdt:$PG:postgresql:query__done /@start[tid]/ {
			@us = hist((nsecs - @start[tid]) / 1000); delete(@start[tid]); @done = count() }" -p "$POSTMASTER" --follow
	as_postgres "$BIN/psql" -h "$DATA" -d bench -q -c "select 'nopal reads this'" >/dev/null
	for _ in 1 2 3; do as_postgres "$BIN/psql" -h "$DATA" -d bench -q -c "select 3 * 7" >/dev/null; done
	pgbench -S -c 2 -t 200
	stop_tracer
	cat "$output_file" | head -40
	grep -qF "@sql[select 'nopal reads this']: 1" "$output_file"
	grep -qF "@sql[select 3 * 7]: 3" "$output_file"
	grep -q '^@us: *$' "$output_file"
	[ "$(sed -n 's/^@started: //p' "$output_file")" = "$(sed -n 's/^@done: //p' "$output_file")" ]
	# 200 of each of two clients, whatever else psql and pgbench ask at their start
	[ "$(grep -c '^@sql\[SELECT abalance FROM pgbench_accounts WHERE aid = ' "$output_file")" -gt 300 ]
}

@test "checkpoint__done: arguments at off+SYM(%rip) are the checkpoint's own numbers" {
	as_postgres "$BIN/psql" -h "$DATA" -q -c "alter system set log_checkpoints = on" -c "select pg_reload_conf()" >/dev/null
	as_postgres "$BIN/psql" -h "$DATA" -q -d bench -c "create table t as select generate_series(1, 100000) as n" >/dev/null
	checkpointer=$(pgrep -P "$POSTMASTER" -f checkpointer)
	lines=$(wc -l <"$DATA/log")
	start_tracer "usdt:$PG:postgresql:checkpoint__done {
		printf(\"written %d of %d, wal %d added %d removed %d recycled\\n\", arg0, arg1, arg2, arg3, arg4) }" -p "$checkpointer"
	as_postgres "$BIN/psql" -h "$DATA" -q -c checkpoint
	sleep 0.3
	stop_tracer
	cat "$output_file"
	tail -n +"$((lines + 1))" "$DATA/log"
	# log: checkpoint complete: wrote 446 buffers (2.7%); 0 WAL file(s) added, 0 removed, 1 recycled; ...
	expected=$(tail -n +"$((lines + 1))" "$DATA/log" |
		sed -n 's/.*checkpoint complete: wrote \([0-9]*\) buffers.*; \([0-9]*\) WAL file(s) added, \([0-9]*\) removed, \([0-9]*\) recycled.*/written \1 of 16384, wal \2 added \3 removed \4 recycled/p')
	[ -n "$expected" ]
	[ "$(head -1 "$output_file")" = "$expected" ]
}

@test "all 71 sites at once" {
	start_tracer "usdt:$PG:postgresql:* { @[probe] = count() }" -p "$POSTMASTER" --follow
	pgbench -S -c 2 -t 100
	stop_tracer
	grep -q "query__start\]: " "$output_file"
	grep -q "lock" "$output_file"
}

@test "statements and lock modes by the names of the catalogue" {
	start_tracer 'usdt::postgresql:query__start /args.query == "select 42"/ { @[args.query] = count() }
		usdt::postgresql:sort__start { print(args) }' -p "$POSTMASTER" --follow
	for _ in 1 2 3; do as_postgres "$BIN/psql" -h "$DATA" -qAtc 'select 42' bench >/dev/null; done
	as_postgres "$BIN/psql" -h "$DATA" -qAtc 'select i from generate_series(1, 9) i order by -i' bench >/dev/null
	stop_tracer
	cat "$output_file"
	grep -q '^@\[select 42\]: 3$' "$output_file"
	grep -q '^{ .kind = [0-9]*, .unique = false, .nkeys = 1, .work_mem = [0-9]*, .random_access = false, .parallel = 0 }$' \
		"$output_file"
}

@test "latency: the average is pgbench's own, within 3 %" {
	# -P: pgbench measures each statement, instead of dividing the time of the whole run. What it waits for a CPU is in that, hence long statements.
	echo 'select pg_sleep(1);' >"$DATA/query"
	"$NOPAL" latency -f json -d 60 --by args.query -p "$POSTMASTER" --follow postgresql:query >"$BATS_TEST_TMPDIR/rows" 3>&- &
	tracer=$!
	sleep 1
	average=$(as_postgres "$BIN/pgbench" -h "$DATA" -n -P 60 -f "$DATA/query" -t 4 bench | sed -n 's/^latency average = \([0-9.]*\) ms/\1/p')
	kill -INT $tracer
	wait $tracer
	cat "$BATS_TEST_TMPDIR/rows"
	echo "pgbench: $average ms"
	[ "$(jq -s --argjson pgbench "$average" 'map(select(.key == "select pg_sleep(1);"))[0] |
		.count == 4 and ((.avg_ns / 1e6 - $pgbench) | fabs) < 0.03 * $pgbench' "$BATS_TEST_TMPDIR/rows")" = true ]
}
