# Types of the kernel, and its memory: what only a run in the kernel can show.
load ../helpers

setup() {
	need_tracing
	[ -r /sys/kernel/btf/vmlinux ] || skip "the kernel has no BTF"
	cd "$BATS_TEST_TMPDIR" || return
	private tick >/dev/null
}

@test "curtask is the thread's own struct" {
	run "$NOPAL" -q -e 'usdt:./tick:tick:number {
		printf("%s %d %d\n", curtask->comm, curtask->tgid == pid, curtask->pid == tid);
		printf("%s %d\n", str(curtask->comm), ((struct task_struct *)curtask)->mm->owner->pid == tid);
	}' -c './tick number 1'
	[ "$status" = 0 ]
	[ "$output" = $'tick 1 1\ntick 1' ]
}

@test "the parent and the first thread" {
	run "$NOPAL" -q -e 'usdt:./tick:tick:number {
		printf("%d %s %d %s\n", ppid == cpid, pcomm, leader_tid == pid, leader_comm);
		printf("%d %s\n", ppid(curtask) == ppid, pcomm(curtask));
	}' -c 'sh -c "./tick number 1; true"'
	echo "$output"
	[ "$status" = 0 ]
	[ "$output" = $'1 sh 1 tick\n1 sh' ]
}

@test "structs of the kernel have the sizes that BTF says" {
	run "$NOPAL" -q -e 'BEGIN {
		printf("%d %d\n", sizeof(struct list_head), offsetof(struct list_head, prev));
		printf("%d %d\n", sizeof(((struct task_struct *)0)->comm), BPF_MAP_TYPE_ARRAY);
		exit();
	}'
	[ "$status" = 0 ]
	[ "$output" = $'16 8\n16 2' ]
}

@test "a pointer in a tracepoint's field leads to the caller's memory" {
	run "$NOPAL" -q -e 'tracepoint:syscalls:sys_enter_clock_nanosleep /comm == "sleep"/ {
		printf("%d %d\n", args.rqtp->tv_sec, args.rqtp->tv_nsec);
	}' -c 'sleep 0.25'
	[ "$status" = 0 ]
	[ "$output" = '0 250000000' ]
}

@test "a member that this kernel does not have" {
	run "$NOPAL" -q -e 'BEGIN { print(curtask->nr_ceilings); }'
	[ "$status" = 1 ]
	[[ "$output" == *"'struct task_struct' has no member 'nr_ceilings'"* ]]
}

@test "kernel memory that is not there is counted" {
	run "$NOPAL" -q -e 'tracepoint:syscalls:sys_enter_clock_nanosleep /comm == "sleep"/ {
		printf("%d|%s|\n", (curtask + 0x7000000000)->prio, (curtask + 0x7000000000)->comm);
	}' -c 'sleep 0.01'
	[ "$status" = 0 ]
	[[ "$output" == *"0|(unreadable)|"*"1 read failed: bad address"*"1 read failed: bad address"* ]]
}

@test "the structs of a script are not those of a 32-bit program" {
	compile small 'global, argc' "$BATS_TEST_TMPDIR/small" i686-linux-gnu-gcc -O1 ||
		skip "needs a 32-bit compiler"
	run "$NOPAL" -q -e 'struct s { int x; long y; };
		usdt:./small:p:small { print(((struct s *)arg0)->y); }'
	[ "$status" = 1 ]
	[[ "$output" == *"structs of the script are not laid out for a 32-bit program"* ]]
}

@test "bytes in memory of the kernel are compared" {
	run "$NOPAL" -q -e 'BEGIN { print((memcmp(curtask, curtask, 64), memcmp(curtask->comm, "nopal", 6), memcmp(curtask->comm, "oopal", 5))); }'
	[ "$status" = 0 ]
	[ "$output" = "(0, 0, -1)" ]
}
