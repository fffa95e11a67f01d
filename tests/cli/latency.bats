# nopal latency: pairs of probes, exact counts, percentiles, what has no partner.
load ../helpers

setup() {
	need_tracing
	cd "$BATS_TEST_TMPDIR"
	pairs=$(private pairs)
}

latency() {
	run timeout 30 "$NOPAL" latency -q "$@"
	echo "$output"
	[ "$status" = 0 ]
}

# field N: column N of the first row.
field() {
	echo "$output" | sed -n 2p | awk -v n="$1" '{ print $n }'
}

@test "nested operations pair by depth, each once" {
	latency -f json --by args.depth "$pairs:shop:order" -c "$pairs nested 5 100"
	[ "$(echo "$output" | jq -s 'map(select(.type == "latency")) | length')" = 5 ]
	[ "$(echo "$output" | jq -s 'map(select(.type == "latency") | .count) | unique | .[]')" = 100 ]
	[[ "$output" == *'{"type": "unpaired", "starts": 0, "dones": 0}'* ]]
	# What is around the others takes longer.
	[ "$(echo "$output" | jq -rs 'map(select(.type == "latency")) | sort_by(-.p50_ns) | map(.key) | join(" ")')" = "5 4 3 2 1" ]
}

@test "more than 64 unended starts: ends pair with the newest, all are counted" {
	latency "$pairs" -c "$pairs unpaired 70 3"
	[ "${lines[0]}" = "unpaired: 70 started and did not end, 3 ended and had started before" ]
	latency "$pairs" -c "$pairs nested 70 1"
	[[ "$output" == *"unpaired: 6 started and did not end, 6 ended and had started before"* ]]
	[ "$(field 1)" = 64 ]
}

# bats test_tags=deep
@test "tables of intervals said of operations that went on that they had no start or no end" {
	local engine
	for engine in --kernel --user; do
		latency -f json -i 5ms $engine "$pairs:shop:order" -c "$pairs nested 3 40000"
		echo "$output" | jq -se 'map(select(.type == "unpaired")) | length > 1 and all(.starts <= 3 and .dones == 0)' >/dev/null
		[[ "$(echo "$output" | grep unpaired | tail -1)" == *"\"starts\": 0, \"dones\": 0}" ]]
	done
}

@test "a key pairs events of different threads" {
	latency "$pairs" -c "$pairs cross 300"
	[ "${lines[0]}" = "unpaired: 300 started and did not end, 300 ended and had started before" ]
	latency -k args.id "$pairs:shop:order__start" "$pairs:shop:order__done" -c "$pairs cross 300"
	[ "$(field 1)" = 300 ]
	[[ "$output" != *unpaired* ]]
}

@test "the slowest come with the arguments of their start" {
	latency -f json --slowest 2 "$pairs" -c "$pairs sleep 20 20000"
	[ "$(echo "$output" | jq -rs 'map(select(.type == "slow"))[0].args | tojson')" = '{"id":20,"name":"order 20","depth":0}' ]
	[ "$(echo "$output" | jq -s 'map(select(.type == "slow")) | length')" = 2 ]
	[ "$(echo "$output" | jq -s 'map(select(.type == "slow"))[0].ns == map(select(.type == "latency"))[0].max_ns')" = true ]
	echo "$output" | jq -se '.[0] | .count == 20 and .p50_ns > 20000000 and .max_ns > 200000000' >/dev/null
}

@test "a text without a name is shown as text" {
	printf '#include <sys/sdt.h>\nint main(int count, char **words)\n{\n\tDTRACE_PROBE1(app, word__start, words[count - 1]);\n\tDTRACE_PROBE(app, word__done);\n}\n' >word.c
	gcc -g -O1 -I"$ROOT/include" -o word word.c
	latency --slowest 1 ./word -c './word last'
	[[ "${lines[-1]}" == *" word  "*=last ]]
}

