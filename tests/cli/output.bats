# Where output goes, and what is done to it on its way.
load ../helpers

setup() {
	cd "$BATS_TEST_TMPDIR"
}

@test "BEGIN printed before the probes were live: who waited for that lost events" {
	need_tracing
	cp "$TARGETS/tick" .
	mkfifo out
	for i in 1 2 3 4 5 6 7 8; do
		"$NOPAL" -q -e 'BEGIN { printf("ready\n"); } usdt:./tick:tick:number { @n = count(); if (arg0 == 26) { exit(); } } END { print(@n); clear(@n); }' >out 3>&- &
		exec 5<out
		read -r line <&5
		kill -STOP $!
		[ "$line" = ready ]
		./tick number $(seq 26)
		kill -CONT $!
		read -t 20 -r line <&5
		[ "$line" = "@n: 26" ] || kill $!
		[ "$line" = "@n: 26" ]
		exec 5<&-
		wait $!
	done
	run "$NOPAL" -q -e 'BEGIN { printf("one\n"); system("echo two"); printf("three\n"); exit(); }' --unsafe
	[ "${lines[*]}" = "one two three" ]
}

@test "JSON of commands: a type in each line, times in UTC with their zone, null for NULL" {
	need_tracing
	cd "$BATS_TEST_TMPDIR"
	cat >null.c <<-'END'
		#include <nopal/sdt.h>
		#include <unistd.h>
		int main(void)
		{
			for (int i = 0; i < 3; i++) {
				const char *volatile text = i ? "text" : 0;
				NOPAL_PROBE(p, op__start, text);
				NOPAL_PROBE(p, op__done, text);
				usleep(150000);
			}
			return 0;
		}
	END
	${CC:-cc} -I "$ROOT/include" -o null null.c
	export TZ=Asia/Tokyo
	for command in "trace ./null" "count -k args.text ./null:op__start" "count -i 100ms ./null" "hist ./null:op__start pid" \
		"stack ./null" "latency ./null" "latency --slowest 2 ./null" "top -i 100ms ./null"; do
		echo "# $command"
		"$NOPAL" $command -q -f json -c ./null >out
		cat out
		[ "$(jq -r 'select(.type == null)' out)" = "" ]
		jq -se '[.[] | (.time // empty), (select(.type == "time") | .data)] | all(test("^20[0-9-]+T[0-9:.]+Z$"))' out >/dev/null
	done
	run "$NOPAL" trace -q -f json ./null:op__start -c ./null
	[ "$(jq -c .args.text <<<"$output" | tr '\n' ' ')" = 'null "text" "text" ' ]
	[ "$(date -u +%Y-%m-%d)" = "$(jq -rs '.[0].time[:10]' <<<"$output")" ]
	run "$NOPAL" count -q -f json -k args.text ./null:op__start -c ./null
	[ "$(jq -c '[.type, .key, .value]' <<<"$output" | tr '\n' ' ')" = '["row",["text"],2] ["row",[null],1] ' ]
}

@test "with standard error closed, notices went into the -o file" {
	need_tracing
	"$NOPAL" -o out -e 'BEGIN { printf("text\n"); exit() }' 2>&-
	[ "$(cat out)" = text ]
}

@test "with standard output closed, text went into a descriptor of our own" {
	need_tracing
	run timeout 20 bash -c '"$1" -q -e "BEGIN { printf(\"12345678\"); } interval:ms:300 { printf(\"later\"); exit() }" >&-' - "$NOPAL"
	[ "$status" = 0 ]
	[ "$output" = "" ]
	for closed in '<&-' '<&- >&-' '<&- >&- 2>&-'; do
		run bash -c '"$1" list "$2" '"$closed" - "$NOPAL" "$TARGETS/tick"
		[ "$status" = 0 ]
	done
}

@test "a script that does not compile emptied the -o file" {
	echo keep >out
	run "$NOPAL" -o out -e 'BEGIN { nonsense'
	[ "$status" = 1 ]
	[ "$(cat out)" = keep ]
	run "$NOPAL" -o out --dump=tree -e 'BEGIN { nonsense'
	[ "$(cat out)" = keep ]
	run "$NOPAL" -o out --dump=tree -e 'BEGIN { exit() }'
	[ "$(cat out)" != keep ]
}

@test "a full disk is an error of every command" {
	echo 'provider p { probe a(int); };' >p.d
	for words in "list $TARGETS/tick" "list -v $TARGETS/tick" "list --json $TARGETS/tick" doctor --help --version --help-script \
		"trace --help" "count --script p" "list --help" "provider --help" "provider --version" "doctor --help" \
		"provider -h -s p.d -o /dev/stdout" "provider -G -s p.d -o /dev/full" "-l usdt:$TARGETS/tick:*:*" \
		"--dump=tree -e BEGIN{}"; do
		# shellcheck disable=SC2086
		run bash -c 'nopal=$1; shift; "$nopal" "$@" >/dev/full' - "$NOPAL" $words
		echo "nopal $words: $status: $output"
		[ "$status" = 1 ]
		[[ "$output" == *"error: cannot write "* ]]
	done
}

# What a hostile name or text may hold: an escape sequence, a C1 control character, an override of the direction.
hostile=$'\033[31mred\302\233\342\200\256\303\266'
escaped='\x1b[31mred\xc2\x9b\xe2\x80\xae'$'\303\266'

