# Languages that use libstapsdt by foreign functions find the library they know: by name, in its structures, traced.
load ../helpers

setup() {
	[ -e "$BUILD/libstapsdt.so.0" ] || skip "libstapsdt.so.0 is not built"
	[ -z "${SAN:-}" ] || skip "a library with sanitizers cannot be loaded by a program without"
	hosts=$ROOT/tests/programs/stapsdt_hosts
	said=$BATS_TEST_TMPDIR/said
	cd "$BATS_TEST_TMPDIR"
}

# hosted COMMAND...: it shows what it reads in the structures, fires while it is traced, and is silent afterwards.
hosted() {
	need_tracing
	"$@" >"$said" 2>&1 3>&- &
	program=$!
	for _ in $(seq 200); do
		[ -s "$said" ] && break
		sleep 0.05
	done
	[ "$(cat "$said")" = "hosted firstProbe 2 0 -1" ]
	# The program unloads as soon as it was traced: nopal may warn of the image that it sees come and go by that.
	output=$(timeout 20 "$NOPAL" -q -p "$program" 2>messages \
		-e 'usdt::hosted:firstProbe { printf("%s %d\n", str(arg0), arg1); exit() }')
	[ "$output" = "a text -7" ]
	wait "$program"
	[ "$(tail -1 "$said")" = "fired 0" ]
}

@test "Python by ctypes" {
	need_program python3
	hosted python3 "$hosts/ctypes_host.py" "$BUILD/libstapsdt.so.0"
}

@test "Ruby by Fiddle" {
	need_program ruby
	ruby -rfiddle -e 'exit Fiddle.const_defined?(:TYPE_VARIADIC)' || skip "needs Ruby 3.0"
	hosted ruby "$hosts/fiddle_host.rb" "$BUILD/libstapsdt.so.0"
}

@test "Perl by FFI::Platypus" {
	need_program perl
	perl -e 'use FFI::Platypus 1.00' 2>/dev/null || skip "needs libffi-platypus-perl"
	hosted perl "$hosts/platypus_host.pl" "$BUILD/libstapsdt.so.0"
}

# bats test_tags=deep
@test "Go by cgo" {
	need_program go
	need_program cc
	# As it is installed: the header and libstapsdt.so where the compiler looks.
	export GO111MODULE=off GOCACHE=$BATS_TEST_TMPDIR/cache CGO_CFLAGS="-I$ROOT/include" \
		CGO_LDFLAGS="-L$BUILD -lstapsdt -Wl,-rpath,$BUILD"
	go build -o host "$hosts/cgo_host.go"
	hosted ./host
}