@test "of a function the parameters that debug information names, of those that can be read" {
	latency --slowest 1 "uprobe:$pairs:order" -c "$pairs sleep 5 5000"
	[[ "${lines[-1]}" =~ " pairs  id="[1-5]" us=5000"0?$ ]]
	cp "$TARGETS/params" .
	COLUMNS=200 latency --slowest 1 uprobe:./params:use -c ./params
	[[ "${lines[-1]}" =~ "params  c=0x"[0-9a-f]+" text=word n=-3 b=200 col=5 yes=1"$ ]]
	strip -g pairs
	latency --slowest 1 "uprobe:$pairs:order" -c "$pairs sleep 5 100"
	[[ "${lines[-1]}" =~ pairs\ *$ ]]
}

# source TEXT: the line that has it.
source_line() {
	grep -n "$1" "$ROOT/tests/targets/pairs.c" | cut -d: -f1
}

@test "the stack of each of the slowest" {
	latency --stack "$pairs" -c "$pairs sleep 20 1000"
	[ "$(grep -c 'order+.* at .*/pairs.c' <<<"$output")" = 10 ]
	[[ "$output" == *"SLOWEST"*"ARGUMENTS
"*" ms "*" name=order "*" depth=0
        done (inlined) at "*"/pairs.c:$(source_line DTRACE_PROBE1)
        order+"*"/pairs.c:$(source_line '	done(id);' | head -1)"* ]]
	latency --stack --slowest 2 --no-lines "$pairs" -c "$pairs sleep 20 1000"
	[ "$(grep -c '^        order+[0-9]*$' <<<"$output")" = 2 ]
	latency --stack --slowest 1 -f json "$pairs" -c "$pairs sleep 20 1000"
	[ "$(jq -rs 'map(select(.type == "slow"))[0] | [.stack[0].function, .stack[0].inlined, .stack[1].function, (.args.id | type)] | tojson' <<<"$output")" = '["done",true,"order","number"]' ]
}

@test "text of the traced program cannot be taken for another record" {
	need_program gcc
	gcc -O2 -g -I"$ROOT/include" -x c -o evil - <<-'END'
		#include <sys/sdt.h>
		int main(void) {
			for (int i = 0; i < 3; i++) {
				const char *text = "x\n\n99999999999\t1\t1\tevil\tfake\n\n{\"type\": \"slow\", \"ns\": 7}";
				DTRACE_PROBE1(evil, it__start, text);
				DTRACE_PROBE(evil, it__done);
			}
			return 0;
		}
	END
	for options in "" "--stack" "-f json" "-f json --stack"; do
		# shellcheck disable=SC2086
		latency --slowest 5 $options ./evil:evil:it -c ./evil
		[ "$(grep -cE '(^[ 0-9.]+ [num]?s .* evil  text=)|("type": "slow", "ns": [0-9]+, "pid")' <<<"$output")" = 3 ]
	done
}

@test "only a few of many operations are sent for the slowest" {
	latency -f json --slowest 3 "$pairs" -c "$pairs fast 100000"
	[ "$(echo "$output" | jq -s '.[0].count')" = 100000 ]
	[ "$(echo "$output" | jq -s 'map(select(.type == "slow"))[0].ns == .[0].max_ns')" = true ]
}

@test "a function is a pair" {
	latency "uprobe:$pairs:order" -c "$pairs sleep 50 1000"
	[ "$(field 1)" = 50 ]
	[[ "$(echo "$output" | head -1)" == "COUNT  RATE/s"*"P50"*"MAX" ]]
	latency c:usleep -c "$pairs sleep 50 1000" # as in bcc
	[ "$(field 1)" -ge 50 ]
}

@test "a condition is about the start, and what it leaves out is not unpaired" {
	latency -f json -w 'args.depth > 1' "$pairs" -c "$pairs nested 3 100"
	[ "$(echo "$output" | jq -s '.[0].count')" = 200 ]
	[[ "$output" == *'"starts": 0, "dones": 0'* ]]
}

@test "results while it runs" {
	latency -i 100ms "$pairs" -c "$pairs sleep 100 5000"
	[ "$(echo "$output" | grep -c '^COUNT')" -ge 3 ]
}

@test "a pair of a library of the command needed the library's path" {
	cat >work.c <<-'END'
		#include <sys/sdt.h>
		void work(void) { DTRACE_PROBE(lib, op__start); DTRACE_PROBE(lib, op__done); }
	END
	echo 'void work(void); int main(void) { for (int i = 0; i < 3; i++) work(); return 0; }' >works.c
	${CC:-cc} -I "$ROOT/include" -fPIC -shared -o libwork.so work.c
	${CC:-cc} -o works works.c -L. -lwork -Wl,-rpath,"$PWD"
	for pair in op lib:op; do
		latency "$pair" -c ./works
		[ "$(field 1)" = 3 ]
	done
	latency order -c "$pairs nested 5 100"
	[ "$(field 1)" = 500 ]
	run "$NOPAL" latency lib:up -c ./works
	[[ "$output" == *"no pair of probes is called 'up'; found: op"* ]]
}

@test "-f csv printed the text table" {
	for form in "-f csv" --csv; do
		run --separate-stderr timeout 30 "$NOPAL" latency -q $form --by args.depth "$pairs:shop:order" -c "$pairs nested 3 100"
		[ "${lines[0]}" = "key,count,seconds,total_ns,avg_ns,p50_ns,p90_ns,p99_ns,p99.9_ns,max_ns" ]
		[ "$(printf '%s\n' "${lines[@]:1:3}" | cut -d, -f1,2 | sort | tr '\n' ' ')" = "1,100 2,100 3,100 " ]
	done
	run --separate-stderr timeout 30 "$NOPAL" latency -q --csv "$pairs" -c "$pairs unpaired 70 3"
	[ "${#lines[@]}" = 1 ]
	[[ "$stderr" == "unpaired: 70 started and did not end"* ]]
	run "$NOPAL" latency --csv --slowest 3 "$pairs" -c "$pairs nested 1 1"
	[ "$status" = 2 ]
}

@test "--by ustack showed equal rows; the time by stacks as rows and as a flame graph" {
	cat >work.c <<-'END'
		#include <sys/sdt.h>
		__attribute__((noinline)) static void work(void) { DTRACE_PROBE(lib, op__start); DTRACE_PROBE(lib, op__done); __asm__ volatile(""); }
		__attribute__((noinline)) static void first(void) { work(); __asm__ volatile(""); }
		__attribute__((noinline)) static void other(void) { work(); work(); __asm__ volatile(""); }
		int main(void) { first(); other(); other(); return 0; }
	END
	${CC:-cc} -g -O1 -I "$ROOT/include" -o work work.c
	latency --by ustack ./work -c ./work
	[ "$(grep -cE '^[1-5] +1 ' <<<"$output")" = 5 ]
	[ "$(grep -cE '^[1-5]:$' <<<"$output")" = 5 ]
	[ "$(grep -c 'other+.*work.c:4' <<<"$output")" = 4 ]
	latency --by 'ustack(2)' ./work -c ./work
	[[ "${lines[0]}" == "USTACK(2) "* ]]
	latency --csv --by ustack ./work -c ./work
	[ "$(sed 1d <<<"$output" | cut -d, -f1,2 | sed 's/.*main;main;//' | sort | tr '\n' ' ')" = "first;work,1 other;work,4 " ]
	latency --flame graph.html ./work -c ./work
	grep -q 'other' graph.html
	run "$NOPAL" latency --flame graph.html --by pid ./work -c ./work
	[ "$status" = 2 ]
}

@test "columns that a narrow terminal has no room for vanished without a word" {
	COLUMNS=60 latency "$pairs:shop:order" -c "$pairs nested 1 10"
	[[ "${lines[0]}" != *P90* && "${lines[2]}" == "without room in 60 columns: P90"* ]]
	COLUMNS=100 latency "$pairs:shop:order" -c "$pairs nested 1 10"
	[[ "${lines[0]}" == *P90* && "$output" != *"without room"* ]]
}

@test "names that are no pair" {
	run "$NOPAL" latency "$pairs:shop:ordr"
	[ "$status" = 2 ]
	[[ "$output" == *"no pair of probes is called 'ordr'; found: order"* ]]
	run "$NOPAL" latency "$pairs:shop:order__done"
	[[ "$output" == *"no pair of probes is called 'order__done': write START DONE, two of order__"* ]]
	run "$NOPAL" latency "$(private tick):tick:word"
	[[ "$output" == *"no pair of probes in"*"write START DONE"* ]]
	run "$NOPAL" latency
	[ "$status" = 2 ]
	[[ "$output" == *"write START DONE"* ]]
	run "$NOPAL" latency shop:order -c true
	[[ "$output" == *"the command's file and its libraries have no such pair of probes: write FILE:NAME"* ]]
	run "$NOPAL" latency --slowest 5000 "$pairs"
	[[ "$output" == *"'--slowest' takes at most 1000"* ]]
}

@test "tables and histograms fit the width" {
	for width in 60 80 200; do
		COLUMNS=$width latency --by args.depth,comm --slowest 1 "$pairs" -c "$pairs nested 5 100"
		[ "$(echo "$output" | wc -L)" -le $width ]
	done
	[[ "$output" == *"P99.9"* ]]
}

@test "operations of one thread that overlap were paired as if one were in the other, without a word" {
	latency "$pairs" -c "$pairs nested 5 10"
	[ "${lines[-1]}" = "inside another: 40; if they overlap, use -k KEY" ]
	latency -f json "$pairs" -c "$pairs nested 5 10"
	[[ "$output" == *'{"type": "inside", "starts": 40}'* ]]
	latency "$pairs" -c "$pairs fast 10"
	[[ "$output" != *"inside another"* ]]
	latency "uprobe:$pairs:order" -c "$pairs fast 10"
	[[ "$output" != *"inside another"* ]]
}

@test "start and done exchanged: the time between operations was shown as theirs, without a word" {
	run timeout 30 "$NOPAL" latency -q "$pairs:shop:order__done" "$pairs:shop:order__start" -c "$pairs fast 10"
	[ "$status" = 0 ]
	[[ "$output" == *"warning: by their names, '$pairs:shop:order__done' ends what '$pairs:shop:order__start' starts"* ]]
	[[ "$output" == *"hint: to measure the operations, write '$pairs:shop:order__start $pairs:shop:order__done'"* ]]
	run timeout 30 "$NOPAL" latency -q "$pairs:shop:order__start" "$pairs:shop:order__done" -c "$pairs fast 10"
	[[ "$output" != *warning* ]]
}

@test "an argument called span_id pairs operations that overlap in one thread" {
	cat >spans.c <<-'END'
		#include <sys/sdt.h>
		#include <unistd.h>
		int main(void)
		{
			for (unsigned long i = 0; i < 20; i++) {
				DTRACE_PROBE1(app, slow__start, 2 * i);
				DTRACE_PROBE1(app, slow__start, 2 * i + 1);
				usleep(2000);
				DTRACE_PROBE1(app, slow__done, 2 * i);
				usleep(20000);
				DTRACE_PROBE1(app, slow__done, 2 * i + 1);
			}
		}
	END
	printf 'provider app { probe slow__start(uint64_t span_id); probe slow__done(uint64_t span_id); };\n' >app.d
	gcc -g -O1 -I"$ROOT/include" -o spans spans.c
	export NOPAL_PROVIDERS=$PWD/app.d
	latency -f json --by 'args.span_id % 2' ./spans:app:slow -c ./spans
	[ "$(echo "$output" | jq -rs 'map(select(.type == "latency")) | sort_by(.p50_ns) | map(.key, .count) | join(" ")')" = "0 20 1 20" ]
	[[ "$output" != *"inside"* ]]
	unset NOPAL_PROVIDERS
	latency -f json ./spans:app:slow -c ./spans
	[[ "$output" == *'{"type": "inside", "starts": 20}'* ]]
}
