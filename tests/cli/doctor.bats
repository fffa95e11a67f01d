# nopal doctor: what it says to whom.
load ../helpers

@test "an ordinary user: what is not known is not 'no', and what to do" {
	[ "$(id -u)" = 0 ] || skip "needs root, to become an ordinary user"
	need_program setpriv
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR"
	cp "$NOPAL" "$BATS_TEST_TMPDIR/"
	cd "$BATS_TEST_TMPDIR"
	run setpriv --reuid=65534 --regid=65534 --clear-groups ./nopal doctor
	[ "$status" = 1 ]
	[[ "$output" == *"uprobe_multi   ?    many probes are attached and removed at once"* ]]
	[[ "$output" == *"(?: the kernel tells only those who may load BPF programs)"* ]]
	[[ "$output" == *"to do: run nopal with sudo, or give it rights: setcap "* ]]
}

@test "root of a container: the rights to add" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	need_program setpriv
	run setpriv --bounding-set -all --inh-caps -all --reuid 0 "$NOPAL" doctor
	[ "$status" = 1 ]
	[[ "$output" == *"--cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE"* ]]
}

@test "a container without /sys: tracing works" {
	need_tracing
	run unshare -m sh -c 'mount -t tmpfs none /sys && exec "$0" doctor' "$NOPAL"
	[ "$status" = 0 ]
	[[ "$output" == *$'\ntracing works' ]]
}

@test "how code can be written is tried on a child; where nopal is itself traced, there is no user mode" {
	run "$NOPAL" doctor
	[[ $output == *"user mode      yes"* ]]
	[[ $output == *"its writes     yes  code is written by "* ]]
	[[ $output == *"its stacks     yes  frame pointers alone are followed"* ]]
	need_program strace
	run strace -f -o /dev/null "$NOPAL" doctor
	[[ $output == *"user mode      no   the kernel does not let this user debug even a child"*"as by strace -f"* ]]
}
