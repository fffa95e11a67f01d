# Tables of intervals: each event is in exactly one of them.
load ../helpers

setup() {
	need_tracing
	cd "$BATS_TEST_TMPDIR"
	private storm >/dev/null
}

# counted: the sum of all that was counted, in lines such as "@[1]: 5" and "[2, 4)  7 |@@ |".
counted() {
	awk '/^@.*: [0-9]+$/ { sum += $NF } /^[[(].*\|/ { for (i = 1; i < NF; i++) if ($i ~ /^[0-9]+$/) { sum += $i; break } } END { print sum + 0 }'
}

# adds_up EVENTS OPTION...: of three threads, whatever is counted.
adds_up() {
	local events=$1 statement rest
	shift
	for statement in '@ = count();' '@[arg1] = count();' '@ = sum(1);' '@++;' '@[arg1]++;' '@ = hist(arg1);' '@[arg1] = hist(arg0);' \
		'@[str("a text"), arg1] = sum(1);'; do
		for rest in clear zero; do
			run timeout 60 "$NOPAL" -q "$@" -e "usdt:./storm:storm:event { $statement } interval:ms:20 { print(@); $rest(@); }" -c "./storm $events 3 7"
			[ "$status" = 0 ]
			echo "$statement $rest: $(echo "$output" | counted)"
			[ "$(echo "$output" | counted)" = $((3 * events)) ]
		done
	done
}

# bats test_tags=deep
@test "what comes between print and clear is in the next table, in the kernel" {
	adds_up 60000
}

@test "what comes between print and clear is in the next table, in user mode" {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	adds_up 500000 --user
}

@test "a map that a clause reads is taken as exactly" {
	local options events script='usdt:./storm:storm:event { @ = count(); if (@ > 1000000000) { exit(); } } interval:ms:20 { print(@); clear(@); }'
	for options in '' --user; do
		events=$([ -z "$options" ] && echo 60000 || echo 400000)
		run timeout 60 "$NOPAL" -q $options -e "$script" -c "./storm $events 3 7"
		[ "$(echo "$output" | counted)" = $((3 * events)) ]
	done
}

# bats test_tags=deep
@test "no value that is the largest of its interval falls between two" {
	for options in '' --user; do
		for value in 'max(arg0)' 'min(arg0)' 'avg(arg0)' 'stats(arg0)' '(arg0, 1)' 'str("abc")'; do
			run timeout 60 "$NOPAL" -q $options -e "usdt:./storm:storm:event { @[arg0] = $value; } interval:ms:5 { print(@); clear(@); }" -c './storm 2000 1 1'
			[ "$(echo "$output" | grep -c '^@')" = 2000 ]
		done
	done
}

# bats test_tags=deep
@test "average and total of intervals are of the same events" {
	for options in '' --user; do
		for key in '' '[arg1]'; do
			run timeout 60 "$NOPAL" -q $options -e "usdt:./storm:storm:event { @$key = stats(2); } interval:ms:20 { print(@); clear(@); }" -c './storm 60000 3 7'
			[ "$(echo "$output" | grep -o 'count = [0-9]*' | awk '{ n += $3 } END { print n }')" = 180000 ]
			[ "$(echo "$output" | grep -o 'total = [0-9]*' | awk '{ n += $3 } END { print n }')" = 360000 ]
		done
	done
}

@test "count, hist and stack -i add up, and -n 2 prints two results, not a third of what is left" {
	local options=()
	for options in '' --user; do
		run timeout 60 "$NOPAL" count -q -f csv $options -i 20ms ./storm:storm:event -c './storm 60000 3 7'
		[ "$(echo "$output" | grep -v '^[a-z]*,count' | awk -F, '{ n += $NF } END { print n }')" = 180000 ]
		run timeout 60 "$NOPAL" stack -q -f folded $options -i 20ms ./storm:storm:event -c './storm 60000 3 7'
		[ "$(echo "$output" | awk '{ n += $NF } END { print n }')" = 180000 ]
		for command in count hist stack; do
			run timeout 60 "$NOPAL" $command -q -f json $options -i 300ms -n 2 ./storm:storm:event $([ $command = hist ] && echo arg0) -c './storm 1000000000 1 1'
			[ "$status" = 0 ]
			[ "$(echo "$output" | grep -c '"@"')" = 2 ]
		done
		run timeout 60 "$NOPAL" count -q -f csv $options -i 1h -n 2 --top 1 ./storm:storm:event -c './storm 100 1 1'
		[ "$(echo "$output" | tail -n 1 | awk -F, '{ print $NF }')" = 100 ]
	done
}
