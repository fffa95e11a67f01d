#!/usr/bin/env bats
# User stacks: without frame pointers, frame by frame as gdb has them; why they end; of new programs, and of several at
# once. STRESS=1 compares 10,000 samples of each kind.
load ../helpers

setup() {
	need_tracing
	case $(uname -m) in x86_64 | aarch64) ;; *) skip "no unwind rows on this CPU" ;; esac
	frames=$(private frames)
	times=${STRESS:+2000}
	times=${times:-20}
}

# same_as_gdb WAY: all stacks of one way of calling.
same_as_gdb() {
	need_program gdb
	run "$ROOT/tests/help/compare_stacks" "uprobe:$frames:frames_here" '*frames_here' "$frames" "$times" "$@"
	echo "$output"
	[ "$status" = 0 ]
}

@test "callbacks of libraries, alloca, realigned stacks, threads, exit functions, deep ones are gdb's" {
	export NOPAL
	same_as_gdb qsort alloca realigned thread atexit deep
	[[ "$output" == *", 0 cut" ]]
}

@test "signal handlers, on stacks of their own too: the interrupted function is in the stack" {
	export NOPAL
	same_as_gdb signal altstack
	[[ "$output" == *", 0 cut" ]]
	run "$NOPAL" -q -e "usdt:$frames:frames:here { @[ustack(4)] = count() }" -c "$frames 1 signal"
	[[ "$output" == *"frames_here+"*"handle+"*"__restore_rt+0"* ]]
}

@test "a function that calls none, interrupted by a signal: it and its caller are in the stack" {
	run "$NOPAL" -q -f folded -e "usdt:$frames:frames:here { @[ustack] = count() }" -c "$frames 3 interrupted"
	[ "$(grep -c 'main;run_way;do_interrupted;wait_for_ring;.*;ring;frames_here [0-9]$' <<<"$output")" = "$(grep -c . <<<"$output")" ]
	[ "$(awk '{ n += $2 } END { print n }' <<<"$output")" = 3 ]
}

