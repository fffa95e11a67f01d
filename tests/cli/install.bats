# make install and make uninstall.
load ../helpers

setup() {
	prefix=$BATS_TEST_TMPDIR/prefix
}

install_part() {
	make -s -C "$ROOT" "$1" O="${O:-build}" PREFIX="$prefix" DESTDIR= "${@:2}"
}

installed() {
	(cd "$prefix" && find . ! -type d | sort)
}

# bats test_tags=deep
@test "what is installed works, and all of it is uninstalled" {
	mkdir -p "$prefix/include"
	touch "$prefix/include/own.h"
	install_part install
	"$prefix/bin/nopal" list "$prefix/bin/nopal" 2>&1 | grep 'no probes'
	"$prefix/bin/dtrace" --help | grep -q '^usage: dtrace'
	printf '#include <sys/sdt.h>\nint main(void) { DTRACE_PROBE(a, b); }\n' >"$BATS_TEST_TMPDIR/a.c"
	cc -I"$prefix/include" -o "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/a.c"
	[ "$("$prefix/bin/nopal" list "$BATS_TEST_TMPDIR/a")" = "usdt:$BATS_TEST_TMPDIR/a:a:b" ]
	[ "$(installed | sed 's|^\.|'"$prefix"'|' | grep -v -e /own.h -e /share/nopal/installed)" = "$(cat "$prefix/share/nopal/installed")" ]
	# What pkg-config says links a program with the library, and with the static one.
	export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
	printf '#include <nopal/trace.h>\nint main(void) { return !*nopal_version() + (nopal_trace_open("", 0, 0, 0) == 0); }\n' >"$BATS_TEST_TMPDIR/b.c"
	# shellcheck disable=SC2046
	cc ${SAN:+-fsanitize=address,undefined} -o "$BATS_TEST_TMPDIR/b" "$BATS_TEST_TMPDIR/b.c" $(pkg-config --cflags --libs nopal)
	LD_LIBRARY_PATH=$prefix/lib "$BATS_TEST_TMPDIR/b"
	# shellcheck disable=SC2046
	cc ${SAN:+-fsanitize=address,undefined} -o "$BATS_TEST_TMPDIR/s" "$BATS_TEST_TMPDIR/b.c" $(pkg-config --static --cflags --libs nopal | sed 's/-lnopal /-l:libnopal.a /')
	"$BATS_TEST_TMPDIR/s"
	# Again, over itself.
	install_part install
	install_part uninstall
	[ "$(cd "$prefix" && find . | sort)" = $'.\n./include\n./include/own.h' ]
	run install_part uninstall
	[ "$status" != 0 ]
	[[ "$output" == *"nothing to uninstall"* ]]
}

# bats test_tags=deep
@test "dtrace and sys/sdt.h of another package were replaced without a word" {
	mkdir -p "$prefix/bin" "$prefix/include/sys"
	echo theirs >"$prefix/bin/dtrace"
	echo theirs >"$prefix/include/sys/sdt.h"
	run install_part install
	echo "$output"
	[ "$status" != 0 ]
	[[ "$output" == *"'$prefix/bin/dtrace' exists"* ]]
	[[ "$output" == *"'$prefix/include/sys/sdt.h' exists"* ]]
	[[ "$output" == *"make install-cli"* ]]
	[ "$(installed)" = $'./bin/dtrace\n./include/sys/sdt.h' ]
	[ "$(cat "$prefix/bin/dtrace" "$prefix/include/sys/sdt.h")" = $'theirs\ntheirs' ]

	install_part install-cli
	[ "$(cat "$prefix/bin/dtrace")" = theirs ]
	[ -x "$prefix/bin/nopal" ]
	[ ! -e "$prefix/include/nopal" ]

	install_part install-dev REPLACE=1
	! grep -q theirs "$prefix/include/sys/sdt.h" || false
	"$prefix/bin/dtrace" --help | grep -q '^usage: dtrace'
}

# bats test_tags=deep
@test "a package's file is named with the package" {
	dpkg -S /usr/bin/dtrace >/dev/null 2>&1 || skip "no package has /usr/bin/dtrace"
	prefix=/usr
	run install_part install-dev
	echo "$output"
	[ "$status" != 0 ]
	[[ "$output" == *"'/usr/bin/dtrace' exists and is not of this installation, but of the package $(dpkg -S /usr/bin/dtrace | sed 's/:.*//')"* ]]
	[ ! -e /usr/include/nopal ]
}
