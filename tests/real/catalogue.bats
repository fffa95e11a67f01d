# The catalogue against the notes of what is installed: every argument has a name, and no number is declared
# wider than its operand is (constants are as narrow as they please;
# object__alloc's size was an int once).
load ../helpers

setup() {
	need_program jq
}

check() {
	[ -e "$1" ] || skip "needs the Debian package $2"
	"$NOPAL" list --json "$1" | grep -v '"arguments": \[\]' >"$BATS_TEST_TMPDIR/sites" || skip "$1 has no probes"
	jq -r '. as $s | .arguments | to_entries[] | select(.value.name == null) |
		"\($s.provider):\($s.name) argument \(.key) has no name"' "$BATS_TEST_TMPDIR/sites" >"$BATS_TEST_TMPDIR/wrong"
	jq -r '. as $s | .arguments[] | select(.kind != "constant") |
		select($s.name != "object__alloc" and (((.type | test("[*]$|^(unsigned )?long|intptr_t$")) and .size != 8) or
			(.type == "_Bool" and .size > 4))) |
		"\($s.provider):\($s.name): \(.type) \(.name) is \(.raw)"' "$BATS_TEST_TMPDIR/sites" >>"$BATS_TEST_TMPDIR/wrong"
	cat "$BATS_TEST_TMPDIR/wrong"
	[ ! -s "$BATS_TEST_TMPDIR/wrong" ]
}

@test "postgres" {
	check "$(ls /usr/lib/postgresql/*/bin/postgres 2>/dev/null | sort -V | tail -1)" postgresql
}

@test "python" {
	check /usr/bin/python3.11 python3.11
}

@test "php" {
	check /usr/bin/php8.2 php8.2-cli
}

@test "ruby" {
	check /usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1 libruby3.1
}

@test "libstdc++" {
	check /usr/lib/x86_64-linux-gnu/libstdc++.so.6 libstdc++6
}

@test "the Java virtual machine" {
	check /usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so openjdk-17-jre-headless
}
