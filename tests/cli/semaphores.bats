# Semaphores that the kernel cannot raise: it finds a word by its place in the file, and the program reads another one.
# Where the linker lld lets two segments share a page of the file, and where a process has several copies of a library.
load ../helpers

setup() {
	need_tracing
	need_program ld.lld
	cd "$BATS_TEST_TMPDIR"
	chmod 755 "$BATS_RUN_TMPDIR" .
	build lld -fuse-ld=lld
}

build() {
	gcc -O2 -Wall -DNOPAL_SDT_ANY_PAGE -I"$ROOT/include" "$ROOT/tests/programs/semaphores.c" -o "$@"
}
build_library() {
	build "$1" -DLIBRARY -shared -fPIC "${@:2}"
}

# A program that waits for lines: $program; `fires N` lets it fire N times, and prints what it says. Once it has answered, it
# is not the shell any more that runs it.
start_program() {
	mkfifo to_program from_program
	"$@" <to_program >from_program 3>&- &
	program=$!
	exec 6>to_program 7<from_program
	fires 0 >/dev/null
}
fires() {
	echo "$1" >&6
	read -r -t 20 answer <&7
	echo "$answer"
}
end_program() {
	exec 6>&-
	wait $program
}
trace_sem() {
	start_tracer "${@}" 6>&- 7>&-
}
answers() { [[ $(fires 0) == *"words $1" ]]; }

# Nothing of the file is armed any more: another program that runs it has no breakpoint, and the kernel has given none up.
nothing_stays() {
	! dmesg | tail -n +"$dmesg_lines" | grep -i 'leaking uprobe'
}
mark_log() {
	dmesg_lines=$(($(dmesg | wc -l) + 1))
}

@test "-c counted nothing in a program of lld, and a breakpoint stayed in it" {
	mark_log
	run_traced 'usdt::sem:ev { @ = count(); }' './lld 50'
	[[ "$output" == *"seen 50 words 1"*"@: 50"* ]]
	run_traced 'usdt:./lld:sem:ev { @ = count(); }' './lld 50'
	[[ "$output" == *"seen 50 words 1"*"@: 50"* ]]
	nothing_stays
}

@test "a library of lld that a command loads at its start" {
	build_library liblld.so -fuse-ld=lld
	build linked -Wl,--no-as-needed ./liblld.so
	run_traced 'usdt::sem:ev { @ = count(); }' "./linked 50 ./liblld.so"
	[[ "$output" == *"seen 50 50 words 1 1"*"@: 100"* ]]
}

@test "-p raises the word that a program of lld reads, and lowers it at the end" {
	start_program ./lld 0
	[ "$(fires 5)" = "seen 0 words 0" ]
	trace_sem 'usdt:*:sem:ev { @ = count(); }' -p $program
	[ "$(fires 50)" = "seen 50 words 1" ]
	stop_tracer
	[ "$(cat "$output_file" | xargs)" = "@: 50" ]
	[ "$(fires 5)" = "seen 50 words 0" ]
	end_program
}

@test "-p raised the words of other processes" {
	start_program ./lld 0
	sleep 1000 3>&- 6>&- 7>&- &
	trace_sem 'usdt:./lld:sem:ev { @ = count(); }' -p $!
	[ "$(fires 5)" = "seen 0 words 0" ]
	stop_tracer
	end_program
}

@test "two tracers of one program of lld, which end one after the other" {
	start_program ./lld 0
	trace_sem 'usdt:*:sem:ev { @ = count(); }' -p $program
	first=$tracer
	trace_sem 'usdt:*:sem:ev { @ = count(); }'
	[ "$(fires 10)" = "seen 10 words 2" ]
	kill -INT "$first"
	wait "$first"
	[ "$(fires 10)" = "seen 20 words 1" ]
	stop_tracer
	[ "$(fires 10)" = "seen 20 words 0" ]
	end_program
}

@test "a tracer that was killed left the words of lld's programs raised" {
	start_program ./lld 0
	trace_sem 'usdt:*:sem:ev { @ = count(); }'
	[ "$(fires 50)" = "seen 50 words 1" ]
	kill -9 $tracer
	awaits answers 0
	[ "$(fires 5)" = "seen 50 words 0" ]
	end_program
}

@test "an orphan that was forked under a trace kept its raised word" {
	start_program ./lld 0
	trace_sem 'usdt:*:sem:ev { @ = count(); }' -p $program
	[ "$(fires 1)" = "seen 1 words 1" ]
	echo fork >&6
	[ "$(fires 1)" = "seen 2 words 1" ]
	kill -9 $tracer
	awaits answers 0
	: >ask
	awaits test -s orphan
	[ "$(cat orphan)" = "seen 1 words 0" ]
	end_program
}

