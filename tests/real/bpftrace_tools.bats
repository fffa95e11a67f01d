# The scripts in Debian's bpftrace package and the one-liners of its manual: each compiles unchanged, or for the reason
# that is listed here and in doc/compatibility.md it does not. Those whose probes this kernel has are run, too.
load ../helpers

setup() {
	need_tracing
	[ -r /sys/kernel/btf/vmlinux ] || skip "the kernel has no BTF"
	cd "$BATS_TEST_TMPDIR" || return
}

# reason TOOL: why it may be refused; a pattern for the message.
reason() {
	case "$1" in
	dcsnoop) echo "no probe matches 'kprobe:lookup_fast" ;;
	loads) echo "the kernel has no symbol 'avenrun'" ;;
	runqlen) echo "'struct cfs_rq' has no member" ;;
	ssllatency | sslsnoop) echo "there is no probe 'uprobe:libcrypto:|there is no file" ;;
	gethostlatency) echo "there is no probe 'uprobe:libc:" ;;
	*) echo "there is no probe '(tracepoint|kprobe|kretprobe):|'struct [a-z_]*' has no member" ;; # of this kernel
	esac
}

tools() {
	need_program bpftrace
	dpkg -L bpftrace 2>/dev/null | grep '/sbin/.*\.bt$' || skip "needs Debian's package of bpftrace"
}

# bats test_tags=deep
@test "every script of the package compiles, or the reason is listed" {
	local count=0 refused=0 tool
	for file in $(tools); do
		tool=$(basename "$file" .bt)
		count=$((count + 1))
		run timeout 30 "$NOPAL" --dry-run "$file"
		[ "$status" = 0 ] && continue
		refused=$((refused + 1))
		echo "$output" | grep -m1 -E 'error: ' | grep -qE "$(reason "$tool")" || {
			echo "$tool: $output"
			return 1
		}
	done
	echo "$count scripts, $refused refused"
	[ "$count" -ge 30 ]
	[ "$refused" -le 8 ]
}

@test "scripts whose probes this kernel has run until they are interrupted" {
	for tool in bitesize execsnoop opensnoop runqlat syscount; do
		file=$(tools | grep "/$tool\.bt") || continue
		timeout -s INT -k 10 1 "$NOPAL" "$file" >"$tool" 2>&1 || [ $? = 124 ]
		grep -q 'Attached [0-9]* probe' "$tool" || grep -q 'there is no probe' "$tool" || {
			echo "$tool: $(cat "$tool")"
			return 1
		}
	done
}

# glibc 2.34 moved pthread_create() to libc.
@test "threadsnoop, unchanged, sees the threads of a program" {
	file=$(tools | grep /threadsnoop.bt) || skip "needs Debian's package of bpftrace"
	run timeout 20 "$NOPAL" -c "$TARGETS/tick loop 1 3" "$file"
	echo "$output"
	[ "$status" = 0 ]
	[ "$(grep -c ' tick .* fire_loop$' <<<"$output")" = 2 ]
	run "$NOPAL" -q -c "$TARGETS/tick loop 1 3" -e 'uprobe:pthread:pthread_create { @ = count(); }'
	[[ "$output" == *"@: 2" ]]
}

# compiles SCRIPT, or says why not: a pattern in $2.
compiles() {
	run timeout 30 "$NOPAL" --dry-run -e "$1"
	[ "$status" = 0 ] || { [ -n "${2:-}" ] && echo "$output" | grep -qE "$2"; } || {
		echo "$1: $output"
		return 1
	}
}

@test "the one-liners of the manual compile, or the reason is listed" {
	compiles 'kprobe:do_nanosleep { printf("%d sleeping\n", pid); }'
	compiles 'uprobe:libc:malloc { printf("Allocated %d bytes\n", arg0); }'
	compiles 'iter:task { printf("%s:%d\n", ctx->task->comm, ctx->task->pid); }'
	compiles 'iter:task_file { printf("%s:%d %d:%s\n", ctx->task->comm, ctx->task->pid, ctx->fd, path(ctx->file->f_path)); }' "'path' is not supported"
	compiles 'watchpoint:0x10000000:8:rw { printf("hit!\n"); exit(); }'
	compiles 'watchpoint:increment+arg1:4:w { printf("hit!\n"); exit() }' 'a watchpoint is at an address'
	compiles 'BEGIN { $x = 1; $x++; printf("%d\n", $x); @[1] = count(); }'
	compiles 'tracepoint:syscalls:sys_enter_openat { printf("%s %s\n", comm, str(args.filename)); }'
	compiles 'tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }'
	compiles 'profile:hz:99 { @[kstack] = count(); }'
	compiles 'interval:s:1 { time("%H:%M:%S\n"); print(@); clear(@); } tracepoint:sched:sched_switch { @[args->prev_comm] = hist(args->prev_pid); }'
}
