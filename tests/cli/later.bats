# Images that are mapped after the tracer was attached: what they send, who may map them, how soon they are seen.
load ../helpers

setup() {
	need_tracing
	later=$(private later)
	bare=$(private bare)
	tick=$(private tick)
}

as_nobody() {
	chmod 755 "$BATS_TEST_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

# nopal trace with these arguments; what it says goes to $messages.
trace_later() {
	messages=$BATS_TEST_TMPDIR/messages
	run timeout 60 bash -c '"$0" trace "$@" 2>"$NOPAL_MESSAGES"' "$NOPAL" "$@"
	cat "$messages"
	echo "$output"
}
export NOPAL_MESSAGES
NOPAL_MESSAGES=$BATS_TEST_TMPDIR/messages

@test "a later image that needs another record layout ended the run" {
	trace_later usdt::u:ev -c "sh -c '$later 300; true'"
	[ "$status" = 0 ]
	[[ "$output" == *'u:ev  { .n = 7, .text = "seven" }'* ]]
	run_traced "usdt::*:* { printf(\"%s\", args) } usdt::*:* { print(args) }" "sh -c '$later 300; $bare; true'"
	[ "$status" = 0 ]
	[ "$(grep -o '.text = "seven"' <<<"$output" | wc -l)" = 2 ]
}

@test "a later image's records in JSON" {
	trace_later -f json usdt::u:ev -c "sh -c '$later 300; true'"
	[ "$status" = 0 ]
	[[ "$output" == *'"args": {"n": 7, "text": "seven"}}'* ]]
}

@test "an ordinary user ended root's usdt:* by an image with another layout" {
	local ours=lt$$ # others may run the same program
	mv "$later" "$BATS_TEST_TMPDIR/$ours"
	mv "$bare" "$BATS_TEST_TMPDIR/$ours.bare"
	start_tracer 'usdt:*:u:ev { printf("%s %s\n", comm, args) }'
	as_nobody "$BATS_TEST_TMPDIR/$ours.bare"
	as_nobody "$BATS_TEST_TMPDIR/$ours" 300
	as_nobody "$BATS_TEST_TMPDIR/$ours.bare"
	kill -0 $tracer
	stop_tracer
	cat "$output_file" "$messages"
	[ "$(grep -c "^$ours.bare " "$output_file")" = 2 ]
	grep -q "^$ours .*\"seven\"" "$output_file"
}

@test "an image that lacks what the script asks for keeps no other from being traced" {
	local ours=lt$$ # others may run the same program
	mv "$later" "$BATS_TEST_TMPDIR/$ours"
	start_tracer "usdt:*:u:ev /comm == \"$ours\"/ { @[str(arg1)] = count() }"
	as_nobody "$bare" &
	as_nobody "$BATS_TEST_TMPDIR/$ours" 300 &
	wait $!
	as_nobody "$BATS_TEST_TMPDIR/$ours" 300
	stop_tracer
	cat "$output_file" "$messages"
	grep -q "in an image that was mapped later: .*has no arg1" "$messages"
	grep -q '^@\[seven\]: 2$' "$output_file"
}

@test "%f of a float in a later image" {
	run_traced 'usdt::u:real { printf("<%.2f>\n", arg0) }' "sh -c '$later 300; true'"
	cat "$messages"
	[ "$status" = 0 ]
	[ "$output" = "<0.50>" ]
}

@test "a map whose type only a later image tells" {
	run_traced 'usdt::u:ev { @n = args.arg1; @k[args.arg1, arg0] = max(arg0) }' "sh -c '$later 300; true'"
	cat "$messages"
	echo "$output"
	[ "$status" = 0 ]
	[[ "$output" == *"@k[seven, 7]: 7"*"@n: seven"* ]]
}

# A tree of programs and libraries: a/server1/plugin, b -> a.
make_tree() {
	mkdir -p "$BATS_TEST_TMPDIR/a/server1" "$BATS_TEST_TMPDIR/work"
	cp "$later" "$BATS_TEST_TMPDIR/a/server1/prog"
	ln -s a "$BATS_TEST_TMPDIR/b"
	cd "$BATS_TEST_TMPDIR/work" || return
}

@test "-c: a pattern for a path looked only at what was mapped at the start" {
	make_tree
	prog=$BATS_TEST_TMPDIR/a/server1/prog
	for pattern in "$BATS_TEST_TMPDIR/a/s*/prog" "$BATS_TEST_TMPDIR/b/s*/prog" '../a/s*/pr*' './../b/*1/prog'; do
		run_traced "usdt:$pattern:u:ev { printf(\"<%s>\", str(arg1)) }" "sh -c '$prog 0; $prog 0; true'"
		cat "$messages"
		[ "$status" = 0 ]
		[ "$output" = "<seven><seven>" ] # on disk it is found before the start: nothing is missed
	done
}

@test "-c: a file that comes to match a pattern later, on disk and mapped" {
	make_tree
	for pattern in "$BATS_TEST_TMPDIR/a/s*/new" "$BATS_TEST_TMPDIR/b/s*/new" '../b/s*/n*' 'ne*'; do
		rm -f ../a/server1/new
		run_traced "usdt:$pattern:u:ev { printf(\"<%s>\", str(arg1)) }" "sh -c 'cp $later ../a/server1/new; ../a/server1/new 300; $later 0; true'"
		cat "$messages"
		[ "$status" = 0 ]
		[ "$output" = "<seven>" ]
	done
}

@test "patterns of everything traced probes of each line and call; they are left out, and it is said" {
	cd "$BATS_TEST_TMPDIR"
	cat >hot.c <<-'END'
		#include <unistd.h>
		#include <sys/sdt.h>
		int main(void)
		{
			for (int i = 0; i < 5; i++) {
				DTRACE_PROBE1(python, line, i);
				DTRACE_PROBE1(python, gc__start, i);
				DTRACE_PROBE1(python, function__entry, i);
			}
			sleep(1);
			return 0;
		}
	END
	${CC:-cc} -I "$ROOT/include" -o hot hot.c
	run --separate-stderr timeout 20 "$NOPAL" count -q 'usdt:*' -c ./hot
	[ "${lines[*]:1}" = "python:gc__start      5" ]
	says hot-probes "2 probes that may slow programs down are left out, for example 'python:line'" <(echo "$stderr")
	[[ "$stderr" == *"hint: those whose provider is named are traced: usdt:*:python:*"* ]]
	run --separate-stderr timeout 20 "$NOPAL" top -i 1 -c ./hot
	[[ "$stderr" == *"2 probes that may slow programs down are left out"* && "$output" != *python:line* ]]
	for named in ./hot 'usdt:*:python:*' 'usdt:*:python:line,usdt:*'; do
		run --separate-stderr timeout 20 "$NOPAL" count -q "$named" -c ./hot
		[[ "$output" == *"python:line"*5* ]]
	done
	run --separate-stderr timeout 20 "$NOPAL" --user -q -e 'usdt:*:*:* { @[probe] = count() }' -c 'sh -c "sleep 0.1; ./hot; true"'
	[[ "$stderr" == *"2 probes that may slow programs down are left out"* ]]
	[[ "$output" == *"gc__start]: 5" && "$output" != *line* ]]
}

@test "-p: a pattern for a path, of a file that is mapped later" {
	make_tree
	sh -c "sleep 1; exec $BATS_TEST_TMPDIR/a/server1/prog 300" &
	start_tracer "usdt:../b/s*/prog:u:ev { @ = count() }" -p $!
	wait $tracer
	cat "$output_file" "$messages"
	grep -q '^@: 1$' "$output_file"
}

# A command in a pid namespace of its own.
in_namespace() {
	unshare --pid --mount-proc --fork "$@"
}

@test "stacks were raw addresses when the tracer was in a pid namespace" {
	in_namespace true || skip "needs pid namespaces"
	plugin=$(private plugin)
	for command in "$plugin deep" "sh -c '$plugin deep; true'"; do
		run timeout 30 unshare --pid --mount-proc --fork "$NOPAL" -q -e "usdt:$plugin:deep:end { printf(\"%d %s\\n\", pid, ustack(4)); @[ustack(2)] = count(); @p[pid, tid] = count() }" -c "$command"
		echo "$output"
		[ "$status" = 0 ]
		[ "$(grep -c 'inner+' <<<"$output")" = 2 ]
		[ "$(grep -c 'outer+' <<<"$output")" = 1 ]
		[ "$(grep -cE '@p\[([0-9]), \1\]: 1' <<<"$output")" = 1 ]
	done
}

@test "stacks of a process in a pid namespace, traced from outside and from inside" {
	in_namespace true || skip "needs pid namespaces"
	plugin=$(private plugin)
	run_traced "usdt:$plugin:deep:end { printf(\"%s\\n\", ustack(4)) }" "unshare --pid --mount-proc --fork $plugin deep"
	echo "$output"
	cat "$messages"
	[[ "$output" == *"inner+"*"middle+"*"outer+"*"main+"* ]]
	run timeout 30 unshare --pid --mount-proc --fork "$NOPAL" -q -e "usdt::u:ev { printf(\"%s %d\\n\", ustack(3), pid) }" -c "sh -c '$later 300; true'"
	echo "$output"
	[[ "$output" == *"fire"* ]]
}

@test "a process that ended while its file was being opened left a bare address" {
	need_program strace
	"$tick" loop 1000000 1 10000 3>&- &
	local firing=$! range
	until range=$(awk -v file="$tick" '$6 == file && $2 ~ /x/ { print $1; exit }' /proc/$firing/maps) && [ "$range" ]; do
		sleep 0.02
	done
	# ESRCH is the kernel's answer when the process ends between the look at this link and the opening. strace
	# knows a file by all its names: the first run tells which opening is that of the link.
	stack_of_tick() {
		run timeout 30 strace -o "$BATS_TEST_TMPDIR/calls" -P "/proc/$firing/map_files/$range" -e trace=openat "$@" \
			"$NOPAL" -q -e "usdt:$tick:tick:loop { printf(\"%s\n\", usym(reg(\"ip\"))); exit() }" -p $firing
		cat "$BATS_TEST_TMPDIR/calls"
		echo "$output"
		[ "$status" = 0 ]
	}
	stack_of_tick
	call=$(grep -n 'map_files.*O_PATH' "$BATS_TEST_TMPDIR/calls" | head -1 | cut -d: -f1)
	stack_of_tick -e inject=openat:error=ESRCH:when=$call
	kill $firing
	grep -q 'map_files.*ESRCH' "$BATS_TEST_TMPDIR/calls"
	grep -qE '^[a-z_]+(\+[0-9]+)?$' <<<"$output"
}

@test "news of images that get lost: everything is looked at again, and it is said" {
	local ours=$BATS_TEST_TMPDIR/tk$$ # others may run the same program
	mv "$tick" "$ours"
	start_tracer "usdt:*:tick:loop /comm == \"tk$$\"/ { printf(\"%s\\n\", comm) }"
	kill -STOP $tracer
	"$ours" loop 1000000 1 10000 3>&- & # an event every 10 ms
	local firing=$!
	for _ in $(seq 12); do # six notices each; the rings hold 1,000 a CPU
		for _ in $(seq 40); do /bin/true & done
		# shellcheck disable=SC2046
		wait $(jobs -p | grep -vxE "$tracer|$firing")
	done
	kill -CONT $tracer
	for _ in $(seq 300); do
		[ ! -s "$output_file" ] || break
		sleep 0.1
	done
	kill $firing
	stop_tracer
	cat "$messages"
	says news-lost ' got lost' "$messages"
	grep -q "^tk$$\$" "$output_file"
}
