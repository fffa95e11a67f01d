# nopal fmt and nopal check: scripts as texts, and what they would attach to.
load ../helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

@test "fmt prints a script, writes it in place, or only asks" {
	printf 'BEGIN{\n@=1;exit()}' >a.bt
	run "$NOPAL" fmt a.bt
	[ "$status" = 0 ]
	[ "$output" = $'BEGIN\n{\n\t@ = 1;\n\texit()\n}' ]
	run "$NOPAL" fmt --check a.bt
	[ "$status" = 1 ]
	[ "$output" = a.bt ]
	chmod 740 a.bt
	"$NOPAL" fmt -i a.bt
	[ "$(cat a.bt)" = $'BEGIN\n{\n\t@ = 1;\n\texit()\n}' ]
	[ "$(stat -c %a a.bt)" = 740 ]
	run "$NOPAL" fmt --check a.bt -
	[ "$status" = 1 ] # standard input is empty, which is no script
	run "$NOPAL" fmt --check a.bt
	[ "$status" = 0 ]
	[ -z "$output" ]
	[ "$(ls)" = a.bt ]
	printf 'BEGIN{\n@=1;exit()}' >a.bt
	ln -s a.bt link
	"$NOPAL" fmt -i link
	[ -L link ]
	[ "$(head -1 a.bt)" = BEGIN ]
}

@test "fmt formats a script that imports others, and not these" {
	echo 'BEGIN{print("imported")}macro twice(x){x*2}' >part.bt
	printf 'import "part.bt"\nBEGIN{import "block.bt";print(twice(2));exit()}' >a.bt
	echo 'macro thrice(x){x*3}' >block.bt
	run "$NOPAL" fmt a.bt
	[ "$status" = 0 ]
	[ "$output" = $'import "part.bt"\nBEGIN { import "block.bt"; print(twice(2)); exit() }' ]
	"$NOPAL" fmt -i a.bt
	"$NOPAL" fmt --check a.bt
}

@test "fmt refuses what is no script, and leaves the file as it was" {
	echo 'BEGIN { @ = }' >bad.bt
	run "$NOPAL" fmt -i bad.bt
	[ "$status" = 1 ]
	says syntax 'bad.bt:1:13: error' <<<"$output"
	[ "$(cat bad.bt)" = 'BEGIN { @ = }' ]
	run "$NOPAL" fmt
	[ "$status" = 2 ]
	run "$NOPAL" fmt -i -e 'BEGIN { }'
	[ "$status" = 2 ]
	run "$NOPAL" fmt -e 'usdt:$1:a:b,i:s:$2 { print($9) }'
	[ "$output" = 'usdt:$1:a:b, i:s:$2 { print($9) }' ]
}

# bats test_tags=deep
@test "the tools of bpftrace stay the same programs" {
	tools=$(ls /usr/sbin/*.bt 2>/dev/null) || skip "needs the scripts of Debian's bpftrace"
	for tool in $tools; do
		"$NOPAL" fmt "$tool" >once.bt
		"$NOPAL" fmt --check once.bt
		"$NOPAL" --unsafe --dump=tree "$tool" >before
		"$NOPAL" --unsafe --dump=tree once.bt >after
		cmp before after
	done
}

@test "check shows what would be attached, without privileges" {
	cp "$TARGETS/tick" .
	cat >good.bt <<-'END'
		usdt:./tick:tick:loop { @ = count(); }
		uprobe:./tick:main, BEGIN { printf("%s\n", probe); }
		interval:s:$1 { exit(); }
	END
	run setpriv --reuid=65534 --regid=65534 --clear-groups "$NOPAL" check good.bt 5
	[ "$status" = 0 ]
	[ "${lines[0]}" = "usdt:$PWD/tick:tick:loop  2 sites" ] || [ "${lines[0]}" = "usdt:./tick:tick:loop  2 sites" ]
	[[ "${lines[1]}" == uprobe:*tick:main ]]
	[ "${lines[2]}" = BEGIN ]
	[ "${lines[3]}" = interval:s:5 ]
	run "$NOPAL" check -q -e 'BEGIN { exit(); }'
	[ "$status" = 0 ]
	[ -z "$output" ]
}

@test "check reports errors in probes, arguments and types, with status 1" {
	cp "$TARGETS/tick" .
	run "$NOPAL" check -e 'usdt:./tick:tick:wrod { @ = count(); }'
	[ "$status" = 1 ]
	says missing-probe "did you mean 'word'?" <<<"$output"
	run "$NOPAL" check -e 'usdt:./tick:tick:word { @ = arg9; }'
	[ "$status" = 1 ]
	says missing-arg 'has no arg9' <<<"$output"
	run "$NOPAL" check -e 'BEGIN { @ = 1; @ = "x"; }'
	[ "$status" = 1 ]
	run "$NOPAL" check
	[ "$status" = 2 ]
	run "$NOPAL" check /no/such.bt
	[ "$status" = 1 ]
}

@test "a probe with several sites is one probe where they are counted" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	need_tracing
	cp "$TARGETS/tick" .
	run "$NOPAL" -e 'usdt:./tick:tick:word, usdt:./tick:tick:loop { } interval:ms:1 { exit(); }'
	[[ "$output" == *"Attached 3 probes"* ]]
}

@test "--fmt is bpftrace's word for it" {
	run "$NOPAL" --fmt -e 'BEGIN{print(1);exit()}'
	[ "$output" = 'BEGIN { print(1); exit() }' ]
	echo 'BEGIN{print(2)}' >two.bt
	run "$NOPAL" --fmt two.bt
	[ "$output" = 'BEGIN { print(2) }' ]
}
