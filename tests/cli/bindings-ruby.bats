# The binding for Ruby: programs are traced from outside, by nopal and by bpftrace.

setup() {
	load ../helpers
	cd "$BATS_TEST_TMPDIR"
	need_program ruby
	build=$(dirname "$NOPAL")/ruby
	[ -e "$build/nopal/native.so" ] || skip "the binding for Ruby is not built: needs ruby-dev"
	RUBY="ruby -w -I $build -I $ROOT/bindings/ruby/lib"
	program=
}

teardown() {
	[ -z "$program" ] || { kill -9 "$program" && wait "$program"; } 2>/dev/null || true
}

# Start a Ruby program that prints its process id first; its input is descriptor 7.
start_ruby() {
	mkfifo input
	$RUBY "$@" <input >program.out 2>program.err 3>&- &
	program=$!
	exec 7>input
	for _ in $(seq 200); do
		[ -s program.out ] && return 0
		sleep 0.02
	done
	cat program.err
	return 1
}

# The program of before ends, so that another can start.
stop_program() {
	exec 7>&-
	kill -9 "$program" 2>/dev/null || true
	wait "$program" 2>/dev/null || true
	program=
	rm -f input
}

wait_for_word() {
	for _ in $(seq 300); do
		grep -q __BPFTRACE_NOTIFY_PROBES_ATTACHED "$1" && return 0
		sleep 0.02
	done
	cat "$1"
	return 1
}

# start_tracers SCRIPT [BPFTRACE-SCRIPT]: nopal, and bpftrace where there is one. What they print goes to
# nopal.out and bpftrace.out.
start_tracers() {
	export __BPFTRACE_NOTIFY_PROBES_ATTACHED=1
	timeout 50 "$NOPAL" -q -e "$1" -p "$program" >nopal.out 2>nopal.err 3>&- &
	nopal=$!
	bpftrace=
	if command -v bpftrace >/dev/null; then
		timeout 50 bpftrace -q -e "${2:-$1}" -p "$program" >bpftrace.out 2>&1 3>&- &
		bpftrace=$!
		wait_for_word bpftrace.out
	fi
	wait_for_word nopal.err
}

# trace_both MODE SCRIPT [BPFTRACE-SCRIPT]: fire what test/fired.rb has under MODE.
trace_both() {
	need_tracing
	start_ruby "$ROOT/bindings/ruby/test/fired.rb" "$1"
	start_tracers "$2 usdt::test:done { exit() }" "${3:-$2} usdt::test:done { exit() }"
	echo >&7
	wait $nopal || { cat nopal.err program.err; false; }
	[ -z "$bpftrace" ] || wait $bpftrace
	echo >&7
	wait $program
}

# Both printed this, and nothing else but empty lines. "check sort" when the order may be any.
check() {
	cat >expected
	sed '/^$/d' nopal.out | ${1:-cat} | diff expected -
	[ -z "$bpftrace" ] ||
		sed -E '/^$|^Attaching|__BPFTRACE_NOTIFY|RLIMIT_MEMLOCK/d' bpftrace.out | ${1:-cat} | diff expected -
}

@test "what needs no tracer" {
	run $RUBY "$ROOT/bindings/ruby/test/plain.rb"
	echo "$output"
	[ "$status" = 0 ]
}

@test "the interface of ruby-static-tracing" {
	run $RUBY "$ROOT/bindings/ruby/test/static_tracing.rb"
	echo "$output"
	[ "$status" = 0 ]
}

@test "integers of every width" {
	trace_both integers '
		usdt::test:signed { printf("%d %d %d %d\n", (int8)arg0, (int16)arg1, (int32)arg2, (int64)arg3) }
		usdt::test:unsigned { printf("%u %u %lu %lu\n", arg0, arg1, arg2, arg3) }
		usdt::test:twelve { printf("%d %d\n", arg0, arg5) }' '
		usdt::test:signed { printf("%ld %ld %ld %ld\n", (int8)arg0, (int16)arg1, (int32)arg2, (int64)arg3) }
		usdt::test:unsigned { printf("%lu %lu %lu %lu\n", arg0, arg1, arg2, arg3) }
		usdt::test:twelve { printf("%d %d\n", arg0, arg5) }'
	check <<-end
		-128 -32768 -2147483648 -9223372036854775808
		127 32767 2147483647 9223372036854775807
		-1 -1 -1 -4611686018427387905
		255 65535 4294967295 18446744073709551615
		0 0 0 9223372036854775808
		1 6
	end
}

