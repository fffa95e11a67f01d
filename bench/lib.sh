# Shared by the benchmarks: medians, tables, interleaved runs.
O=${O:-build}
WORK=${WORK:-$O/bench}
RESULTS=${RESULTS:-bench/RESULTS.md}
WORD=__BPFTRACE_NOTIFY_PROBES_ATTACHED
mkdir -p "$WORK"

median() { sort -g | awk '{ v[NR] = $1 } END { if (NR) print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
best() { sort -g | head -1; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (b + 0) printf "%.2f", a / b; else print "-" }'; }
have() { command -v "$1" >/dev/null; }
say() { echo "bench: $*" >&2; }
put() { printf '%s\n' "$*" >>"$RESULTS"; }

# column N of the stopwatch line
column() { awk -v n="$1" '{ print $n }'; }

# Run each named command of the file list in turn, ROUNDS times; their stopwatch lines go to $WORK/NAME.t.
# interleave ROUNDS name1 'command1' name2 'command2' ...
interleave() {
	rounds=$1
	shift
	names=$*
	i=1
	while [ $i -le $# ]; do
		eval "rm -f \"$WORK/\${$i}.t\""
		i=$((i + 2))
	done
	for _ in $(seq "$rounds"); do
		i=1
		while [ $i -lt $# ]; do
			eval "name=\${$i}; command=\${$((i + 1))}"
			# shellcheck disable=SC2154
			eval "$command" >>"$WORK/$name.t" 2>"$WORK/$name.err" </dev/null || say "$name failed: $(tail -1 "$WORK/$name.err")"
			i=$((i + 2))
		done
	done
}

# A PostgreSQL server in $data, with a database `bench` that pgbench has filled.
as_postgres() { (cd "$data" && setpriv --reuid=postgres --regid=postgres --init-groups "$@"); }
start_postgres() {
	BIN=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
	[ -n "$BIN" ] && [ "$(id -u)" = 0 ] && id postgres >/dev/null 2>&1 || return 1
	data=$(mktemp -d /tmp/nopal-bench.XXXXXX)
	chown postgres "$data"
	as_postgres "$BIN/initdb" -A trust -D "$data/db" &&
		as_postgres "$BIN/pg_ctl" -D "$data/db" -l "$data/log" -w -o "-c listen_addresses='' -k $data -c fsync=off" start &&
		as_postgres "$BIN/createdb" -h "$data" bench && as_postgres "$BIN/pgbench" -h "$data" -i -q bench
}
stop_postgres() {
	as_postgres "$BIN/pg_ctl" -D "$data/db" -m immediate stop >/dev/null
	rm -rf "$data"
}
