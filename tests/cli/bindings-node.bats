# The Node.js package, bindings/node: its programs are traced from outside.
load ../helpers

setup() {
	need_program node
	package=$ROOT/bindings/node
	[ -e "$package/usdt.node" ] || "$package/build" install || skip "no headers of Node.js: libnode-dev"
	out=$BATS_TEST_TMPDIR/out
}

# Start a program of the package and wait until it has said its pid.
start_program() {
	: >"$out"
	node "$@" >"$out" 2>"$out.errors" 3>&- &
	program=$!
	for _ in $(seq 200); do
		grep -q "^\(pid\|process\) $program\$" "$out" && return 0
		kill -0 $program 2>/dev/null || break
		sleep 0.05
	done
	cat "$out" "$out.errors"
	return 1
}

wait_program() {
	wait "$program"
	status=$?
	program=
	return $status
}

# nopal_sees WHAT SCRIPT: what nopal prints of fire.js WHAT.
nopal_sees() {
	need_tracing
	start_program "$package/test/fire.js" "$1"
	start_tracer "usdt::nodetest:$1 $2" -q -p "$program"
	wait_program
	wait $tracer || true
	cat "$output_file"
}

# The same with bpftrace, which places the probe some time before it listens.
bpftrace_sees() {
	need_tracing
	need_program bpftrace
	DELAY=${DELAY:-400} start_program "$package/test/fire.js" "$1"
	timeout 20 bpftrace -q -e "usdt::nodetest:$1 $2" -p "$program" >"$out.bpftrace" 2>"$out.messages" 3>&- &
	tracer=$!
	wait_program
	wait "$tracer" || true
	sed '/^$/d' "$out.bpftrace"
}

@test "node: the interface without a tracer, and what is collected" {
	run node --expose-gc "$package/test/api.js"
	echo "$output"
	[ "$status" = 0 ]
	[ "$(grep -c '^ok' <<<"$output")" = 9 ]
	[ "$(node "$package/test/import.mjs")" = "true false" ]
}

# gdb_sees WHAT '"= FORMAT", ARGUMENTS': what gdb prints of fire.js WHAT.
gdb_sees() {
	start_program "$package/test/fire.js" "$1"
	(cd "$BATS_TEST_TMPDIR" && gdb_prints "$program" : "" "nodetest:$1 $2")
	wait_program
}

@test "node: the first probe counts down only while it is traced, and is gone at 0" {
	need_tracing
	PAUSE=20 start_program "$package/examples/first-probe.js"
	"$NOPAL" list -p $program | grep -qx 'usdt:"/memfd:nopal:nodeProvider (deleted)":nodeProvider:firstProbe'
	sleep 0.2
	! grep -q fired "$out" || false

	# A tracer that leaves after three events: silence again.
	start_tracer 'usdt::nodeProvider:firstProbe { printf("%d %s\n", arg0, str(arg1)); if (arg0 == 7) { exit() } }' \
		-q -p $program
	wait $tracer || true
	head -3 "$output_file" | diff - <(printf '%d My little string\n' 9 8 7)
	fired=$(grep -c fired "$out")
	sleep 0.2
	[ "$(grep -c fired "$out")" = "$fired" ]

	start_tracer 'usdt::nodeProvider:firstProbe { printf("%d %s\n", arg0, str(arg1)) }' -q -p $program
	wait_program
	wait $tracer || true
	[ "$(tail -1 "$output_file")" = "0 My little string" ]
	[ "$(wc -l <"$output_file")" = $((10 - fired)) ]
	[ "$(grep -c fired "$out")" = 10 ]
	[ "$(tail -1 "$out")" = "Disabled." ]
}

@test "node: bpftrace sees the first probe" {
	need_tracing
	need_program bpftrace
	PAUSE=50 start_program "$package/examples/first-probe.js"
	timeout 20 bpftrace -q -e 'usdt::nodeProvider:firstProbe { printf("%d %s\n", arg0, str(arg1)) }' \
		-p $program >"$out.bpftrace" 2>"$out.messages" 3>&- &
	tracer=$!
	wait_program
	wait $tracer || true
	sed -i '/^$/d' "$out.bpftrace"
	seen=$(wc -l <"$out.bpftrace")
	[ "$seen" -ge 3 ] # the first may fall between its placing the probe and its listening
	printf '%d My little string\n' 9 8 7 6 5 4 3 2 1 0 | tail -$seen | diff "$out.bpftrace" -
}

