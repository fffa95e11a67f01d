# Command lines and what they answer, from the tables in tests/cases/commands.
load ../helpers

# What the command lines are about: ./tick, which has probes, and other things that users name.
setup() {
	cd "$BATS_TEST_TMPDIR"
	private tick >/dev/null
	mkdir bin
	ln -s "$NOPAL" bin/nopal
	PATH=$PWD/bin:$PATH
}

# check_case: $name, $run, $status, $out and $says hold a case. What is wrong is printed.
check_case() {
	local got code=0 line ok=1
	got=$(timeout 20 bash -c "$run" 2>&1 </dev/null) || code=$?
	[ "$code" = "${status:-0}" ] || { ok=; echo "status $code, not ${status:-0}"; }
	[ -z "$out" ] || [ "$got" = "$out" ] || { ok=; echo "not all of: $out"; }
	while IFS= read -r line; do
		[[ $got == *"$line"* ]] || { ok=; echo "nothing says: $line"; }
	done <<<"$says"
	[ -n "$ok" ] && return
	printf -- '-- %s\n$ %s\n%s\n\n' "$name" "$run" "$got"
	failed=$((failed + 1))
}

# check_cases FILE: every case of the table.
check_cases() {
	local name='' run='' status='' out='' says='' line field='' failed=0 count=0
	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		'#'* | '') continue ;;
		'-- '*)
			[ -z "$run" ] || check_case
			name=${line#-- } run='' status='' out='' says='' field=''
			count=$((count + 1))
			;;
		run:* | status:* | tags:*) field='' && declare "${line%%:*}=${line#*: }" ;;
		out:* | says:*) field=${line%%:*} && declare "$field=${line#*: }" ;;
		' '*) declare "$field=${!field}
${line#"${line:0:$((${#field} + 2))}"}" ;;
		*) echo "what is this: $line" && return 1 ;;
		esac
	done <"$1"
	check_case
	echo "$count cases, $failed failed"
	[ "$failed" = 0 ] && [ "$count" -ge "${2:-1}" ]
}

# 0.17: "Attaching 1 probe..." | standard output | standard error, with "Attached 1 probe" | as the newest; output is what
#   the script prints
@test "the words of trace, count, hist and stack" {
	check_cases "$ROOT/tests/cases/commands/words.txt" 14
}

@test "what users type by mistake is answered" {
	need_tracing
	need_program strip
	strip -o stripped tick
	cp tick arm
	cp /bin/true node
	printf '\267\0' | dd of=arm bs=1 seek=18 conv=notrunc status=none
	head -c 3000 tick >cut
	printf '#!/usr/bin/env python3\n' >script.py
	printf '#include <sys/sdt.h>\nint main(void) { DTRACE_PROBE1("my_provider", "some-name", 1); return 0; }\n' |
		${CC:-cc} -I "$ROOT/include" -x c - -o quoted
	check_cases "$ROOT/tests/cases/commands/mistakes.txt" 50
}

@test "command lines of bpftrace" {
	need_tracing
	check_cases "$ROOT/tests/cases/commands/bpftrace.txt" 14
}

# bats test_tags=deep
@test "the end of a run" {
	need_tracing
	private many >/dev/null
	check_cases "$ROOT/tests/cases/commands/endings.txt" 9
}

@test "a probe that needs more than tracing says what" {
	need_program ruby
	need_tracing
	library=$(ldconfig -p | sed -n 's/.*libruby-3.*=> //p' | head -1)
	[ -n "$library" ] || skip "needs libruby"
	run timeout 30 nopal count "$library:ruby:method__entry" -c "ruby -e '[].push(1)'"
	[[ "$output" == *"hint: 'ruby:method__entry' fires only while a TracePoint is enabled (Ruby 2.5 and later)"* ]]
	run nopal list -v "$library:ruby:method__entry"
	[[ "$output" == *"    fires only while a TracePoint is enabled"* ]]
	printf '#include <sys/sdt.h>\nint main(void) { DTRACE_PROBE1(postgresql, query__start, ""); return 0; }\n' |
		${CC:-cc} -I "$ROOT/include" -x c - -o statements
	run timeout 30 nopal count ./statements -c true
	[[ "$output" == *"hint: 'postgresql:query__start' fires for statements that are sent as text; prepared statements fire query__execute__start"* ]]
}

# A file of a container: below the root of another process, and not below ours.
@test "a path inside a container names the process to use" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	mkdir -p root/srv root/bin root/lib root/lib64 root/proc
	cp tick root/srv/nopal-inner
	cp -L /bin/sleep root/bin/
	cp -L /lib/x86_64-linux-gnu/libc.so.6 root/lib/ 2>/dev/null || skip "needs the C library of x86_64"
	cp -L /lib64/ld-linux-x86-64.so.2 root/lib64/
	LD_LIBRARY_PATH=/lib chroot root /bin/sleep 20 3>&- &
	inner=$!
	until [ "$(readlink "/proc/$inner/root")" = "$PWD/root" ]; do sleep 0.05; done
	run timeout 20 nopal list /srv/nopal-inner
	[ "$status" = 1 ]
	[[ "$output" == *"hint: process $inner, in a container, has such a file: use -p $inner, or the path /proc/$inner/root/srv/nopal-inner"* ]]
}

@test "an interpreter without probes is linked with a library that has some" {
	[ -e /usr/bin/ruby3.1 ] || skip "needs ruby3.1"
	run nopal list /usr/bin/ruby3.1
	[ "$status" = 1 ]
	[[ "$output" == *"hint: it is linked with '"*"libruby-3.1.so"*"', which has "*": nopal list /"* ]]
	run nopal count /usr/bin/ruby3.1
	[[ "$output" == *"hint: it is linked with '"*"libruby-3.1.so"*"', which has "*" probes"* ]]
}

@test "output for programs: JSON, folded stacks, CSV" {
	need_tracing
	need_program jq
	check_cases "$ROOT/tests/cases/commands/formats.txt" 14
}

# bats test_tags=deep
@test "the command lines of bcc's tools" {
	need_tracing
	private calls >/dev/null
	check_cases "$ROOT/tests/cases/commands/bcc.txt" 30
}

# The block of README.md that begins with "cc -o tick", as it stands.
@test "README: a probe of one's own is traced by what is pasted" {
	need_tracing
	mkdir -p include && cp -r "$ROOT/include/." include/
	sed -n '/^<!-- file: tick.c -->/,/^```$/p' "$ROOT/README.md" | sed '1,2d; /^```$/d' >tick.c
	sed -n '/^cc -o tick tick.c/,/^```$/p' "$ROOT/README.md" | sed '/^```$/d; s/^cc /cc -I include /; s/sudo //' >pasted
	grep -q 'nopal trace' pasted
	run timeout 60 bash -e pasted
	[ "$status" = 0 ]
	[[ "$output" == *"some has 4 letters"*"words has 5 letters"*"to has 2 letters"*"count has 5 letters"* ]]
}