@test "strings: encodings, NULs, no bytes and many" {
	trace_both strings '
		usdt::test:text { printf("%s|\n", str(arg0)) }
		usdt::test:bytes { printf("%r %d %d\n", buf(arg0, arg1 < 8 ? arg1 : 8), arg1, arg2) }
		usdt::test:bytes /arg1 > 4/ { printf("%s|\n", str(arg0 + arg1 - 4)) }'
	check <<-'end'
		grüße, 世界|
		|
		café|
		wide|
		cut|
		part|
		symbol|
		to_str|
		a\x00b\xff 4 7
		 0 8
		xxxxxxxx 65536 9
		last|
		from a block|
	end
}

@test "floats, true and false, pointers, nil, symbols" {
	trace_both others '
		usdt::test:floats { printf("%lx %x\n", arg0, arg1) }
		usdt::test:others { printf("%d %d %d %lx %d %s\n", arg0, arg1, arg2, arg3, arg4 != 0, str(arg5)) }'
	check <<-end
		3ff8000000000000 be800000
		7ff8000000000000 7f800000
		8000000000000000 40400000
		3fd0000000000000 0
		1 0 1 deadbeef 0 sym
		1 0 0 0 1 t
	end
}

@test "floats at their edges: the bits, and in nopal the numbers" {
	bits='usdt::test:floats { printf("%lx %x\n", arg0, arg1) }'
	trace_both edges "$bits" "$bits"
	check <<-end
		7fefffffffffffff 7f7fffff
		10000000000000 1
		1 80000000
		fff0000000000000 7fc00000
	end
	stop_program
	bpftrace=
	start_ruby "$ROOT/bindings/ruby/test/fired.rb" edges
	start_tracer 'usdt::test:floats { printf("%.17g %.9g\n", arg0, arg1) } usdt::test:done { exit() }' -q -p $program
	echo >&7
	wait $tracer
	diff "$output_file" - <<-end
		1.7976931348623157e+308 3.40282347e+38
		2.2250738585072014e-308 1.40129846e-45
		4.9406564584124654e-324 -0
		-inf nan
	end
}