@test "a hostile file name reached the terminal by list, errors, provider and -o" {
	cp "$TARGETS/tick" "$hostile"
	echo text >"$hostile.txt"
	for words in "list ./$hostile" "list ./$hostile.txt" "list ./no$hostile" "list -p 1 no$hostile" "-l usdt:./no$hostile:*:*" \
		"./no$hostile.bt" "provider -h -s no$hostile" "-o no$hostile/x -e BEGIN{}" "trace usdt:./$hostile:nothing:here" \
		"$hostile" "--$hostile" "list --$hostile" "doctor $hostile" "-c ./no$hostile -e BEGIN{}" "-f $hostile"; do
		# shellcheck disable=SC2086
		run "$NOPAL" $words
		echo "$output" | cat -v
		[[ "$output" != *$'\033'* ]]
		[[ "$output" != *$'\302\233'* ]]
		[[ "$output" != *$'\342\200\256'* ]]
	done
	run "$NOPAL" list "./no$hostile"
	[[ "$output" == *"$escaped"* ]]
}

@test "a pipe and a file let control bytes through to the terminal behind them" {
	need_tracing
	printf 'a %s\n' "$hostile" >steers
	local script="BEGIN { cat(\"steers\"); system(\"cat steers\"); @[str(\$1)] = 1; printf(\"%s\\n\", str(\$1)); print(str(\$1)); join(\$1) }"
	script=${script/; join(\$1)/}
	run "$NOPAL" -q --unsafe -e "$script" "$hostile"
	[ "$status" = 0 ]
	[ "$(grep -cF "$escaped" <<<"$output")" = 5 ]
	[[ "$output" != *$'\033'* ]]
	"$NOPAL" -q --unsafe -o out -e "$script" "$hostile"
	[ "$(grep -cF "$escaped" out)" = 5 ]
	"$NOPAL" -q --unsafe --raw -o out -e "$script" "$hostile"
	[ "$(grep -cF "$hostile" out)" = 5 ]
	run timeout 20 script -qec "$NOPAL -q --raw -e 'BEGIN { cat(\"steers\"); }'" /dev/null
	[[ "$output" != *$'\033[31m'* ]]
}

@test "hostile names of processes and symbols, in text, keys and stacks through a pipe" {
	need_tracing
	need_program objcopy
	cat >hostile.c <<'END'
#include <nopal/sdt.h>
#include <sys/prctl.h>
__attribute__((noinline)) int evil(int i) { NOPAL_PROBE(hostile, p, i); return i + 1; }
int main(void) { prctl(PR_SET_NAME, "\033[31mx\302\233"); return evil(evil(1)) == 77; }
END
	printf 'evil \033[2Jevil\302\233\n' >names
	gcc -O1 -fno-omit-frame-pointer -I"$ROOT/include" -o hostile hostile.c
	objcopy --redefine-syms=names hostile
	run bash -c '"$1" -q -e "usdt:$2:hostile:p { printf(\"%s %s\\n\", comm, ustack(1)); @[comm, ustack(1)] = count(); print(comm) }" -c "$2" | cat' \
		- "$NOPAL" "$PWD/hostile"
	[ "$(grep -cF '\x1b[31mx\xc2\x9b' <<<"$output")" = 5 ]
	[ "$(grep -cF '\x1b[2Jevil\xc2\x9b+' <<<"$output")" = 3 ]
	[[ "$output" != *$'\033'* ]]
	[[ "$output" != *$'\302\233'* ]]
}

@test "strftime of the clock of atoms was decades off" {
	local script='BEGIN { $t = nsecs(tai); @t = $t; printf("%s %s %s %s\n", strftime("%Y-%m-%d", $t), strftime("%Y-%m-%d", @t), strftime("%Y-%m-%d", nsecs(boot)), strftime("%Y-%m-%d", nsecs)); clear(@t); }'
	local before after
	before=$(date +%F)
	run --separate-stderr "$NOPAL" -q -e "$script"
	after=$(date +%F)
	[ "$status" = 0 ]
	for word in ${lines[0]}; do
		[ "$word" = "$before" ] || [ "$word" = "$after" ]
	done
	[ "$(wc -w <<<"${lines[0]}")" = 4 ]
}

@test "names of allocation flags, whatever the kernel's description holds" {
	local text deep
	need_tracing
	mkdir -p events/kmem/kmalloc
	deep=$(printf '(%.0s' {1..100})
	while IFS='|' read -r text want; do
		printf 'name: kmalloc\nID: 1\nprint fmt: "%%s", __print_flags(REC->f, "-", %s) : "none"\n' "$text" \
			>events/kmem/kmalloc/format
		run timeout 20 env NOPAL_TRACEFS="$PWD" "$NOPAL" -q -e 'BEGIN { printf("%gr\n", 0x13) }'
		echo "$text: $output"
		[ "${lines[0]//|/!}" = "$want" ]
		[ "$status" = 0 ]
	done <<-END
		{(gfp_t)(1UL << (4)), "A"}, { ( unsigned long)0x02u, "B"}, { 0, ((void *)0) }|A!B!0x1
		{3, "A"}, {16, "B"}, {1, "C"}|A!B
		{~0 & 3, "A"}, {1 << 64, "B"}|A!0x10
		{16, "x"|0x13
		{16, "x|0x13
		{16, x}|0x13
		{1 +, "A"}|0x13
		{$deep 1, "A"}|0x13
		|0x13
		{16, "$(printf '\033')"}|\x1b!0x3
	END
}
