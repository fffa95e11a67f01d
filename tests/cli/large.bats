# Scripts that are large or long, on kernels of several ages: what one program cannot hold, several do.
load ../helpers

setup() {
	need_tracing
	cd "$BATS_TEST_TMPDIR" || return
	tick=$(private tick)
}

# N clauses at one probe, each of which goes on from where the one before left off.
chain() {
	local i
	for ((i = 0; i < $1; i++)); do
		echo "usdt:$tick:tick:number /@n == $i || @n == 0/ { if (@n == $i) { @n = $((i + 1)); } else { printf(\"%s %d\\n\", comm, @n); } }"
	done
}

@test "8193 jumps were too complex: 400 clauses at a probe run in their order" {
	chain 400 >chain.bt
	run timeout 60 "$NOPAL" -q -c "$tick number 1" chain.bt
	[ "$output" = $'\n\n@n: 400' ] || [ "$output" = $'\n@n: 400' ]
	[ "$(timeout 60 "$NOPAL" --dump=bpf chain.bt | grep -c '^bpf program')" -gt 1 ]
	NOPAL_NO_FEATURES=uprobe_multi run timeout 60 "$NOPAL" -q -c "$tick number 1" chain.bt
	[[ "$output" == *"@n: 400"* ]]
}

@test "without attach cookies only one site could be traced" {
	export NOPAL_NO_FEATURES=uprobe_multi,cookie
	run_traced "usdt:$(private many):many:site { @ = sum(arg0) }" ./many
	[[ "$output" == *"@: 360000"* ]]
	run_traced "usdt:$tick:tick:* { @[probe, arg0] = count() }" "$tick number 7"
	[[ "$output" == *"@[usdt:$tick:tick:number, 7]: 1"* ]]
}

@test "a loop that is too long was refused in the words of the verifier" {
	export NOPAL_NO_FEATURES=may_goto,bpf_loop
	run_traced 'BEGIN { $i = 0; while ($i < 1000000) { if ($i % 3 == rand % 7) { @ = count() } $i++ } }' true
	[ "$status" = 1 ]
	cat "$messages"
	grep -F -- '-e:1:17: error: this loop is too complex for this kernel: the verifier follows at most' "$messages"
	grep -F 'hint: it follows every round of a loop, since it has neither bpf_loop (Linux 5.17) nor may_goto (6.9)' "$messages"
	! grep -i 'r10\|insn' "$messages"
}