@test "64 KiB arrive whole in nopal and add up in bpftrace" {
	long=$(yes é | tr -d '\n' | head -c 65536)
	echo -n "$long" >long
	sum=$(sum_64k long)
	script="config = { max_strlen = 65536 } usdt::test:text { $SUM_64K printf(\"%lx %s\n\", \$sum, str(arg0)) }
		usdt::test:bytes { $SUM_64K printf(\"%lx %d %s\n\", \$sum, arg1, str(arg0, arg1)) }"
	trace_both long "$script" "usdt::test:text { $SUM_64K printf(\"%lx\n\", \$sum) }
		usdt::test:bytes { $SUM_64K printf(\"%lx %d\n\", \$sum, arg1) }"
	[ -z "$bpftrace" ] || grep "^$sum" bpftrace.out | diff - <(printf '%s\n' "$sum" "$sum 65536")
	bpftrace= # its warnings quote the script
	check <<<"$sum $long"$'\n'"$sum 65536 $long"
}

# What gdb prints of fired.rb MODE: gdb_sees MODE 'PROBE FORMAT, ARGUMENTS'...
gdb_sees() {
	start_ruby "$ROOT/bindings/ruby/test/fired.rb" "$1"
	gdb_prints "$program" 'echo >input' test:done "${@:2}"
	stop_program
}

@test "gdb sees every value" {
	need_program gdb
	numbers='$_probe_arg0, $_probe_arg1, $_probe_arg2, $_probe_arg3'
	gdb_sees integers "test:signed \"= %d %d %d %ld\n\", $numbers" "test:unsigned \"= %u %u %u %lu\n\", $numbers" \
		'test:twelve "= %ld %ld %ld\n", $_probe_arg0, $_probe_arg5, $_probe_arg11' | diff - <(cat <<-end
		-128 -32768 -2147483648 -9223372036854775808
		127 32767 2147483647 9223372036854775807
		-1 -1 -1 -4611686018427387905
		255 65535 4294967295 18446744073709551615
		0 0 0 9223372036854775808
		1 6 12
	end
	)
	for mode in edges others; do
		gdb_sees $mode 'test:floats "= %lx %x\n", $_probe_arg0, $_probe_arg1' \
			"test:others \"= %d %d %ld %lx %s %s\n\", $numbers, (char *)\$_probe_arg4, (char *)\$_probe_arg5"
	done | diff - <(cat <<-end
		7fefffffffffffff 7f7fffff
		10000000000000 1
		1 80000000
		fff0000000000000 7fc00000
		3ff8000000000000 be800000
		7ff8000000000000 7f800000
		8000000000000000 40400000
		3fd0000000000000 0
		1 0 1 deadbeef (null) sym
		1 0 0 0 s t
	end
	)
	for mode in strings long; do
		gdb_sees $mode 'test:text "= %s|\n", (char *)$_probe_arg0' \
			'test:bytes "= %s %d %d\n", (char *)$_probe_arg0, $_probe_arg1, $_probe_arg2'
	done >got
	long=$(yes é | tr -d '\n' | head -c 65536)
	LC_ALL=C sed 's/a .*4 7$/a 4 7/' got | diff - <(printf '%s\n' 'grüße, 世界|' '|' 'café|' 'wide|' 'cut|' 'part|' 'symbol|' 'to_str|' \
		'a 4 7' ' 0 8' "$(yes x | tr -d '\n' | head -c 65532)last 65536 9" 'from a block|' "$long|" "$long 65536 1")
}

@test "nopal shows values as what they were declared" {
	need_tracing
	start_ruby "$ROOT/bindings/ruby/test/fired.rb" others
	start_tracer 'usdt::test:floats, usdt::test:others { print(args) } usdt::test:done { exit() }' -p $program
	echo >&7
	wait $tracer
	sed '/^{/!d' "$output_file" | diff - <(cat <<-end
		{ .double = 1.5, .single = -0.25 }
		{ .double = nan, .single = inf }
		{ .double = -0, .single = 3 }
		{ .double = 0.25, .single = 0 }
		{ .yes = true, .no = false, .int = 1, .pointer = 0xdeadbeef, .none = (null), .symbol = "sym" }
		{ .yes = true, .no = false, .int = 0, .pointer = 0x0, .none = "s", .symbol = "t" }
	end
	)
}

@test "values that do not fit are errors, never cut" {
	trace_both errors 'usdt::test:signed, usdt::test:unsigned, usdt::test:text, usdt::test:floats { printf("?\n") }'
	check </dev/null
	sed -n '/:/s/:.*//p' program.out | uniq -c | awk '{ print $1, $2 }' | diff - <(printf '%s\n' \
		"8 RangeError" "5 TypeError" "2 ArgumentError" "1 TypeError" "1 ArgumentError")
	grep -q '^RangeError: 18446744073709551616 does not fit into uint64$' program.out
}

@test "threads fire at once" {
	trace_both threads 'usdt::test:signed { @[arg0] = sum(arg1) }'
	check sort <<<"$(printf '@[%d]: 31125\n' 0 1 2 3)"
}

@test "Ractors fire at once" {
	trace_both ractors 'usdt::test:signed { @[arg0] = sum(arg1) }'
	check sort <<<"$(printf '@[%d]: 31125\n' 0 1 2 3)"
}

@test "strings stay where they are while the garbage collector runs" {
	trace_both gc '
		usdt::test:text { printf("%s\n", str(arg0)) }
		usdt::test:bytes { printf("%s %d %ld\n", str(arg0, arg1 + 1), arg1, arg2) }'
	check <<-end
		abbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
		ccc 3 9223372036854775807
	end
}

@test "a child of a traced process has the probes, and goes its own way" {
	trace_both fork 'usdt::test:text /strncmp(str(arg0), "par", 3) == 0/ { printf("%s\n", str(arg0)) }'
	check < <(printf '%s\n' parent parent parent parent)
	grep -qx 'child: 7' program.out
}

@test "a method's latency, switched by a signal" {
	need_tracing
	start_ruby "$ROOT/bindings/ruby/examples/latency.rb"
	kill -PROF $program
	for _ in $(seq 100); do
		"$NOPAL" list -p $program 2>/dev/null | grep -q ':shop:order$' && break
		sleep 0.02
	done
	start_tracers 'usdt::shop:order /arg1 >= 20000000/ { printf("%s\n", str(arg0)); exit() }'
	wait $nopal
	[ -z "$bpftrace" ] || wait $bpftrace
	check <<<order
	kill -PROF $program
	start_tracers 'usdt::shop:order { printf("%s\n", str(arg0)) } interval:ms:200 { exit() }'
	wait $nopal
	[ -z "$bpftrace" ] || wait $bpftrace
	check </dev/null
	kill -0 $program
}

@test "a method's callers, and its latency where it raises" {
	need_tracing
	cat >callers.rb <<-'ruby'
		require "ruby-static-tracing"

		class Inner
		  def work(fail:) = fail && raise("failed")
		end

		class Outer
		  def call(fail) = Inner.new.work(fail: fail)
		end

		StaticTracing::Tracer::Stack.register(Inner, :work)
		StaticTracing::Tracer::Latency.register(Outer, :call, provider: "times")
		StaticTracing.configure do |config|
		  config.add_tracer(StaticTracing::Tracer::Stack)
		  config.add_tracer(StaticTracing::Tracer::Latency)
		  config.mode = StaticTracing::Configuration::Modes::ON
		end
		$stdout.sync = true
		puts Process.pid
		while $stdin.gets
		  Outer.new.call(false)
		  Outer.new.call(true) rescue puts("raised")
		end
	ruby
	start_ruby callers.rb
	start_tracer 'usdt::inner:work { printf("%s: %s\n", str(arg0), str(arg1)) }
		usdt::times:call { printf("%s %d\n", str(arg0), arg1 > 0 && arg1 < 10000000000); @n++; if (@n == 2) { exit() } }' -q -p $program
	echo >&7
	wait $tracer
	# A caller a line, however control characters are shown.
	sed -i 's/\\n/\n/g' "$output_file"
	[ "$(grep -c '^work: callers.rb:8:in .call.$' "$output_file")" = 2 ]
	[ "$(grep -c '^callers.rb:2[12]:in ' "$output_file")" -ge 2 ]
	[ "$(grep -c '^call 1$' "$output_file")" = 2 ]
	grep -q raised program.out
}

@test "a block is called only while somebody traces" {
	need_tracing
	start_ruby "$ROOT/bindings/ruby/examples/requests.rb"
	run "$NOPAL" list -v -p $program
	[[ "$output" == *"request(const char *path, int64_t status)"* ]]
	sleep 0.2
	! grep -q fired program.out || false
	start_tracers 'usdt::app:request {
		printf("%d %d\n", arg1, strncmp(str(arg0), "/orders/", 8) == 0); exit() }'
	wait $nopal
	[ -z "$bpftrace" ] || wait $bpftrace
	check <<<"200 1"
	grep -q 'Probe fired!' program.out
	sleep 0.2
	before=$(grep -c fired program.out)
	sleep 0.2
	[ "$(grep -c fired program.out)" = "$before" ]
}

@test "readelf and nopal see the probes" {
	start_ruby "$ROOT/bindings/ruby/test/fired.rb" integers
	run "$NOPAL" list -p $program
	[[ "$output" == *:test:twelve* ]]
	fd=$(find /proc/$program/fd -lname '/memfd:nopal:test*')
	readelf -n "$fd" | awk '/Name:/ { print $2 }' | sort | tr '\n' ' ' | grep -qx \
		"bytes done floats others signed text twelve unsigned "
}

@test "the gem is packed, installed without a network, and works by itself" {
	"$ROOT/bindings/ruby/pack" gems >pack.log 2>&1 || { cat pack.log; false; }
	gem install --local --no-document --install-dir "$PWD/home" gems/nopal.gem >install.log 2>&1 || { cat install.log; false; }
	GEM_HOME=$PWD/home run ruby -w -e 'require "nopal"; p Nopal::Provider.new("a") { |p| p.probe(:b) }'
	[ "$output" = "#<Nopal::Provider a: 1 probes, loaded>" ]
}
