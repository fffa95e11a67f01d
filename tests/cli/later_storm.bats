# Later images among many short-lived processes: nothing that lived 50 ms after it was mapped is missed, or it is
# said to be missed. RUNS of each case, 50 with STRESS=1, with 50 short-lived processes beside each.
load ../helpers

setup() {
	need_tracing
	runs=${RUNS:-${STRESS:+50}}
	runs=${runs:-3}
	cd "$BATS_TEST_TMPDIR" || return
	export TARGETS
}

# Fifty programs that are new to a tracer of all images, and gone at once; some of them at the same time.
cat_beside='for i in $(seq 50); do cp /bin/true brief$i; ./brief$i & done; wait'

# A fresh copy of a program, so that nothing of it is known: $fresh.
fresh_copy() {
	fresh=$BATS_TEST_TMPDIR/$1-$round
	cp "$TARGETS/$1" "$fresh"
}

# Did this run see what it should, or say that it did not? Counts in $missed (said) and $silent.
judge() {
	local wanted=$1 seen
	seen=$(grep -c "^seen " out || true)
	[ "$seen" = "$wanted" ] && return
	if grep -qE "mapped less than|armed at most|could be read|got lost" messages; then
		missed=$((missed + 1))
		echo "# round $round: $seen of $wanted, and said so: $(grep -E '^warning: [0-9]' messages | tr '\n' ' ')"
	else
		silent=$((silent + 1))
		echo "# round $round: $seen of $wanted"
		cat messages
	fi
}

# storm EVENTS COMMAND: each round traces COMMAND, a shell script, with -c; $fresh is a new program.
storm() {
	local wanted=$1 command=$2
	missed=0 silent=0
	for round in $(seq "$runs"); do
		fresh_copy later
		rm -f brief*
		printf '%s\n' "(cd $BATS_TEST_TMPDIR && $cat_beside) >/dev/null 2>&1 &" "$command" wait >script
		fresh=$fresh timeout 60 "$NOPAL" -q -e 'usdt::u:ev { printf("seen %s\n", args) }' -c 'sh script' >out 2>messages || true
		judge "$wanted"
		rm -f "$fresh"
	done
	echo "# $runs runs: $missed missed and said so, $silent missed silently" >&3
	[ "$silent" = 0 ]
	[ "$missed" -le $((runs / 2)) ]
}

@test "an image with another record layout, among short-lived processes" {
	storm 2 '"$fresh" 60; "$fresh" 60'
}

@test "an image whose first process was short-lived was never looked at again" {
	# shellcheck disable=SC2016
	storm 2 '"$fresh" 2>/dev/null; sleep 0.05; "$fresh" 60; "$fresh" 60'
}

@test "children were missed whole when their fork was heard of after their mappings" {
	# shellcheck disable=SC2016
	storm 12 '"$fresh" 60 4 & "$fresh" 60 4 & "$fresh" 60 4 & wait $!'
}

@test "every process: programs that live 60 ms, started by somebody else" {
	missed=0 silent=0
	for round in $(seq "$runs"); do
		fresh_copy later
		rm -f brief*
		ours=$BATS_TEST_TMPDIR/lt$$-$round # others may run the same program
		mv "$fresh" "$ours"
		fresh=$ours
		start_tracer "usdt:*:u:ev /comm == \"$(basename "$ours")\"/ { printf(\"seen %s\\n\", args) }" -q
		bash -c "$cat_beside" 3>&- &
		"$fresh" 60 4 3>&- &
		"$fresh" 60
		sleep 1.5 # what is still on its way is delivered, or said to be missed
		stop_tracer
		mv "$output_file" out
		judge 5
		rm -f "$fresh"
	done
	echo "# $runs runs: $missed missed and said so, $silent missed silently" >&3
	[ "$silent" = 0 ]
}
