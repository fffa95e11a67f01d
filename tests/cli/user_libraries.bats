# User mode: libraries that are loaded and unloaded, and take each other's address.
load ../helpers

setup() {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	[ "$(id -u)" = 0 ] || skip "needs root, for --user"
	dir=$(mktemp -d /tmp/nopal-libraries.XXXXXX)
	cp "$TARGETS/reload" "$dir"
	count=${STRESS:+6000}
	count=${count:-240}
}

teardown() {
	[ -z "${dir:-}" ] || rm -rf "$dir"
}

# library NAME SHIFT [FLAGS...]: has the probe turn:NAME, so many bytes further on, and before it some other code.
library() {
	cat >"$dir/$1.c" <<-END
		#include <sys/sdt.h>
		#ifdef _SDT_HAS_SEMAPHORES
		unsigned short turn_${1}_semaphore __attribute__((section(".probes")));
		#else
		#define turn_${1}_semaphore 1
		#endif
		volatile long sum;
		void plug(int n)
		{
			__asm__ volatile(".fill $2, 1, 0x90");
			if (turn_${1}_semaphore)
				DTRACE_PROBE1(turn, $1, n);
			sum += n;
		}
	END
	cc -O2 -shared -fPIC -I"$ROOT/include" "${@:3}" -o "$dir/$1" "$dir/$1.c"
}

# takes_turns LIBRARY...: each fires as often as it is loaded, but not the last, which is not traced.
takes_turns() {
	local script='' each=$((count / $#)) paths=()
	for name in "$@"; do
		paths+=("$dir/$name")
		[ "$name" = "${!#}" ] || script+="usdt:$dir/$name:turn:$name { @$name = count() } "
	done
	run timeout 100 "$NOPAL" --engine=native -c "$dir/reload ${paths[0]} $count ${paths[*]:1}" -e "$script" <<<""
	echo "$output"
	grep -qx "called $count" <<<"$output"
	grep -qx "same $count" <<<"$output"
	for name in "${@:1:$#-1}"; do
		grep -qx "@$name: $each" <<<"$output"
	done
	! grep -q warning <<<"$output"
}

@test "libraries that take each other's address, with their probes at the same place" {
	library a 0
	library b 0
	library c 0
	takes_turns a b c
}

@test "libraries whose probes are some bytes from each other's" {
	library a 0
	library b 2
	library c 4
	library d 9
	takes_turns a b c d
}

@test "libraries with semaphores" {
	library a 0 -D_SDT_HAS_SEMAPHORES
	library b 0 -D_SDT_HAS_SEMAPHORES
	library c 0 -D_SDT_HAS_SEMAPHORES
	takes_turns a b c
}

@test "libraries with and without semaphores, some bytes from each other" {
	library a 0
	library b 0 -D_SDT_HAS_SEMAPHORES
	library c 1
	library d 3 -D_SDT_HAS_SEMAPHORES
	takes_turns a b c d
}
