# args.x of a uretprobe: the arguments that the call had.
load ../helpers

setup() {
	need_tracing
	bats_require_minimum_version 1.5.0
	cd "$BATS_TEST_TMPDIR" || return
	private returns >/dev/null
}

# traced SCRIPT MODE: what the script prints of ./returns MODE
traced() {
	run --separate-stderr timeout 30 "$NOPAL" -q -e "$1" -c "./returns $2"
	[ "$status" -eq 0 ] || echo "$stderr"
}

@test "each return of a recursive function has the arguments of its own call" {
	script='uretprobe:./returns:fact { printf("%d %s %d\n", args.n, str(args->name), retval); print(args) }'
	want=$(for n in "1 1" "2 2" "3 6" "4 24"; do
		set -- $n
		printf '%d four %d\n{ .n = %d, .name = "four" }\n' "$1" "$2" "$1"
	done)
	for without in "" uprobe_multi uprobe_multi,cookie,sleepable; do
		NOPAL_NO_FEATURES=$without traced "$script" fact
		[ "$(grep -v '^24$' <<<"$output" | sed '/^$/d')" = "$want" ] || { echo "without '$without': $output"; return 1; }
		[ "$stderr" = "" ]
	done
}

@test "what longjmp left is not met by a later call at the same place" {
	traced 'uretprobe:./returns:leave { @left = count() } uretprobe:./returns:fact { printf("%d ", args.n) }' leave
	[ "$(tr -d '\n' <<<"$output")" = "1 2 @left: 0" ]
	[ "$stderr" = "" ]
}

@test "functions that end with calls of each other return the last one first" {
	traced 'uretprobe:./returns:even, uretprobe:./returns:odd { printf("%s %d %d, ", func, args.n, retval) }' tail
	[ "$(tr -d '\n' <<<"$output")" = "even 4 4, odd 3 4, even 2 4, odd 1 4, even 0 4, even 5 5, even 4 4, odd 3 4, even 2 4, odd 1 4, " ]
	[ "$stderr" = "" ]
}

@test "threads have arguments of their own, and may end within a call" {
	traced 'uretprobe:./returns:stay /args.n < 50/ { @[args.n, retval - args.n] = count(); } uretprobe:./returns:stay { @all = count() }' threads
	[ "$(grep -c '^@\[[0-9], 1\]: 1$' <<<"$output")" = 9 ]
	[[ "$output" == *"@all: 18"* && "$output" != *"@[7,"* ]]
	[ "$stderr" = "" ]
}

@test "structs in registers, arguments without debug information, and those that are not kept" {
	traced 'uretprobe:./returns:by_value { printf("%d %d %d %d\n", args.p.a, args.p.b, args.x, args.arg2); print(args) }
		uretprobe:./returns:half { print(args) }' value
	[ "$output" = $'1 2 5 5\n{ .p = { .a = 1, .b = 2 }, .x = 5, .l = (unreadable) }\n{ .x = (unreadable), .n = 4 }' ]
	run -1 "$NOPAL" --dry-run -e 'uretprobe:./returns:by_value { print(args.l.words[3]) }'
	says unreadable-arg "it is a struct on the stack, which is only kept until the function returns" <<<"$output"
	run -1 "$NOPAL" --dry-run -e 'uretprobe:./returns:fact { print(args.m) }'
	says unknown-arg "has no argument 'm'" <<<"$output"
	run -1 "$NOPAL" --dry-run -e 'uretprobe:./returns:fact { print(arg0) }'
	says not-here "at the return 'args.arg0' is the one of the call" <<<"$output"
	strip -g -o bare returns
	run -1 "$NOPAL" --dry-run -e 'uretprobe:./bare:fact { print(args.n) }'
	says no-params "the parameters of 'uretprobe:./bare:fact' are not known" <<<"$output"
	run --separate-stderr "$NOPAL" -q -e 'uretprobe:./bare:fact { printf("%d \n", args.arg0) }' -c "./bare fact"
	[ "$(grep -v '^24' <<<"$output" | tr -d '\n')" = "1 2 3 4 " ]
}

# Another tracer had armed the return before.
@test "a return whose call was not seen is left out and counted" {
	mkfifo gate
	./returns wait <gate >calls &
	program=$!
	exec 7>gate
	"$NOPAL" -e 'uretprobe:./returns:wait_long { printf("other %d\n", retval) }' -p $program >other 2>other.messages &
	until grep -q Attached other.messages; do sleep 0.1; done
	echo -n a >&7 # it was called before anybody armed it; the second call is seen by the other tracer only
	until grep -q "in 2" calls; do sleep 0.1; done
	timeout 30 "$NOPAL" -e 'uretprobe:./returns:wait_long { printf("got %d\n", args.n) }' -p $program >out 2>messages &
	ours=$!
	until grep -q Attached messages; do sleep 0.1; done
	echo -n b >&7
	wait $ours
	exec 7>&-
	run -1 grep got out
	grep -q "other 3" other
	grep -q "warning: 1 return left out: the call was not seen" messages
}

@test "a child that returns from a call of its parent is counted" {
	traced 'uretprobe:./returns:become_two { printf("%d\n", args.n) }' fork
	[ "$(tr -d '\n' <<<"$output")" = 6 ]
	[[ "$stderr" == *"warning: 1 return left out: the call was not seen"* ]]
}

# The program's own line may come before the tracer's or after them.
@test "user mode leaves them to the kernel" {
	for mode in --kernel --user; do
		run --separate-stderr timeout 30 "$NOPAL" -q $mode -e 'uretprobe:./returns:fact { printf("%d \n", args.n) }' -c "./returns fact"
		[ "$(grep -v '^24' <<<"$output" | tr -d '\n')" = "1 2 3 4 " ] || { echo "$mode: $output $stderr"; return 1; }
	done
}
