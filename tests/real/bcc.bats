# bcc's command lines: the same output as that of bcc's own tools, where these run. Compiling one of bcc's programs takes
# seconds, so all but tplist is for STRESS=1. They need the headers of some kernel, in a place that only they see.
load ../helpers

setup() {
	need_tracing
	need_program tplist-bpfcc
	cd "$BATS_TEST_TMPDIR"
	private calls >/dev/null
	private tick >/dev/null
}

# bcc TOOL ARGUMENTS...
bcc() {
	local headers tool=$1
	shift
	headers=$(find /usr/src -maxdepth 1 -name 'linux-headers-*-amd64' | sort -V | tail -1)
	unshare -m bash -c 'mount -t tmpfs none /lib/modules && mkdir -p "/lib/modules/$(uname -r)" &&
		ln -s "$1" "/lib/modules/$(uname -r)/build" && ln -s "${1%-amd64}-common" "/lib/modules/$(uname -r)/source" &&
		shift && exec timeout -s INT 30 "$@"' - "$headers" "$tool-bpfcc" "$@"
}

need_bcc() {
	[ -n "${STRESS:-}" ] || skip "STRESS=1 runs it"
	bcc funccount -d 1 c:nanosleep 2>&1 | grep -q '^FUNC' || skip "bcc's tools do not run here: they need linux-headers"
}

# bats test_tags=deep
@test "tplist: every probe, its sites and arguments, as bcc's" {
	for file in ./tick ./calls $(ls /usr/bin/python3.11 /usr/lib/x86_64-linux-gnu/libstdc++.so.6 /usr/lib/x86_64-linux-gnu/libruby-*.so.?.? 2>/dev/null || true); do
		for level in '' -v -vv; do
			tplist-bpfcc -l "$file" $level | sort >theirs
			"$NOPAL" tplist -l "$file" $level | sort >ours
			diff theirs ours
		done
	done
	grep -q . ours
}

# same COMMAND OPTIONS...: both print the same for a process, but for numbers and Python's b''.
same() {
	local tool=$1
	shift
	./tick loop 400000 1 20000 >/dev/null 3>&- &
	# bcc's trace does not end by itself.
	bcc "$tool" -p $! "$@" 2>/dev/null | head -"${lines:-1000}" | sed -E "s/b'([^']*)'/\1/g" >theirs
	timeout -s INT 30 "$NOPAL" "$tool" -p $! "$@" 2>/dev/null | head -"${lines:-1000}" >ours
	kill $!
	diff <(shape theirs) <(shape ours) || { cat theirs ours && return 1; }
	[ "$(wc -l <ours)" -gt 2 ]
}

# Without numbers, bars, ends of lines, frames that are none, and those that bcc does not find.
shape() {
	sed -E 's/^( +)[0-9a-f]{4,} /\1N /; s/^[0-9:]{8}/CLOCK/; s/\[[0-9:]{8}\]/[CLOCK]/; s/0x[0-9a-f]+/N/g; s/[0-9a-f]{12,}/N/g; s/[0-9]+/N/g
		s/ *\|[* ]*\|//; s/ +/ /g; s/ $//; /\[unknown\]|\[cut:/d; /^ +(N )?(main|run_loop|fire_loop|_start|__libc_start)/d; /N -> N : N$/d' "$1"
}

@test "trace, funccount, stackcount, funclatency, argdist: as bcc's" {
	need_bcc
	lines=3 same trace -T -C "u:$PWD/tick:loop (arg1 > 1) \"i=%d %s\", arg1, arg2"
	lines=3 same trace -U -a 'c:usleep "%u", arg1'
	same funccount -d 2 -i 1 -T 'c:usl*'
	same stackcount -D 2 c:usleep
	same stackcount -D 2 -s -v -U c:usleep
	same funclatency -d 2 -u c:usleep
	same funclatency -d 2 -i 1 -T -F -m c:usleep
	same argdist -n 2 -C 'p:c:usleep(unsigned n):u32:n' -H 'p:c:usleep(unsigned n):u32:n#micro' -C 'r:c:usleep()'
	same argdist -n 1 -C "u:$PWD/tick:loop():char*:arg2" -H 'r:c:usleep(u32 n):u64:$latency/$entry(n)#ns per us'
}