@test "programs of lld that start later had their words never raised" {
	start_tracer 'usdt:./lld:sem:ev { @ = count(); }'
	start_program ./lld 0
	awaits answers 1
	[ "$(fires 50)" = "seen 50 words 1" ]
	stop_tracer
	[ "$(xargs <"$output_file")" = "@: 50" ]
	[ "$(fires 5)" = "seen 50 words 0" ]
	says semaphores-late "1 had them raised" "$messages"
	end_program
}

@test "the first program of a file of lld that starts later" {
	start_tracer 'usdt:*:sem:ev { @ = count(); }'
	start_program ./lld 0
	awaits answers 1
	[ "$(fires 50)" = "seen 50 words 1" ]
	stop_tracer
	[ "$(xargs <"$output_file")" = "@: 50" ]
	[ "$(fires 5)" = "seen 50 words 0" ]
	end_program
}

# bats test_tags=deep
@test "of three copies of a library only one or two were traced" {
	for ld in bfd lld; do
		build_library lib$ld.so -fuse-ld=$ld
		build main -fuse-ld=bfd
		rm -f to_program from_program
		start_program ./main 0 ./lib$ld.so ./lib$ld.so ./lib$ld.so
		fires 0
		trace_sem "usdt:./lib$ld.so:sem:ev { @ = count(); }" -p $program
		[[ "$(fires 100)" == "seen 0 100 100 100 words 0 "* ]]
		stop_tracer
		[ "$(xargs <"$output_file")" = "@: 300" ]
		[ "$(fires 5)" = "seen 0 100 100 100 words 0 0 0 0" ]
		end_program
	done
}

# Copies that are loaded while a session runs: nobody raised their words, and the kernel left breakpoints in them.
start_copies() {
	rm -f to_program from_program
	build_library lib.so -fuse-ld=bfd
	build main -fuse-ld=bfd
	mark_log
	start_program ./main 0 ./lib.so
}
load_copies() {
	echo "load ./lib.so" >&6
	echo "load ./lib.so" >&6
	awaits are_raised
	[[ "$(fires 100)" == "seen 0 100 100 100 words 0 "* ]]
}
are_raised() { [[ "$(fires 0)" =~ words\ 0(\ [1-9][0-9]*){3}$ ]]; }
are_lowered() { [ "$(fires 0)" = "seen 0 100 100 100 words 0 0 0 0" ]; }

@test "of copies of a library that came later only the first one was traced" {
	for process in '' 1; do
		start_copies
		trace_sem "usdt:./lib.so:sem:ev { @ = count(); }" ${process:+-p $program}
		load_copies
		stop_tracer
		are_lowered
		[ "$(xargs <"$output_file")" = "@: 300" ]
		says semaphores-late "had them raised" "$messages"
		nothing_stays
		end_program
	done
}

@test "a tracer that was killed left breakpoints in copies of a library, and their words raised" {
	start_copies
	trace_sem "usdt:./lib.so:sem:ev { @ = count(); }"
	load_copies
	kill -9 $tracer
	awaits are_lowered
	nothing_stays
	end_program
}

# bats test_tags=deep
@test "two tracers of copies of a library, which end one after the other" {
	start_copies
	trace_sem "usdt:./lib.so:sem:ev { @ = count(); }"
	first=$tracer
	mv "$output_file" first_output
	trace_sem "usdt:./lib.so:sem:ev { @ = count(); }" -p $program
	load_copies
	stop_tracer
	[ "$(xargs <"$output_file")" = "@: 300" ]
	[[ "$(fires 0)" =~ words\ 0(\ [1-9][0-9]*){3}$ ]]
	fires 100
	tracer=$first stop_tracer
	[ "$(xargs <first_output)" = "@: 600" ]
	[ "$(fires 0)" = "seen 0 200 200 200 words 0 0 0 0" ]
	nothing_stays
	end_program
}

@test "the keeper of raised words keeps nothing else open, and says when it is gone" {
	start_program ./lld 0
	trace_sem 'usdt:*:sem:ev { @ = count(); }'
	keeper=$(pgrep -P $tracer -x nopal-keeper)
	[ "$(ls /proc/"$keeper"/fd | wc -l)" = 1 ]
	kill -9 "$keeper"
	sleep 5 3>&- | ./lld 0 3>&- 6>&- 7>&- &
	sleep 2 # it has been heard of; that is said at the end
	stop_tracer
	says semaphore-not-raised "cannot raise semaphores in process" "$messages"
	end_program
}