SIGNED=$'-128 -32768 -2147483648 -9223372036854775808
127 32767 2147483647 9223372036854775807
-1 -1 -1 -1
-1 1 1 -9007199254740991
0 0 0 0'
UNSIGNED=$'0 0 0 0
255 65535 4294967295 18446744073709551615
255 65535 4294967295 9007199254740991'

@test "node: integers at the edges of every width" {
	script='{ printf("%d %d %d %ld\n", arg0, arg1, arg2, arg3) }'
	[ "$(nopal_sees signed "$script")" = "$SIGNED" ]
	[ "$(bpftrace_sees signed "$script")" = "$SIGNED" ]
	script='{ printf("%d %d %u %lu\n", arg0, arg1, arg2, arg3) }'
	[ "$(nopal_sees unsigned "$script")" = "$UNSIGNED" ]
	[ "$(bpftrace_sees unsigned "$script")" = "$UNSIGNED" ]
}

OTHERS=$'1 0 fffffffffffffffe 0\n1 0 1000 10000000000000'
TWELVE="1 2 3 4 5 6 7 8 9 -10 -11 -12"

@test "node: booleans, pointers, twelve arguments, none" {
	run nopal_sees others '{ printf("%d %d %lx %lx\n", arg0, arg1, arg2, arg3) }'
	[ "$output" = "$OTHERS" ]
	run nopal_sees twelve '{ printf("%d %d %d %d %d %d %d %d %d %d %d %d\n",
		arg0, arg1, arg2, arg3, arg4, arg5, arg6, arg7, arg8, arg9, arg10, arg11) }'
	[ "$output" = "$TWELVE" ]
	run nopal_sees none '{ @ = count() }'
	[[ "$output" == *"@: 2"* ]]
}

FLOATS='3fc00000 bfb999999999999a
7fc00000 7ff8000000000000
ff800000 1
3dcccccd 8000000000000000
7f7fffff 7fefffffffffffff
1 10000000000000
7f800000 7ff0000000000000'

@test "node: floats, NaN and infinity among them: their bits, and in nopal the numbers" {
	numbers='1.5 -0.10000000000000001
nan nan
-inf 4.9406564584124654e-324
0.100000001 -0
3.40282347e+38 1.7976931348623157e+308
1.40129846e-45 2.2250738585072014e-308
inf inf'
	[ "$(bpftrace_sees floats '{ printf("%x %lx\n", arg0, arg1) }')" = "$FLOATS" ]
	[ "$(nopal_sees floats '{ printf("%x %lx\n", arg0, arg1) }')" = "$FLOATS" ]
	[ "$(nopal_sees floats '{ printf("%.9g %.17g\n", arg0, arg1) }')" = "$numbers" ]
	[ "$(nopal_sees floats '{ printf("%.9g %.17g\n", args.a0, args.a1) }')" = "$numbers" ]
}

TEXTS=$'[] [plain]
[Zürich 東京 🚀] [lone \xef\xbf\xbd.]
[bytes] [hi]'

@test "node: strings: UTF-8, lone surrogates, empty ones, NULL, bytes" {
	script='/arg0 != 0/ { printf("[%s] [%s]\n", str(arg0), str(arg1)) }'
	[ "$(nopal_sees texts "$script")" = "$TEXTS" ]
	[ "$(bpftrace_sees texts "$script")" = "$TEXTS" ]
	[[ "$(nopal_sees texts '/arg0 == 0 && arg1 == 0/ { @ = count() }')" == *"@: 1"* ]]
}

COUNTED=$'Zürich 7 1\na 3 2\nnopa 4 3\n 0 4\n 0 5'

@test "node: counted strings and buffers, with a NUL inside" {
	run nopal_sees counted '/arg0 != 0/ { printf("%s %d %d\n", str(arg0, arg1), arg1, arg2) }'
	[ "$output" = "$COUNTED" ]
	run nopal_sees counted '/arg2 == 2/ { printf("%r\n", buf(arg0, arg1)) }'
	[ "$output" = 'a\x00b' ]
	run nopal_sees counted '/arg0 == 0/ { printf("%d %d\n", arg1, arg2) }'
	[ "$output" = "0 6" ]
}

