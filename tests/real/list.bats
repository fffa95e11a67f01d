# What `nopal list --json` says of a file is what readelf -n says: for each ELF file with notes on this machine.
load ../helpers

# Files below the usual directories that have the section's name in them.
files_with_notes() {
	local dirs=()
	for dir in /usr/bin /usr/sbin /usr/lib /usr/libexec /usr/local /opt; do
		[ -d "$dir" ] && dirs+=("$dir")
	done
	timeout 300 grep -rlasF --exclude='*.a' --exclude='*.py' --exclude='*.h' .note.stapsdt "${dirs[@]}" |
		while IFS= read -r file; do
			[ "$(head -c 4 "$file" 2>/dev/null | tr -d '\0')" = $'\177ELF' ] && echo "$file"
		done
}

# One line a note: provider, name, location, base, semaphore, arguments, separated by "|".
from_readelf() {
	LC_ALL=C readelf -nW "$1" 2>/dev/null | awk '
		function hex(s) { sub(/,$/, "", s); sub(/^0x0*/, "", s); return "0x" (s == "" ? "0" : s) }
		/Provider: / { provider = $0; sub(/.*Provider: /, "", provider) }
		/^    Name: / { name = substr($0, 11) }
		/^    Location: / { place = hex($2) "|" hex($4) "|" hex($6) }
		/^    Arguments: ?/ { print provider "|" name "|" place "|" substr($0, 16) }'
}

from_elfutils() {
	LC_ALL=C eu-readelf -n "$1" 2>/dev/null | awk '
		function hex(s) { sub(/,$/, "", s); sub(/^0x0*/, "", s); return "0x" (s == "" ? "0" : s) }
		/^    PC: / { place = hex($2) "|" hex($4) "|" hex($6) }
		/^    Provider: / {
			match($0, /, Name: /)
			provider = substr($0, 15, RSTART - 15)
			rest = substr($0, RSTART + 8)
			match(rest, /, Args: \x27/)
			args = substr(rest, RSTART + 9)
			sub(/\x27$/, "", args)
			print provider "|" substr(rest, 1, RSTART - 1) "|" place "|" args
		}'
}

from_nopal() {
	"$NOPAL" list --json "$1" |
		jq -r '[.provider, .name, .location, .base, .semaphore, .args] | join("|")'
}

@test "each ELF file with notes on the machine: the same as readelf -n" {
	need_program readelf
	need_program jq
	count=0
	while IFS= read -r file; do
		from_readelf "$file" >"$BATS_TEST_TMPDIR/want"
		[ -s "$BATS_TEST_TMPDIR/want" ] || continue
		from_nopal "$file" >"$BATS_TEST_TMPDIR/got"
		diff -u "$BATS_TEST_TMPDIR/want" "$BATS_TEST_TMPDIR/got" || { echo "differs: $file"; return 1; }
		count=$((count + 1))
	done < <(files_with_notes)
	echo "# $count files" >&3
	[ "$count" -gt 0 ] || skip "no file here has probes"
}

@test "real programs: the same as eu-readelf -n" {
	need_program eu-readelf
	need_program jq
	count=0
	for file in /usr/lib/x86_64-linux-gnu/libstdc++.so.6 /usr/lib/postgresql/*/bin/postgres \
		/usr/lib/jvm/*/lib/server/libjvm.so /usr/bin/python3.11 /usr/bin/php8.2 \
		/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1; do
		[ -f "$file" ] || continue
		from_elfutils "$file" >"$BATS_TEST_TMPDIR/want"
		[ -s "$BATS_TEST_TMPDIR/want" ] || continue
		from_nopal "$file" >"$BATS_TEST_TMPDIR/got"
		diff -u "$BATS_TEST_TMPDIR/want" "$BATS_TEST_TMPDIR/got" || { echo "differs: $file"; return 1; }
		count=$((count + 1))
	done
	[ "$count" -gt 0 ] || skip "none of these programs is here"
}

@test "each argument in real files is understood" {
	need_program jq
	count=0
	for file in /usr/lib/x86_64-linux-gnu/libstdc++.so.6 /usr/lib/postgresql/*/bin/postgres \
		/usr/lib/jvm/*/lib/server/libjvm.so /usr/bin/python3.11 /usr/bin/php8.2 \
		/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1; do
		[ -f "$file" ] || continue
		run bash -c '"$1" list --json "$2" |
			jq -r "select(.problem) , (.arguments[] | select(.kind == \"unknown\" or .problem))"' - \
			"$NOPAL" "$file"
		[ "$output" = "" ]
		count=$((count + 1))
	done
	[ "$count" -gt 0 ] || skip "none of these programs is here"
}

@test "PostgreSQL's globals are found in the file" {
	need_program jq
	for file in /usr/lib/postgresql/*/bin/postgres; do
		[ -f "$file" ] || skip "no PostgreSQL here"
		address=$(nm -D "$file" | awk '$3 == "CheckpointStats" { print $1 }')
		[ -n "$address" ]
		# checkpoint__done's arg1 is 40 bytes into CheckpointStats, relative to the site.
		run bash -c '"$1" list --json "$2" | jq -r "select(.name == \"checkpoint__done\") |
			.location as \$l | .arguments[] | select(.raw | contains(\"40+CheckpointStats\")) |
			\"\(\$l) \(.offset)\""' - "$NOPAL" "$file"
		read -r location offset <<<"$output"
		[ $((location + offset)) = $((0x$address + 40)) ]
	done
}
