# Scripts that are large or long, on kernels of several ages: what one program cannot hold, several do.
load ../helpers

setup() {
	need_tracing
	cd "$BATS_TEST_TMPDIR" || return
	tick=$(private tick)
}

need_bpf_loop() {
	"$NOPAL" doctor -v 2>/dev/null | grep -Eq '^ *bpf_loop +yes' || "$NOPAL" doctor | grep -Eq 'bpf_loop +yes' || skip "this kernel has no bpf_loop"
}

# N clauses at one probe, each of which goes on from where the one before left off.
chain() {
	local i
	for ((i = 0; i < $1; i++)); do
		echo "usdt:$tick:tick:number /@n == $i || @n == 0/ { if (@n == $i) { @n = $((i + 1)); } else { printf(\"%s %d\\n\", comm, @n); } }"
	done
}

@test "8193 jumps were too complex: 250 clauses at a probe run in their order" {
	chain 250 >chain.bt
	run timeout 60 "$NOPAL" -q -c "$tick number 1" chain.bt
	[ "$output" = $'\n\n@n: 250' ] || [ "$output" = $'\n@n: 250' ]
	[ "$(timeout 60 "$NOPAL" --dump=bpf chain.bt | grep -c '^bpf program')" -gt 1 ]
	NOPAL_NO_FEATURES=uprobe_multi run timeout 60 "$NOPAL" -q -c "$tick number 1" chain.bt
	[[ "$output" == *"@n: 250"* ]]
}

# bats test_tags=deep
@test "without attach cookies only one site could be traced" {
	export NOPAL_NO_FEATURES=uprobe_multi,cookie
	run_traced "usdt:$(private many):many:site { @ = sum(arg0) }" ./many
	[[ "$output" == *"@: 360000"* ]]
	run_traced "usdt:$tick:tick:* { @[probe, arg0] = count() }" "$tick number 7"
	[[ "$output" == *"@[usdt:$tick:tick:number, 7]: 1"* ]]
}

@test "a loop that is too long was refused in the words of the verifier" {
	export NOPAL_NO_FEATURES=may_goto,bpf_loop
	run_traced 'BEGIN { $i = 0; while ($i < 40000) { if ($i % 3 == rand % 7) { @ = count() } $i++ } }' true
	[ "$status" = 1 ]
	cat "$messages"
	grep -F -- '-e:1:17: error: this loop is too complex for this kernel: the verifier checks at most' "$messages"
	grep -F 'hint: it checks every round of a loop, because it has neither bpf_loop (Linux 5.17) nor may_goto (6.9)' "$messages"
	! grep -i 'r10\|insn' "$messages"
}

@test "without may_goto a long loop was refused: bpf_loop calls its body" {
	export NOPAL_NO_FEATURES=may_goto
	need_bpf_loop
	cat >loops.bt <<'END'
	BEGIN {
		$i = 0; $sum = 0;
		while ($i < 4000) {
			$i++;
			if ($i % 2) { continue; }
			$j = 0;
			while ($j < 10) {
				$j++;
				if ($j == 3) { break; }
				$sum += $j;
				if ($i == 2000) { @broke[$j] = count(); }
			}
			if ($i == 3000) { break; }
		}
		printf("%d %d\n", $i, $sum);
	}
	END { $i = 0; while ($i < 10) { $j = 0; while (1) { $j++; if ($j > $i + 5) { printf("%d %d %s\n", $i, $j, comm); return; } } } }
END
	run timeout 60 "$NOPAL" -q loops.bt
	[[ "$output" == *"3000 4500"* ]]
	[[ "$output" == *"0 6 nopal"* ]]
	[[ "$output" == *"@broke[1]: 1"* ]]
	run timeout 60 "$NOPAL" -q -e 'BEGIN { while (1) { @n++; } }'
	[[ "$output" == *"@n: "* && "$output" == *"loop"* ]]
}
