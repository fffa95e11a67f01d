# Probes of the kinds that the kernel has beside uprobes and tracepoints: attached, and seen to fire.
load ../helpers

setup() {
	need_tracing
	bats_require_minimum_version 1.5.0
	cd "$BATS_TEST_TMPDIR" || return
	private tick >/dev/null
}

@test "software events fire each time, with a count of 1" {
	run "$NOPAL" -q -e 'software:page-faults:1 /comm == "tick"/ { @ = count(); @ip[reg("ip") != 0] = count(); }' -c './tick number 1'
	[ "$status" = 0 ]
	[[ "$output" =~ @:\ [0-9]+ ]]
	[[ "$output" != *"@ip[0]"* ]]
}

@test "several clauses at one software event ran in reverse order" {
	run "$NOPAL" -q -e 's:page-faults:1, profile:hz:99 /comm == "tick"/ { printf("a"); } software:page-faults:1 /comm == "tick"/ { printf("b"); @++; }
		software:page-faults:1, software:page-faults:1 /@ == 3/ { printf("c\n"); exit(); }' -c './tick number 1'
	[ "$status" = 0 ]
	[ "$(tr -d '\n' <<<"$output" | sed 's/@:.*//; s/aab/ab/')" = abababc ]
}

@test "intervals of one clause each have their own time" {
	run "$NOPAL" -q -e 'interval:ms:100, interval:s:1, interval:ms:1000 { @[probe] = count(); } interval:ms:1900 { exit(); }'
	[ "$status" = 0 ]
	[[ "$output" == *'@[interval:s:1]: 1'* ]]
	[[ "$output" == *'@[interval:ms:1000]: 1'* ]]
	[[ "$output" =~ '@[interval:ms:100]: '(1[0-9]) ]]
}

@test "hardware events that the machine does not count are an error that says so" {
	run "$NOPAL" -q -e 'hardware:cpu-cycles:1000000 { @ = count(); } interval:ms:1 { exit() }'
	if [ "$status" = 0 ]; then return; fi
	says attach "cannot attach 'hardware:cpu-cycles:1000000': this machine does not count it" <<<"$output"
}

@test "raw tracepoints have arguments with the names and types of the kernel" {
	[ -r /sys/kernel/btf/vmlinux ] || skip "the kernel has no BTF"
	run "$NOPAL" -q -e 'rawtracepoint:sched_process_exec { printf("%s %d %d\n", str(args.bprm->filename), args.p->tgid == pid, (uint64)args.p == arg0); }' -c './tick number 1'
	[ "$status" = 0 ]
	[[ "$output" == *"./tick 1 1"* ]]
	run "$NOPAL" -l 'rawtracepoint:sched_process_ex*'
	[ "$output" = $'rawtracepoint:sched_process_exec\nrawtracepoint:sched_process_exit' ]
	run "$NOPAL" -lv 'rt:sched_process_exec'
	[ "${lines[1]}" = '    struct task_struct * p' ]
	run "$NOPAL" -e 'rawtracepoint:sched_proces_exec { @ = 1 }'
	[ "$status" = 1 ]
	says missing-probe "there is no probe 'rawtracepoint:sched_proces_exec'" <<<"$output"
	says missing-probe "did you mean 'sched_process_exec'?" <<<"$output"
}

@test "a watchpoint sees every write of all threads" {
	cat >watched.c <<-'END'
		#include <pthread.h>
		#include <stdio.h>
		static volatile long watched;
		static void *add(void *n) { for (int i = 0; i < 5; i++) watched += (long)n; return NULL; }
		int main(int argc, char **argv)
		{
			pthread_t t;
			if (argc == 1) return printf("%p\n", (void *)&watched) < 0;
			for (int i = 1; i <= 3; i++) watched = i;
			pthread_create(&t, NULL, add, (void *)10);
			return pthread_join(t, NULL);
		}
	END
	gcc -no-pie -O1 -pthread -o watched watched.c || skip "no compiler for this"
	at=$(./watched)
	run "$NOPAL" -q -e "watchpoint:$at:8:w / *(int64 *)$at < 100 / { printf(\"%d\n\", *(int64 *)$at); }" -c './watched go'
	[[ "$output" != *"has no watchpoint"* ]] || skip "this CPU has no watchpoints"
	! says attach "a watchpoint of nopal's own saw nothing" <<<"$output" >/dev/null || skip "this machine's watchpoints never fire"
	# The kernel writes zeros when it loads the program.
	[ "$(grep -vx 0 <<<"$output" | paste -sd' ')" = '1 2 3 13 23 33 43 53' ]
	run "$NOPAL" -q -e "watchpoint:$((at + 1)):8:w { @ = count() }" -c ./watched
	[ "$status" = 1 ]
	says attach "cannot attach 'watchpoint:$((at + 1)):8:w': this CPU has no watchpoint of this length and mode" <<<"$output"
}