@test "a stack that cannot be followed says why" {
	[ "$(uname -m)" = x86_64 ] || skip "the function in assembler is for x86-64"
	run "$NOPAL" -q -e "usdt:$frames:frames:here { @[ustack] = count() }" -c "$frames 5 bare"
	[[ "$output" == *"    bare+9
    (cut: no unwind rows for frames)
]: 5"* ]]
	run "$NOPAL" -q -f folded -e "usdt:$frames:frames:here { @[ustack] = count() }" -c "$frames 5 bare"
	[ "$output" = "(cut: no unwind rows for frames);bare;frames_here 5" ]
	run bash -c '"$1" stack -q -f json "$2:frames:here" -c "$2 5 bare" | jq -c ".key[0][-1]"' - "$NOPAL" "$frames"
	[ "$output" = '{"cut":"no unwind rows for frames"}' ]
}

# without_tables [OPTIONS OF objcopy...]: the program, stripped, with call frame information only in $frames.debug.
without_tables() {
	local flags
	need_program gcc objcopy
	flags=$(sed -n 's|^// flags: ||p' "$ROOT/tests/targets/frames.c")
	# shellcheck disable=SC2086
	gcc -O2 -g -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables -I"$ROOT/include" -I"$ROOT/tests" \
		$flags -o "$frames" "$ROOT/tests/targets/frames.c" -lpthread
	objcopy --only-keep-debug "$@" "$frames" "$frames.debug"
	strip "$frames"
	objcopy --add-gnu-debuglink="$frames.debug" "$frames"
}

# bats test_tags=deep
@test "a stripped program whose debug file has the call frame information: stacks are gdb's" {
	export NOPAL
	without_tables
	same_as_gdb qsort alloca thread deep
	[[ "$output" == *", 0 cut" ]]
	without_tables --compress-debug-sections
	same_as_gdb qsort alloca thread deep
	[[ "$output" == *", 0 cut" ]]
	rm "$frames.debug"
	run "$NOPAL" -q -f folded -e "usdt:$frames:frames:here { @[ustack] = count() }" -c "$frames 5 qsort"
	[[ "$output" == "(cut: no unwind rows for frames);"* ]]
}

@test "coroutines: each stack is its own" {
	export NOPAL
	same_as_gdb coroutine
	[[ "$output" == *"$((2 * times)) samples"* ]]
}

# 0.17: stacks of processes that ended | addresses | names |
@test "the same stack of several processes is one key, and has names when they are gone" {
	run "$NOPAL" -q -e "usdt:$frames:frames:here { @[ustack] = count() }" \
		-c "sh -c '$frames 2 deep & $frames 3 deep & wait'"
	echo "$output"
	[ "$(grep -c '^@\[' <<<"$output")" = 1 ]
	[ "$(grep -c '    recurse+' <<<"$output")" = 41 ]
	[[ "$output" == *"_start+"*"]: 5"* ]]
}

@test "short and deep stacks are keys of one map: counted, in tuples, looked up, deleted, looped over" {
	run "$NOPAL" -q -e "usdt:$frames:frames:here {
			@a[ustack] = count(); @b[1, ustack, \"x\"] = sum(2); @k[kstack] = count();
			if (has_key(@s, ustack)) { @again = count() } @s[ustack] = 1;
			if (delete(@d, ustack)) { @deleted = count() } else { @d[ustack] = 2 } }
		usdt:$frames:frames:here { for (\$kv : @s) {
			@each = count(); @copy[\$kv.0, 3] = 1; @deep[len(\$kv.0) > 40] = 1 } }
		END { printf(\"%d %d %d %d %d\\n\", len(@a), len(@b), len(@s), len(@d), len(@copy));
			clear(@k); clear(@a); clear(@b); clear(@d) }" -c "$frames 3 deep alloca"
	echo "$output"
	[ "${lines[0]}" = "2 2 2 2 2" ]
	[[ "$output" == *"@again: 4"* && "$output" == *"@deleted: 2"* && "$output" == *"@each: 9"* ]]
	[[ "$output" == *"@deep[false]: 1"*"@deep[true]: 1"* ]]
	[ "$(grep -c '    recurse+' <<<"$output")" = 82 ]
	[ "$(grep -c '    do_alloca+' <<<"$output")" = 2 ]
	[[ "$output" != *"@a["* && "$output" != *"@b["* && "$output" != *"@k["* && "$output" != *"@d["* ]]
}

@test "stacks of every depth are keys of their own, alone, in tuples and beside texts" {
	local long
	long=$(printf 'x%.0s' {1..80})
	run "$NOPAL" -q -e "let @four = percpulruhash(1000); usdt:$frames:frames:here { @[ustack] = count();
			@two[ustack, kstack(3), \"$long\"] = sum(7); @three[ustack] = hist(1); @four[ustack, \"s\"] = max(4) }" \
		-c "$frames 3 depths"
	[ "$(grep -c '^]: 3$' <<<"$output")" = 101 ]
	[ "$(grep -c "^, $long]: 21\$" <<<"$output")" = 101 ]
	[ "$(grep -c '^\[1\] *3 ' <<<"$output")" = 101 ]
	[ "$(grep -c '^, s]: 4$' <<<"$output")" = 101 ]
	# Of 0 to 100 calls of one function by itself, in each of the maps.
	[ "$(grep -c '    recurse+' <<<"$output")" = $((4 * 101 * 102 / 2)) ]
	[ "$(grep -c '    do_depths+' <<<"$output")" = $((4 * 101)) ]
}

@test "a process that calls exec, and a child that does: nothing is taken from the image before" {
	cp "$frames" "$frames.2"
	run "$NOPAL" -q -e "usdt:$frames:frames:here, usdt:$frames.2:frames:here { @[pid > 0, ustack(file)] = count() }" \
		-c "$frames exec $frames.2"
	echo "$output"
	[ "$(grep -c 'frames.2+0x' <<<"$output")" -ge 45 ]
	[ "$(grep -c ' frames+0x' <<<"$output")" -ge 6 ]
	[[ "$output" != *"(cut"* ]]
	[ "$(grep -c '^@\[' <<<"$output")" = 2 ]
}

# bats test_tags=deep
@test "a library at the address of one that was unloaded: nothing is taken from the other" {
	local features
	cp "$TARGETS"/swap "$TARGETS"/swap_a "$TARGETS"/swap_b "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
	for features in '' sleepable; do
		run env NOPAL_NO_FEATURES=$features "$NOPAL" -q -f folded -o folded \
			-e "usdt:./swap:swap:here { @[ustack] = count() }" -c "./swap . 3000"
		echo "$output"
		[ "$output" = 3000 ]
		cat folded
		# The whole stack, or cut with that reason, and each in the function that it was in.
		! grep -vE '^_start;.*;main;call;swap_[ab];here [0-9]+$|^\(cut: mapped only now, and not read yet: (swap_[ab])\);\1;here [0-9]+$' folded || false
		[ "$(awk '/;swap_a;here/ { n += $NF } END { print n }' folded)" = 1500 ]
		[ "$(awk '/;swap_b;here/ { n += $NF } END { print n }' folded)" = 1500 ]
		[ "$(awk '/^_start/ { n += $NF } END { print n }' folded)" -gt 0 ]
	done
}

@test "return probes on callers do not hide them" {
	local plain
	plain=$("$NOPAL" -q -e "uprobe:$frames:frames_here { @[ustack] = count() }" -c "$frames 3 deep")
	run "$NOPAL" -q -e "uretprobe:$frames:recurse, uretprobe:$frames:do_deep { \$x = 1 }
		uprobe:$frames:frames_here { @[ustack] = count() }" -c "$frames 3 deep"
	[ "$output" = "$plain" ]
	[ "$(grep -c '    recurse+' <<<"$output")" = 41 ]
}

@test "return probes on callers cost half of the frames, where loops are calls" {
	local features script="uretprobe:$frames:recurse, uretprobe:$frames:do_deep { \$x = 1 }
		uprobe:$frames:frames_here { @[ustack(30)] = count() }"
	for features in may_goto may_goto,bpf_loop; do
		run env NOPAL_NO_FEATURES=$features "$NOPAL" -q -e "$script" -c "$frames 3 deep"
		[ "$output" = "$("$NOPAL" -q -e "$script" -c "$frames 3 deep")" ]
		[ "$(grep -c '^    [a-z_]*+' <<<"$output")" = 30 ]
	done
}

@test "the stack at a return is the caller's" {
	run "$NOPAL" -q -e "uretprobe:$frames:frames_here { @[ustack(2)] = count() }" -c "$frames 3 deep"
	[[ "$output" == *"@[
    recurse+"*"
    recurse+"*"
]: 3"* ]]
}

# bats test_tags=deep
@test "kernels without the newer ways walk alike" {
	local script="usdt:$frames:frames:here { @[ustack] = count() }" plain features command
	# All ways but "interrupted", whose stack is another one each time.
	command="$frames 2 qsort alloca realigned signal altstack thread atexit deep coroutine bare syscall spin deeper depths"
	plain=$("$NOPAL" -q -e "$script" -c "$command")
	[[ "$plain" == *"_start+"* ]]
	for features in may_goto may_goto,bpf_loop sleepable may_goto,sleepable uprobe_multi btf; do
		run env NOPAL_NO_FEATURES=$features "$NOPAL" -q -e "$script" -c "$command"
		[ "$output" = "$plain" ] || diff <(echo "$output") <(echo "$plain")
	done
}

@test "eight walks in a clause, and others beside it: each has all frames, also where rounds are calls" {
	local script="" i plain features
	for i in 1 2 3 4 5 6 7 8; do
		script="$script @$i[ustack] = count();"
	done
	script="usdt:$frames:frames:here { $script } uprobe:$frames:frames_here { @one[ustack(33)] = count() }"
	plain=$("$NOPAL" -q -e "$script" -c "$frames 2 deep")
	[ "$(grep -c ']: 2' <<<"$plain")" = 9 ]
	[ "$(grep -c '    _start+' <<<"$plain")" = 8 ]
	[ "$(grep -c '    recurse+' <<<"$plain")" = $((8 * 41 + 32)) ]
	for features in may_goto may_goto,bpf_loop; do
		run env NOPAL_NO_FEATURES=$features "$NOPAL" -q -e "$script" -c "$frames 2 deep"
		[ "$output" = "$plain" ]
	done
}

# Each loop of a script is a function there, and the kernel allows eight that call each other.
# bats test_tags=deep
@test "a clause whose walk the verifier does not take follows frame pointers, and says so once" {
	local script="@[ustack] = count();" i
	for i in 1 2 3 4 5; do
		script="\$i$i = 0; while (\$i$i < 1) { \$i$i++; $script }"
	done
	NOPAL_NO_FEATURES=may_goto run timeout 60 "$NOPAL" -q -e "usdt:$frames:frames:here { $script } \
		usdt:$frames:frames:here { $script } uprobe:$frames:frames_here { @one[ustack] = count() }" -c "$frames 2 deep"
	echo "$output"
	says no-walk "this kernel's verifier refuses to walk user stacks here: they are followed by frame pointers"
	[ "$(grep -c 'refuses to walk' <<<"$output")" = 1 ]
	[ "$(grep -c '(cut: .*frame pointers' <<<"$output")" = 1 ]
	[ "$(grep -c ']: 4' <<<"$output")" = 1 ]
	# Another clause still walks.
	[ "$(grep -c '    recurse+' <<<"$output")" = 41 ]
	[ "$(grep -c ']: 2' <<<"$output")" = 1 ]
}

# newest: `ustack(perf)` | addresses | offsets in the files | frames are kept so, the same in every process; `ustack(raw)`
#   has addresses
@test "a depth, a mode, both; by the configuration, too" {
	local id
	need_program readelf
	id=$(readelf -n "$frames" | sed -n 's/.*Build ID: //p')
	run "$NOPAL" -q -e "usdt:$frames:frames:here { @[ustack(perf, 2)] = count() }" -c "$frames 1 deep"
	[[ "$output" =~ "@["$'\n\t'[0-9a-f]+" frames_here+"[0-9]+" ($frames)"$'\n\t'[0-9a-f]+" recurse+"[0-9]+" ($frames)
]: 1" ]]
	run "$NOPAL" -q -e "usdt:$frames:frames:here { @[ustack(file, 1)] = count() }" -c "$frames 1 deep"
	[[ "$output" =~ "    frames+0x"[0-9a-f]+"
]: 1" ]]
	# The addresses are those of the process: of a file at two places there are two.
	run setarch -R "$NOPAL" -q -e "usdt:$frames:frames:here { \$ip = reg(\"ip\"); printf(\"%lx is%s\", \$ip, ustack(raw, 2)) }" \
		-c "$frames 1 deep"
	[[ "$output" =~ ([0-9a-f]+)" is"$'\n'([0-9a-f]+)$'\n'[0-9a-f]+ ]]
	[ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ]
	run "$NOPAL" -q -e "config = { stack_mode = build_id } usdt:$frames:frames:here { @[ustack(1)] = count() }" -c "$frames 1 deep"
	[[ "$output" =~ "@[
$id 0x"[0-9a-f]+"
]: 1" ]]
	run env BPFTRACE_STACK_MODE=file "$NOPAL" -q -e "usdt:$frames:frames:here { @[ustack(1)] = count() }" -c "$frames 1 deep"
	[[ "$output" == *"    frames+0x"* ]]
}

@test "profiles and tracepoints: no frame pointers are needed either" {
	run "$NOPAL" -q -e "tracepoint:syscalls:sys_enter_getppid { @[ustack] = count() }" -c "$frames 2 syscall"
	echo "$output"
	[[ "$output" == *"getppid+"*"do_syscall+"*"main+"*"_start+"*"]: 2" ]]
	run timeout 30 "$NOPAL" -q -e 'profile:hz:999 /comm == "frames"/ { @[ustack] = count() }' -c "$frames 300 spin"
	echo "$output"
	[[ "$output" == *"spin+"*"do_spin+"*"main+"*"_start+"* ]]
}

@test "user mode follows frame pointers, and says so" {
	[ "$(uname -m)" = x86_64 ] || skip "user mode of this program is for x86-64"
	run "$NOPAL" -q --user -e "usdt:$frames:frames:here { @[ustack] = count() }" -c "$frames 2 deep"
	# That of an emulator is none: the kernel traces the program, and walks.
	[[ "$output" != *"the time stamp counter of this CPU is not a clock"* ]] || skip "no user mode on this CPU"
	[[ "$output" == *"    frames_here+"*"    (cut: user mode follows frame pointers, which end in frames)
]: 2" ]]
	run "$NOPAL" -q --user -e "usdt:$frames:frames:here { @[ustack(1)] = count() }" -c "$frames 2 deep"
	[[ "$output" != *cut* ]]
}

@test "code that is made at run time, unseen, is in the stack when its process has gone" {
	[ "$(uname -m)" = x86_64 ] || skip "the code is for x86-64"
	need_program gcc
	cat >"$BATS_TEST_TMPDIR/made.c" <<-'C'
		#include <fcntl.h>
		#include <stdio.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>
		__attribute__((noinline)) void here(void) { __asm__ volatile("nop; nop"); }
		int main(void)
		{
			/* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
			char *code = mmap(NULL, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), path[64];
			memcpy(code, "\x55\x48\x89\xe5\xff\xd7\x5d\xc3", 8);
			sprintf(path, "/tmp/perf-%d.map", getpid());
			FILE *names = fopen(path, "w");
			fprintf(names, "%lx 8 made\n", (long)code);
			fclose(names);
			puts(path);
			fflush(stdout);
			/* What it maps is read now, and not again. */
			mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, open("/proc/self/exe", O_RDONLY), 0);
			here();
			usleep(300000);
			mprotect(code, 4096, PROT_READ | PROT_EXEC);
			((void (*)(void (*)(void)))code)(here);
		}
	C
	gcc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$BATS_TEST_TMPDIR/made" "$BATS_TEST_TMPDIR/made.c"
	run "$NOPAL" -q -e "uprobe:$BATS_TEST_TMPDIR/made:here { print(usym(reg(\"ip\"))); @[ustack] = count() }" \
		-c "$BATS_TEST_TMPDIR/made"
	rm -f "${lines[0]}"
	echo "$output"
	[[ "$output" == *"
    here+0
    made+6
    main+"*"_start+"*"
]: 1" ]]
}

# bats test_tags=deep
@test "a process that maps memory all the time: a stack that the kernel cannot be asked about says that" {
	[ "$(uname -m)" = x86_64 ] || skip "the code is for x86-64"
	need_program gcc
	cat >"$BATS_TEST_TMPDIR/busy.c" <<-'C'
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>

		#include <sys/sdt.h>

		#define MAPPED (64ul << 20)

		/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
		static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};

		static void *disturb(void *arg)
		{
			for (;;) {
				char *memory = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

				if (memory != MAP_FAILED)
					munmap(memory, MAPPED);
			}
			return arg;
		}

		static volatile long count;

		__attribute__((noinline)) static void fire(void)
		{
			DTRACE_PROBE1(busy, end, count);
			count++;
		}

		int main(int argc, char **argv)
		{
			long rounds = argc > 1 ? atol(argv[1]) : 1;
			pthread_t thread;

			for (int i = 0; i < 2; i++)
				pthread_create(&thread, NULL, disturb, NULL);
			for (long i = 0; i < rounds; i++) {
				unsigned char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

				if (at == MAP_FAILED)
					return 1;
				memcpy(at, code, sizeof(code));
				((void (*)(void (*)(void)))(void *)at)(fire);
				munmap(at, 4096);
			}
			printf("%ld\n", count);
			return 0;
		}
	C
	gcc -O2 -fno-omit-frame-pointer -I"$ROOT/include" -o "$BATS_TEST_TMPDIR/busy" "$BATS_TEST_TMPDIR/busy.c" -lpthread
	run timeout 100 "$NOPAL" -q -e "usdt:$BATS_TEST_TMPDIR/busy:busy:end { @[ustack(6)] = count() }" -c "$BATS_TEST_TMPDIR/busy 20000"
	echo "$output"
	[ "$(awk '/^\]: / { n += $2 } END { print n }' <<<"$output")" = 20000 ]
	[[ "$output" != *"in no code that is known"* ]]
	# Each is whole, or says why it is not: that other thread had the lock of the kernel.
	[ "$(grep -c '^\]: ' <<<"$output")" = "$(grep -cE '^    main\+|the process was mapping memory at this moment' <<<"$output")" ]
}

@test "vfork, clone, posix_spawn, fork in a signal handler: each child has its own stack" {
	need_program gcc
	gcc -O2 -fomit-frame-pointer -o "$BATS_TEST_TMPDIR/children" "$ROOT/tests/programs/stacks/children.c"
	run "$NOPAL" -q -e "uprobe:$BATS_TEST_TMPDIR/children:here { @[ustack] = count() }" -c "$BATS_TEST_TMPDIR/children 50"
	echo "$output"
	[ "$(grep -c '^\]: 50$' <<<"$output")" = 6 ]
	[ "$(grep -c '^@\[' <<<"$output")" = 6 ]
	[ "$(grep -c '    _start+' <<<"$output")" = 5 ] # and one on a stack of clone's
	[ "$(grep -c '    __restore_rt+0' <<<"$output")" = 2 ]
	[[ "$output" != *"(cut"* ]]
}