@test "node: 64 KiB arrive whole in nopal and gdb, and add up in bpftrace" {
	yes é | tr -d '\n' | head -c 65536 >"$out.long"
	export NOPAL_MAX_STRLEN=65536
	nopal_sees long '/arg2 == 65536/ { printf("%s\n%s\n", str(arg0), str(arg1, arg2)) }' >"$out.nopal"
	cmp "$out.nopal" <(cat "$out.long" && echo && cat "$out.long" && echo)
	gdb_sees long '"= %s\n= %d\n", (char *)$_probe_arg0, $_probe_arg2' >"$out.seen"
	cmp "$out.seen" <(cat "$out.long" && echo && echo 65536 && yes x | tr -d '\n' | head -c 2097152 && printf '\n2097152\n')
	DELAY=2000
	[ "$(bpftrace_sees long "/arg2 == 65536/ { $SUM_64K printf(\"%lx\n\", \$sum) }")" = "$(sum_64k "$out.long")" ]
}

@test "node: 64 KiB and 2 MiB" {
	run nopal_sees long '{ printf("%d %s %s\n", arg2, str(arg0 + 65530), str(arg1 + arg2 - 4, 4)) }'
	[ "${lines[0]}" = "65536 ééé éé" ]
	[[ "${lines[1]}" == "2097152 xxxxxx"* ]]
}

@test "node: what does not fit is not fired, and warned of once; a strict provider throws" {
	need_tracing
	start_program "$package/test/fire.js" wrong
	start_tracer 'usdt::nodetest:wrong, usdt::nodestrict:wrong { printf("%d %s %s\n", arg0, str(arg1), str(arg2, arg3)) }' \
		-q -p $program
	wait_program
	wait $tracer || true
	diff "$output_file" <(printf '1 right right\n1 right right\n')
	[ "$(grep -cx false "$out")" = 20 ]
	[ "$(grep -cx true "$out")" = 1 ]
	[ "$(grep -c '^USDTWarning NOPAL_NOT_FIRED' "$out")" = 1 ]
	[ "$(grep -c '^\(Type\|Range\)Error NOPAL_BAD_VALUE' "$out")" = 18 ]
	grep -qx "RangeError NOPAL_BAD_VALUE: probe 'wrong': argument 1 (int8): 128 does not fit" "$out"
	grep -qx "TypeError NOPAL_BAD_VALUE: probe 'wrong': argument 3 (buffer): cannot be a number" "$out"
	grep -qx "Error undefined: of a getter" "$out"
}

# Lines "TEXT LENGTH NUMBER" with their texts cut: gdb prints up to a NUL, and buffers have none at their ends.
cut_to_length() {
	LC_ALL=C awk '{ n = $(NF - 1); text = substr($0, 1, length($0) - length(n " " $NF) - 1)
		print substr(text, 1, n), n, $NF }'
}

@test "node: gdb sees every value" {
	need_program gdb
	numbers='$_probe_arg0, $_probe_arg1, $_probe_arg2, $_probe_arg3'
	[ "$(gdb_sees signed "\"= %d %d %d %ld\n\", $numbers")" = "$SIGNED" ]
	[ "$(gdb_sees unsigned "\"= %u %u %u %lu\n\", $numbers")" = "$UNSIGNED" ]
	[ "$(gdb_sees floats '"= %x %lx\n", $_probe_arg0, $_probe_arg1')" = "$FLOATS" ]
	[ "$(gdb_sees others "\"= %d %d %lx %lx\n\", $numbers")" = "$OTHERS" ]
	[ "$(gdb_sees texts '"= [%s] [%s]\n", (char *)$_probe_arg0, (char *)$_probe_arg1')" = "$TEXTS
[(null)] [(null)]" ]
	[ "$(gdb_sees counted '"= %s %d %d\n", (char *)$_probe_arg0, $_probe_arg1, $_probe_arg2' | cut_to_length)" = \
		"$COUNTED"$'\n 0 6' ]
	[ "$(gdb_sees twelve "\"= %d %d %d %d$(printf ' %%d%.0s' 4 5 6 7 8 9 10 11)\n\", $numbers$(printf ', $_probe_arg%d' 4 5 6 7 8 9 10 11)")" = \
		"$TWELVE" ]
}

@test "node: a program that starts after the tracer is traced" {
	need_tracing
	start_tracer 'usdt:*:nodelate:start { printf("%d %d\n", pid, arg0) }' -q
	run timeout 20 node -e "const { USDTProvider } = require('$package');
		const provider = new USDTProvider('nodelate');
		const probe = provider.addProbe('start', 'int');
		provider.enable();
		const timer = setInterval(() => {
			if (!probe.fire(() => [42])) return;
			console.log(process.pid);
			clearInterval(timer);
		}, 5)"
	stop_tracer || true
	[ "$status" = 0 ]
	grep -qx "$output 42" "$output_file"
}

@test "node: workers have probes of their own, and leave nothing behind" {
	[ "$(node "$package/test/workers.js" idle 3)" = "0 images" ]
	need_tracing
	start_program "$package/test/workers.js" 4 1000
	start_tracer 'usdt::nodeworkers:event { @[str(arg2)] = count(); @sum = sum(arg1) }' -q -p $program
	wait_program
	wait $tracer || true
	cat "$output_file"
	[ "$(grep -c '^@\[worker [0-3]\]: 1000$' "$output_file")" = 4 ]
	grep -qx '@sum: 1998000' "$output_file"
	[ "$(grep images "$out" | tr '\n' ' ')" = "4 images 0 images " ]
}

@test "node: a span's id pairs entry and return of calls that overlap, through awaits" {
	need_tracing
	start_program "$package/test/spans.js"
	start_tracer '
		usdt::nodespans:work__entry { printf("entry %d %s %d\n", args.span_id, str(arg0), arg1) }
		usdt::nodespans:inside { printf("inside %d %d\n", args.span_id, arg0) }
		usdt::nodespans:work__return { printf("return %d [%s] %d\n", args.span_id, str(arg1), args.nanoseconds > 0) }
		usdt::nodespans:done { exit() }' -q -p "$program"
	wait $tracer
	wait_program
	cat "$output_file"
	diff <(sort -k1,1 -k2,2n "$output_file") - <<-'END'
	entry 1 task 0
	entry 2 task 1
	entry 3 task 2
	entry 4 task 3
	entry 5 task 4
	entry 6 task 5
	entry 7 task 6
	entry 8 task 7
	entry 9 plain 8
	entry 10 throws 9
	entry 11 rejects 10
	entry 12 unhandled 11
	inside 1 0
	inside 2 1
	inside 3 2
	inside 4 3
	inside 5 4
	inside 6 5
	inside 7 6
	inside 8 7
	return 1 [(null)] 1
	return 2 [(null)] 1
	return 3 [(null)] 1
	return 4 [(null)] 1
	return 5 [(null)] 1
	return 6 [(null)] 1
	return 7 [(null)] 1
	return 8 [(null)] 1
	return 9 [(null)] 1
	return 10 [RangeError] 1
	return 11 [TypeError] 1
	return 12 [Error] 1
	END
	[ "$(grep -m1 return "$output_file")" = "return 8 [(null)] 1" ]
}

@test "node: the package is packed, installed offline, and works" {
	need_program npm
	cp -r "$package" "$BATS_TEST_TMPDIR/package"
	cd "$BATS_TEST_TMPDIR/package"
	rm -f usdt.node
	(cd "$package" && ./build pack "$BATS_TEST_TMPDIR/package")
	npm pack --offline --ignore-scripts --silent
	mkdir ../app
	cd ../app
	echo '{}' >package.json
	npm install --offline --no-audit --no-fund ../package/nopal-usdt-*.tgz
	node -e 'const { USDTProvider } = require("nopal-usdt");
		const provider = new USDTProvider("app");
		const probe = provider.addProbe("ready", "int");
		provider.enable();
		console.log(provider.isEnabled, probe.isEnabled, probe.fire(() => [1]))' | grep -qx "true false false"
	cd node_modules/nopal-usdt
	npm test --offline >"$out" 2>&1 || { cat "$out"; false; }
	[ "$(grep -c '^ok' "$out")" = 9 ]
	for file in LICENSE README.md CHANGELOG.md; do
		[ -s $file ]
	done
	node -e 'const { author, license } = require("./package.json"); console.log(author, license)' | grep -qx "The Nopal authors MIT"
}

@test "node: spans of one event loop overlap, and nopal latency pairs them by their id" {
	need_tracing
	cat >"$BATS_TEST_TMPDIR/loop.js" <<-END
		const { USDTProvider } = require("$package");
		const { setTimeout: sleep } = require("node:timers/promises");
		const provider = new USDTProvider("loopapp");
		const spans = { 5: provider.addSpan("fast"), 20: provider.addSpan("slow") };
		provider.enable();
		console.log("pid " + process.pid);
		(async () => {
			for (let i = 0; i < 100000; i++)
				await Promise.all([5, 20, 5, 20, 5, 20].map((ms) => spans[ms].run(() => [], () => sleep(ms))));
		})();
	END
	start_program "$BATS_TEST_TMPDIR/loop.js"
	for name in fast slow; do
		run timeout 20 "$NOPAL" latency -q -d 1 -f json -p "$program" "loopapp:$name"
		echo "$output"
		echo "$output" | jq -rs '.[0].p50_ns' >>"$BATS_TEST_TMPDIR/times"
	done
	kill "$program"
	# Paired by thread, both take as long.
	[ $(($(tail -n 1 "$BATS_TEST_TMPDIR/times") - $(head -n 1 "$BATS_TEST_TMPDIR/times"))) -gt 8000000 ]
}