# newest: SIGUSR1 | runs `self:signal:SIGUSR1`, and else does nothing | prints all maps, as 0.17, if the script has no such
#   probe |
@test "SIGUSR1 runs the clause that is for it, and prints no maps then" {
	start_tracer 'self:signal:SIGUSR1 { printf("signal\n"); @n = count(); } interval:s:60 { }' -q
	kill -USR1 "$tracer"
	for _ in $(seq 600); do
		grep -qx signal "$output_file" && break
		sleep 0.05
	done
	grep -qx signal "$output_file"
	stop_tracer
	[ "$(grep -c '^@n: 1$' "$output_file")" = 1 ]
}

@test "nopal -l lists the events that perf counts" {
	run "$NOPAL" -l 'software:*-faults'
	[ "${lines[0]}" = software:alignment-faults: ]
	[ "${#lines[@]}" = 5 ]
	run "$NOPAL" -l 'h:cycles'
	[ "$output" = hardware:cpu-cycles: ]
	run "$NOPAL" -l 'self:signal:SIGUSR1'
	[ "$output" = self:signal:SIGUSR1 ]
}

@test "nopal -l takes several patterns, patterns of types, and scripts" {
	run "$NOPAL" -l 'software:cpu-clock:,*:sched:sched_switch'
	[ "$output" = $'software:cpu-clock:\ntracepoint:sched:sched_switch' ]
	run "$NOPAL" -l 'tracepoint:sched_swi*'
	[ "$output" = tracepoint:sched:sched_switch ]
	run "$NOPAL" -l 'u*:./tick:tick:loop'
	[ "$output" = "usdt:$PWD/tick:tick:loop" ] || [ "$output" = usdt:./tick:tick:loop ]
	"$NOPAL" -l '*sched_process_exec*' | grep -qx tracepoint:sched:sched_process_exec
	echo 'usdt:./tick:tick:loop { } BEGIN { }' >a.bt
	run "$NOPAL" -l a.bt
	[[ "$output" == *tick:loop$'\n'BEGIN ]]
	run "$NOPAL" -l -e 'END { }'
	[ "$output" = END ]
	run -0 "$NOPAL" -l '*no_such_probe_anywhere'
	[ "$output" = "nopal: no probe matches '*no_such_probe_anywhere'" ]
	run -0 "$NOPAL" -l no_such_probe_anywhere
	[ "$output" = "nopal: no probe matches 'no_such_probe_anywhere'" ]
	run "$NOPAL" -l "usdt:$TARGETS/tick"
	[[ "$output" == "nopal: no probe matches 'usdt:$TARGETS/tick'"$'\n'"hint: all probes of the file: 'usdt:$TARGETS/tick:*'"* ]]
	run "$NOPAL" -l 'struct no_such_struct'
	[ "$output" = "nopal: no type matches 'struct no_such_struct'" ]
	"$NOPAL" -lv -e 'interval:ms:5, usdt:./tick:tick:word, software:faults:7 { }' >list
	[ "$(cat list)" = $'interval:ms:5\nusdt:./tick:tick:word\n    char *word\n    int length\nsoftware:faults:7' ]
}

