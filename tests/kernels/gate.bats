# What older kernels do otherwise than the newest: run on Debian's own by tests/kernels/amd64, and true of any.
load ../helpers

setup() {
	need_tracing
	cd "$BATS_TEST_TMPDIR" || return
	tick=$(private tick)
}

@test "an empty text was unreadable: it is empty" {
	run_traced "usdt:$tick:tick:word { printf(\"[%s] %d %d\\n\", str(arg0), str(arg0) == \"\",
		strncmp(str(arg0), \"a\", 1) == 0); @[str(arg0)] = count(); }
		END { print(@); clear(@); }" "$tick word '' ab ''"
	[ "$output" = $'[] 1 0\n[ab] 0 1\n[] 1 0\n@[ab]: 1\n@[]: 2' ]
	[ ! -s "$messages" ]
	"$NOPAL" -q -f json -e "usdt:$tick:tick:word { @[str(arg0)] = count() }" -c "$tick word '' ''" >json
	grep -F '"": 2' json
}

@test "600 sites at 1024 open files" {
	ulimit -Sn 1024
	run_traced "usdt:$(private many):many:site { @ = count(); @text[str(arg1)] = sum(arg0); }" ./many
	[ "$status" = 0 ]
	[[ "$output" == *"@: 600"* ]]
	[[ "$output" == *"@text[]: 360000"* ]]
	[ ! -s "$messages" ]
}

@test "a loop of 10,000 rounds" {
	run_traced "usdt:$tick:tick:number { \$sum = 0; \$i = 0; while (\$i < 10000) { \$sum += \$i; \$i++ } printf(\"%d\\n\", \$sum) }" \
		"$tick number 1"
	[ "$output" = 49995000 ]
}

# The map is cleared at the end: what clears it is the reader of the events, at any time after the one that asks for it.
@test "two unknown texts of 64 KiB were too much for the verifier" {
	run_traced "usdt:$tick:tick:word { @was[arg1] = str(arg0, 65536); \$a = str(arg0, 65536);
		printf(\"%d %d\\n\", \$a == @was[arg1], \$a == @was[5]); }
		END { clear(@was) }" "$tick word hello others"
	cat "$messages"
	[[ "$output" == *$'1 1\n1 0'* ]]
}

@test "^C with many sites waited for the kernel to let go of each before anything was printed" {
	"$NOPAL" doctor | grep -q '^uprobe_multi *no ' || skip "this kernel lets go of all sites at once"
	many=$(private many)
	start_tracer "usdt:$many:many:site { @ = count() }" -q
	"$many"
	# The closing of 600 sites, some 50 ms each, goes on in a process of its own. It is looked for from now on: a slow
	# machine may have finished before the prompt is seen to be back.
	awaits pgrep -x nopal-detach &
	stop_tracer
	wait $!
	grep -qx '@: 600' "$output_file"
}

@test "stacks of programs without frame pointers: the rounds of their walk are calls" {
	frames=$(private frames)
	run "$NOPAL" -q -e "uprobe:$frames:frames_here { @a[ustack] = count(); @b[ustack, 1] = count(); @c[ustack(33)] = count() }
		usdt:$frames:frames:here { @d[ustack] = count() }" -c "$frames 2 deep"
	cat <<<"$output"
	[ "$(grep -c ': 2$' <<<"$output")" = 4 ]
	[ "$(grep -c '^    recurse+' <<<"$output")" = $((3 * 41 + 32)) ]
	[ "$(grep -c '^    _start+' <<<"$output")" = 3 ]
	! grep -E '^nopal|warning' <<<"$output" || false
}

@test "stacks of scripts: the rounds of their walk are calls of bpf_loop" {
	local hit="uprobe:libc:getppid /pid == cpid/"
	printf '%s\n' 'import os' 'def f(n):' '    return f(n - 1) if n else os.getppid()' 'f(2)' >f.py
	run "$NOPAL" -q -f folded -e "$hit { @[pystack] = count() }" -c "/usr/bin/python3.11 -I -S f.py"
	[ "$output" = "<module> ($PWD/f.py:4);f ($PWD/f.py:3);f ($PWD/f.py:3);f ($PWD/f.py:3) 1" ]
	printf '%s\n' 'sub f { my $n = shift; return $n ? f($n - 1) : getppid() }' 'f(2);' >f.pl
	run "$NOPAL" -q -f folded -e "$hit { @[plstack] = count() }" -c "/usr/bin/perl f.pl"
	[ "$output" = "main (f.pl:2);main::f (f.pl:1);main::f (f.pl:1);main::f (f.pl:1) 1" ]
}
