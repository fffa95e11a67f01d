# User mode reads memory that another thread gives back at that moment: the program never faults, and no text is wrong.
load ../helpers

setup() {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	[ "$(id -u)" = 0 ] || skip "needs root, for --user"
	dir=$(mktemp -d /tmp/nopal-memory.XXXXXX)
	cp "$TARGETS/vanish" "$TARGETS/pluglib" "$dir"
	count=${STRESS:+3000000}
	count=${count:-30000}
}

teardown() {
	[ -z "${target:-}" ] || kill -9 "$target" 2>/dev/null || true
	[ -z "${dir:-}" ] || rm -rf "$dir"
}

# reads HOW [FILE]: every event is counted, under its text, none, or "(unreadable)".
reads() {
	local how=$1
	shift
	mkfifo "$dir/go"
	"$dir/vanish" "$how" "$count" "$@" <"$dir/go" >"$dir/printed" 3>&- &
	target=$!
	exec 8>"$dir/go"
	start_tracer "usdt:$dir/vanish:vanish:text { @n = count(); @[str(arg0)] = count(); @byte[*(uint8 *)arg0] = count() }" --user -p $target
	sleep 1 # for what the tracer does from time to time
	echo >&8
	wait $target
	wait $tracer
	cat "$dir/printed" "$output_file"
	fired=$(sed -n 's/^fired //p' "$dir/printed")
	[ "$fired" -ge "$count" ]
	grep -qx "@n: $fired" "$output_file"
	grep -qx "@\[$how\]: [0-9]*" "$output_file"
	[ "$(awk '/^@\[/ { n += $NF } END { print n }' "$output_file")" = "$fired" ]
	! grep '^@\[' "$output_file" | grep -vxE "@\[($how|\(unreadable\)|)\]: [0-9]*"
}

@test "a mapping that is unmapped while it is read" {
	reads map
}

@test "the heap, whose end is given back while it is read" {
	reads heap
}

@test "a library that is unloaded while it is read" {
	reads library "$dir/pluglib"
}

@test "text on the heap was (unreadable) once the main thread had ended" {
	cat >"$dir/alone.c" <<-'END'
		#include "nopal/sdt.h"
		#include <pthread.h>
		#include <string.h>
		static void *fire(void *main)
		{
			char *text = strdup("on the heap");
			pthread_join(*(pthread_t *)main, NULL);
			for (int i = 0; i < 1000; i++)
				NOPAL_PROBE(alone, text, text);
			return NULL;
		}
		int main(void)
		{
			static pthread_t self, other;
			self = pthread_self();
			pthread_create(&other, NULL, fire, &self);
			pthread_exit(NULL);
		}
	END
	cc -O2 -I"$ROOT/include" -o "$dir/alone" "$dir/alone.c" -lpthread
	run timeout 60 "$NOPAL" --user -q -e "usdt:$dir/alone:alone:text { @[str(arg0)] = count() }" -c "$dir/alone"
	echo "$output"
	grep -qx '@\[on the heap\]: 1000' <<<"$output"
}

# Of the memory of a session few pages are ever used.
@test "a process that locks all memory that it maps does not lock all that is mapped for it" {
	cat >"$dir/locks.c" <<-'END'
		#include "nopal/sdt.h"
		#include <stdio.h>
		#include <sys/mman.h>
		int main(void)
		{
			if (mlockall(MCL_CURRENT | MCL_FUTURE))
				return 1;
			puts("ready");
			fflush(stdout);
			getchar();
			for (int i = 0; i < 1000; i++)
				NOPAL_PROBE(locks, hit, i);
			return 0;
		}
	END
	cc -O2 -I"$ROOT/include" -o "$dir/locks" "$dir/locks.c"
	mkfifo "$dir/go"
	"$dir/locks" <"$dir/go" >"$dir/printed" 3>&- &
	target=$!
	exec 8>"$dir/go"
	awaits grep -q ready "$dir/printed"
	start_tracer "usdt:$dir/locks:locks:hit { @n = count(); @[arg0] = count() }" --user -p $target 8>&-
	cat /proc/$target/status
	[ "$(sed -n 's/^VmLck:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$target/status)" -lt 20000 ]
	echo >&8
	wait $target
	target=
	wait $tracer
	grep -qx '@n: 1000' "$output_file"
}

@test "a core dump of a traced process is without the memory of the session" {
	[ "$(cat /proc/sys/kernel/core_pattern)" = core ] || skip "core dumps go elsewhere"
	cat >"$dir/dies.c" <<-'END'
		#include "nopal/sdt.h"
		#include <stdlib.h>
		int main(void)
		{
			for (int i = 0; i < 1000; i++)
				NOPAL_PROBE(dies, hit, i);
			abort();
		}
	END
	cc -O2 -I"$ROOT/include" -o "$dir/dies" "$dir/dies.c"
	cd "$dir"
	ulimit -c unlimited
	run timeout 60 "$NOPAL" --user -c ./dies -e "usdt:$dir/dies:dies:hit { @n = count(); @[arg0] = count() }"
	echo "$output"
	grep -qx '@n: 1000' <<<"$output"
	ls -ls core*
	[ "$(stat -c %s core*)" -lt 20000000 ]
}

@test "a script with more maps than a process can have" {
	run timeout 60 "$NOPAL" --engine=native -q -c "$TARGETS/tick loop 1" -e "usdt:$TARGETS/tick:tick:loop { $(printf '@m%d = count(); ' $(seq 1023)) }"
	echo "$output"
	[ "$status" != 0 ]
	says user-maps "the script has 1023 maps, and the limit is"
}