@test "nopal -l lists what the kernel has, and of a process what its program has" {
	"$NOPAL" -l >all
	grep -qx tracepoint:sched:sched_switch all
	grep -qx software:page-faults: all
	run ! grep -q ^u all
	./tick loop 1000 1 10000 >/dev/null 3>&- &
	pid=$!
	until [ "$(cat "/proc/$pid/comm")" = tick ]; do sleep 0.01; done
	run -0 "$NOPAL" -p "$pid" -l 'uprobe:main'
	[ "$output" = "uprobe:$PWD/tick:main" ]
	run -0 "$NOPAL" -p "$pid" -l 'main'
	[ "$output" = "uprobe:$PWD/tick:main" ]
	kill "$pid"
}

@test "the type of a probe may be a pattern" {
	run -0 "$NOPAL" -q -c './tick loop 1 1' -e 'u*:./tick:tick:loop { print(probe); }'
	[[ "$output" == *"usdt:"*"tick:tick:loop"* ]]
	run -0 "$NOPAL" -q -c './tick loop 1 1' -e '*:./tick:main, BEGIN { @[probe] = count(); }'
	[[ "$output" == *"@[BEGIN]: 1"* && "$output" == *"@[uprobe:./tick:main]: 1"* ]]
	"$NOPAL" -q -e '*:sched:sched_switch { print(probe); exit(); }' | grep -qx tracepoint:sched:sched_switch
	run -1 "$NOPAL" -q -e '*:./tick:nothing { }'
	says missing-probe "there is no probe '*:./tick:nothing'" <<<"$output"
	run -1 "$NOPAL" -q -e 'x*:./tick:main { }'
	says unknown-probe-type "no type of probe has the form 'x*:./tick:main'" <<<"$output"
}

# Does this kernel let us attach to its functions by this kind of probe? Else the message says so, as the caller checks.
may_probe() {
	run "$NOPAL" -q -e "$1:vfs_read { @ = count() } BEGIN { } interval:ms:1 { exit() }"
	[ "$status" != 0 ] || return 0
	says no-kprobes "cannot attach to '$1:vfs_read': this kernel is built without kprobes" <<<"$output" 2>/dev/null ||
		says closed-kernel "cannot attach to '$1:vfs_read': this kernel does not allow tracing of its functions" <<<"$output"
	says attach "nopal -l 'tracepoint:*:*'" <<<"$output"
	return 1
}

# newest: `kprobe:` on a kernel without kprobes | cannot attach | the same, and what to use instead |
@test "functions of the kernel have arguments and results" {
	for kind in kprobe fentry; do
		may_probe $kind || continue
		run "$NOPAL" -q -e "$kind:vfs_open /comm == \"tick\"/ {
			@[str(((struct path *)arg0)->dentry->d_name.name), func, probe] = count(); }" -c './tick number 1'
		[ "$status" = 0 ]
		[[ "$output" == *"@[libc.so.6, vfs_open, $kind:vfs_open]: 1"* ]]
	done
	if may_probe kretprobe; then
		run "$NOPAL" -q -e 'kretprobe:vfs_open /comm == "tick"/ { @[retval, func] = count(); }' -c './tick number 1'
		[[ "$output" == *"@[0, vfs_open]: "* ]]
		run "$NOPAL" -q -e 'kprobe:vfs_op* /comm == "tick"/ { @[func, arg0 != 0] = count(); }' -c './tick number 1'
		[[ "$output" == *"@[vfs_open, true]: "* ]]
		run "$NOPAL" -e 'kprobe:vfs_opne { @ = 1 }'
		says attach "cannot attach to 'kprobe:vfs_opne': this kernel has no such function" <<<"$output"
		run "$NOPAL" -q -e 'kprobe:vfs_open+4 /comm == "tick"/ { @[reg("ip") != 0] = count(); }' -c './tick number 1'
		[[ "$output" == *"@[true]: "* ]] || says attach "the kernel cannot place a kprobe there" <<<"$output"
	fi
	if may_probe fexit; then
		run "$NOPAL" -q -e 'fexit:vfs_open /comm == "tick"/ {
			@[str(args.path->dentry->d_name.name), args.file->f_mode != 0, retval] = count(); }' -c './tick number 1'
		[[ "$output" == *"@[libc.so.6, true, 0]: 1"* ]]
	fi
}

@test "a function of the kernel that is not there" {
	[ -r /sys/kernel/btf/vmlinux ] || skip "the kernel has no BTF"
	run "$NOPAL" -e 'fentry:vfs_raed { @ = 1 }'
	[ "$status" = 1 ]
	says missing-probe "there is no probe 'fentry:vfs_raed'" <<<"$output"
	says missing-probe "did you mean 'vfs_read'?" <<<"$output"
	run "$NOPAL" -lv 'fexit:vfs_read'
	[ "${lines[1]}" = '    struct file * file' ]
	[ "${lines[5]}" = '    ssize_t retval' ]
	run "$NOPAL" -l 'kprobe:vfs_rea*'
	[[ "$output" == *kprobe:vfs_read* ]]
}

@test "an iterator gives each object once, and the run ends" {
	[ -r /sys/kernel/btf/vmlinux ] || skip "the kernel has no BTF"
	run "$NOPAL" -q -e "iter:task /ctx->task->pid == $$/ { printf(\"%s %d\\n\", ctx->task->comm, ctx->task->tgid); }"
	[ "$status" = 0 ]
	[ "$output" = "$(cat /proc/$$/comm) $$" ]
	exec 9</etc/passwd
	run "$NOPAL" -q -e "iter:task_file /ctx->task->pid == $$ && ctx->fd == 9/ {
		printf(\"%s\\n\", str(ctx->file->f_path.dentry->d_name.name)); }"
	exec 9<&-
	[ "$output" = passwd ]
	run "$NOPAL" -lv iter:task
	[ "${lines[2]}" = '    struct task_struct * task' ]
	run "$NOPAL" -e 'iter:tsk { @ = 1 }'
	[ "$status" = 1 ]
	says missing-probe "there is no probe 'iter:tsk': searched" <<<"$output"
}

@test "path() of a file is its whole name, as the kernel has it" {
	[ -r /sys/kernel/btf/vmlinux ] || skip "the kernel has no BTF"
	self=$BASHPID
	mkfifo gate
	exec 7</etc/passwd 8<>gate
	for fd in 7 8; do echo "$fd $(readlink /proc/$self/fd/$fd)"; done >want
	run "$NOPAL" -q -e "iter:task_file /ctx->task->pid == $self && (ctx->fd == 7 || ctx->fd == 8)/ {
		printf(\"%d %s\n\", ctx->fd, path(ctx->file->f_path)); @[path(&ctx->file->f_path, 4)] = count() }"
	exec 7<&- 8<&-
	echo "$output" | grep '^[78] ' | diff want -
	[[ "$output" == *"@[..]: 2"* ]]
	awk '$6 ~ "^/" { n[$6]++ } END { for (i in n) print "@[" i "]: " n[i] }' /proc/$self/maps | LC_ALL=C sort >want
	run --separate-stderr "$NOPAL" -q -e "iter:task_vma /ctx->task->pid == $self/ { @[path(ctx->vma->vm_file->f_path)] = count() }"
	grep '^@\[/' <<<"$output" | LC_ALL=C sort | diff want -
	[[ "$output" == *"@[(null)]: "* ]] # memory that is of no file
	[ "$stderr" = "" ]
	run "$NOPAL" -q -e 'iter:task { print(path(ctx->task->comm)) }'
	says wrong-arg-type "'path' expects a struct path" <<<"$output"
	run "$NOPAL" -q -e 'iter:task_file { $f = ctx->file; print(path($f->f_path)) }'
	says wrong-arg-type "the kernel finds a path only by '->' from an argument of the probe" <<<"$output"
}

@test "a module that is not loaded has no functions and no raw tracepoints" {
	for probe in kprobe:nomod:vfs_read 'fentry:nomod:vfs*' rawtracepoint:nomod:sched_switch; do
		run "$NOPAL" --dry-run -e "$probe { exit(); }"
		[ "$status" = 1 ]
		says missing-probe "'$probe': no module 'nomod' is loaded" <<<"$output"
	done
	run "$NOPAL" --dry-run -e 'config = { missing_probes = warn } kprobe:nomod:vfs_read { } BEGIN { exit(); }'
	[ "$status" = 0 ]
	[[ "$output" == *"warning: there is no probe 'kprobe:nomod:vfs_read': no module 'nomod' is loaded"* ]]
}
