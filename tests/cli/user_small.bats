# User mode is small in the traced process, on any number of CPUs.
load ../helpers

setup() {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	[ "$(id -u)" = 0 ] || skip "needs root, for --user"
	dir=$(mktemp -d /tmp/nopal-small.XXXXXX)
	cp "$TARGETS/tick" "$dir"
	mkfifo "$dir/go"
}

teardown() {
	[ -z "${target:-}" ] || kill -9 "$target" 2>/dev/null || true
	[ -z "${dir:-}" ] || rm -rf "$dir"
}

# KiB of addresses that the target has, which reads a line: its libraries are loaded.
addresses() {
	for _ in $(seq 600); do
		! grep -qs '^0 0x0 ' "/proc/$target/syscall" || break
		sleep 0.05
	done
	awk '/^VmSize:/ { print $2 }' "/proc/$target/status"
}

# with_cpus N COMMAND...: where the kernel says that there may be N CPUs; 0: as it is.
with_cpus() {
	local cpus=$1
	shift
	[ "$cpus" != 0 ] || exec "$@"
	echo "0-$((cpus - 1))" >"$dir/possible"
	exec unshare -m sh -c 'mount --bind "$0" /sys/devices/system/cpu/possible && exec "$@"' "$dir/possible" "$@"
}

# grows KIB CLAUSE RESULT: on as many CPUs as there are, on 16 and on 256, a session with this clause adds at most KIB to the
# program's addresses, and prints a line that is RESULT.
grows() {
	local before after cpus
	for cpus in 0 16 256; do
		"$dir/tick" wait loop 100 2 <"$dir/go" >/dev/null 3>&- &
		target=$!
		exec 8>"$dir/go"
		awaits grep -qs '^0 0x0 ' /proc/$target/syscall # it reads: its libraries are loaded
		before=$(addresses)
		__BPFTRACE_NOTIFY_PROBES_ATTACHED=1 with_cpus $cpus "$NOPAL" --user -e "usdt:$dir/tick:tick:loop { $2 }" -p $target >"$dir/out" 2>"$dir/err" 3>&- 8>&- &
		tracer=$!
		for _ in $(seq 600); do
			! grep -q PROBES_ATTACHED "$dir/err" || break
			sleep 0.05
		done
		after=$(addresses)
		echo >&8
		exec 8>&-
		wait $target
		wait $tracer
		cat "$dir/out" "$dir/err"
		echo "on ${cpus/#0/these} CPUs: $before KiB, then $after"
		grep -qx "$3" "$dir/out"
		[ "$after" -gt "$before" ]
		[ $((after - before)) -le "$1" ]
	done
}

@test "count() took 71 MiB of addresses" {
	grows 4096 '@ = count()' '@: 200'
}

@test "hist() took 71 MiB of addresses" {
	grows 4096 '@ = hist(arg0)' '\[64, 128).*'
}

@test "printf took 71 MiB of addresses, and more on more CPUs" {
	grows 8192 'printf("record %d\n", arg0)' 'record 99'
}

# make_keys: a program that fires keys:one with COUNT numbers and texts, round after round. It reads a line before it begins,
# and one before it ends: keys THREADS CHILDREN EVENTS COUNT [filter]. Without threads and children the main thread fires.
make_keys() {
	cat >"$dir/keys.c" <<-'END'
		#include "nopal/sdt.h"
		#include <linux/filter.h>
		#include <linux/seccomp.h>
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/prctl.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static long events, count;
		static void *fire(void *unused)
		{
			char text[32];
			for (long i = 0; i < events; i++) {
				snprintf(text, sizeof(text), "key %ld", i % count);
				NOPAL_PROBE(keys, one, i % count, text);
			}
			return unused;
		}
		int main(int argc, char **argv)
		{
			long threads = atol(argv[1]), children = atol(argv[2]);
			pthread_t all[16];
			struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
			struct sock_fprog filter = {1, &allow};
			if (argc > 5 && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)))
				return 1;
			events = atol(argv[3]);
			count = atol(argv[4]);
			getchar();
			for (long i = 0; i < children; i++)
				if (!fork())
					_exit(fire(NULL) != NULL);
			for (long i = 0; i < threads; i++)
				pthread_create(&all[i], NULL, fire, NULL);
			if (!threads && !children)
				fire(NULL);
			for (long i = 0; i < threads; i++)
				pthread_join(all[i], NULL);
			while (wait(NULL) > 0)
				;
			puts("fired");
			fflush(stdout);
			getchar();
			return 0;
		}
	END
	cc -O2 -I"$ROOT/include" -o "$dir/keys" "$dir/keys.c" -lpthread
}

# fires CLAUSE OPTIONS... -- WORDS...: keys with these words, traced; $before and $after are its KiB before the session and after the
# last event. It gets the $limit when it is traced, or the limit $early before.
fires() {
	local clause=$1 options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	"$dir/keys" "$@" <"$dir/go" >"$dir/printed" 3>&- &
	target=$!
	exec 8>"$dir/go"
	before=$(addresses)
	[ -z "${early:-}" ] || prlimit "$early" --pid $target
	start_tracer "usdt:$dir/keys:keys:one { $clause }" --user "${options[@]}" -p $target
	[ -z "${limit:-}" ] || prlimit "$limit" --pid $target
	echo >&8
	for _ in $(seq 600); do
		! grep -q fired "$dir/printed" || break
		sleep 0.1
	done
	after=$(addresses)
	echo >&8
	exec 8>&-
	wait $target
	wait $tracer
	grep -v '^@' "$output_file" || true
	cat "$messages"
	echo "$before KiB, then $after"
}

# delivered: what all keys of @ add up to. lost: updates, by the messages.
delivered() {
	awk '/^@\[/ { n += $NF } END { print n + 0 }' "$output_file"
}

lost() {
	sed -n 's/^Lost \([0-9]*\) map updates\{0,1\} in processes that cannot map more memory.*/\1/p' "$output_file" "$messages" | grep . || echo 0
}

@test "4,096 keys took 29 MiB of addresses, and texts 345" {
	make_keys
	for key in arg0 'str(arg1)'; do
		fires "@[$key] = count()" -- 0 0 40960 4096
		[ "$(grep -c '^@\[' "$output_file")" = 4096 ]
		[ "$(delivered)" = 40960 ]
		[ $((after - before)) -le 8192 ]
	done
}

@test "a map grows in the process while several threads and their children use it" {
	make_keys
	for key in arg0 'str(arg1)'; do
		fires "@[$key] = count()" --follow -- 3 4 60000 20000
		[ "$(grep -c '^@\[' "$output_file")" = 20000 ]
		[ "$(delivered)" = 420000 ]
		[ "$(lost)" = 0 ]
	done
}

@test "a map that cannot grow in the process, since it has a limit: what is lost is counted" {
	make_keys
	limit=--as=12000000
	fires '@[str(arg1)] = count()' -- 0 0 1 1
	limit=--as=$((before * 1024 + 4000000))
	fires '@[str(arg1)] = count()' --follow -- 0 3 20000 8000
	[ "$(lost)" -gt 0 ]
	[ "$(delivered)" -gt 0 ]
	[ $(($(delivered) + $(lost))) = 60000 ]
}

@test "a process with a system call filter has all of a map at once, and loses nothing" {
	make_keys
	fires '@[arg0] = count()' -- 0 0 20000 20000 filter
	[ "$(delivered)" = 20000 ]
}

# What the last event has left in its red zone was taken for addresses to return to.
@test "a program that waits for input kept megabytes of a session with text" {
	cat >"$dir/lines.c" <<-'END'
		#include "nopal/sdt.h"
		#include <stdio.h>
		#include <stdlib.h>
		__attribute__((noinline)) static void fire(long i, const char *text)
		{
			NOPAL_PROBE(lines, one, i, text);
			__asm__ volatile("");
		}
		int main(void)
		{
			char line[64];
			while (fgets(line, sizeof(line), stdin)) {
				for (long i = 0; i < atol(line); i++)
					fire(i, "a text");
				printf("fired\n");
				fflush(stdout);
			}
			return 0;
		}
	END
	cc -O2 -I"$ROOT/include" -o "$dir/lines" "$dir/lines.c"
	"$dir/lines" <"$dir/go" >"$dir/printed" 3>&- &
	target=$!
	exec 8>"$dir/go"
	echo 10 >&8
	awaits grep -q fired "$dir/printed"
	before=$(cut -d' ' -f1 "/proc/$target/maps")
	for session in 2 3 4; do
		start_tracer "usdt:$dir/lines:lines:one { @[str(arg1)] = count() }" --user -p $target
		echo 1000 >&8
		for _ in $(seq 600); do
			[ "$(wc -l <"$dir/printed")" != $session ] || break
			sleep 0.05
		done
		addresses >/dev/null # it waits for input again
		stop_tracer
		cat "$output_file" "$messages"
		grep -qx '@\[a text\]: 1000' "$output_file"
		! grep 'stay mapped' "$messages" || false
		[ "$(cut -d' ' -f1 "/proc/$target/maps")" = "$before" ]
	done
	exec 8>&-
	wait $target
}

# refused LIMIT NAME: root has the kernel trace it, whole, and says so; others get an error with the name of the limit.
refused() {
	"$dir/keys" 0 0 200 5 <"$dir/go" >/dev/null 3>&- &
	target=$!
	exec 8>"$dir/go"
	before=$(addresses)
	prlimit "$1" --pid $target
	run "$NOPAL" --engine=native -p $target -e "usdt:$dir/keys:keys:one { @n = count() }"
	echo "$output"
	[ "$status" != 0 ]
	grep -qE "error: cannot trace process $target in user mode: its limit of $2 is [0-9]+( KiB)?, of which [0-9]+ are used, and a session needs [0-9]+" <<<"$output"
	says user-mode-limit "in user mode: its limit of"
	grep -q "hint: raise it by 'prlimit ${1%=*}=unlimited --pid $target'" <<<"$output"
	echo "$before KiB, then $(addresses)"
	[ "$(addresses)" = "$before" ]
	start_tracer "usdt:$dir/keys:keys:one { @n = count() }" --user -p $target
	printf "\n\n" >&8
	exec 8>&-
	wait $target
	wait $tracer
	cat "$output_file" "$messages"
	grep -qE "warning: cannot trace process $target in user mode: its limit of $2 .*: the kernel traces it" "$messages"
	grep -qx '@n: 200' "$output_file"
}

@test "user-mode-limit: a process near a limit was traced by nobody" {
	make_keys
	refused --as=3000000 'addresses \(RLIMIT_AS\)'
	refused --nofile=4 'open files \(RLIMIT_NOFILE\)'
	refused --data=100000 'data \(RLIMIT_DATA\)'
	refused --stack=100000 'the stack \(RLIMIT_STACK\)'
}

@test "a process that came near a limit while the session began was traced by nobody" {
	make_keys
	for limit in --nofile=4 --as=3000000; do
		"$dir/keys" 0 0 200 5 <"$dir/go" >/dev/null 3>&- &
		target=$!
		exec 8>"$dir/go"
		script="BEGIN { system(\"prlimit $limit --pid $target\") } usdt:$dir/keys:keys:one { @n = count(); @[ustack(1)] = count() }"
		start_tracer "$script" --unsafe --user -p $target
		printf "\n\n" >&8
		exec 8>&-
		wait $target
		wait $tracer
		cat "$output_file" "$messages"
		grep -qE "warning: cannot trace process $target in user mode: its limit of .*: the kernel traces it" "$messages"
		grep -qx '@n: 200' "$output_file"
		grep -q '^    fire+' "$output_file"
	done
}

# One can map nothing more, in one all threads are in vfork().
@test "a process that cannot be entered was traced by nobody" {
	cat >"$dir/shut.c" <<-'END'
		#include "nopal/sdt.h"
		#include <sys/mman.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			char *at = mmap(NULL, 1 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), byte;
			int is_forked = argv[1][0] == 'v';
			for (long i = 0; !is_forked && !mprotect(at + i * 8192, 4096, PROT_READ); i++)
				;
			if (write(1, "ready\n", 6) != 6)
				return 1;
			if ((!is_forked || !vfork()) && (read(0, &byte, 1) != 1 || is_forked))
				_exit(1);
			for (int i = 0; i < 200; i++)
				NOPAL_PROBE(shut, one, i);
			return argc != 2;
		}
	END
	cc -O2 -I"$ROOT/include" -o "$dir/shut" "$dir/shut.c"
	for way in vfork mappings; do
		"$dir/shut" $way <"$dir/go" >"$dir/printed" 3>&- &
		target=$!
		exec 8>"$dir/go"
		awaits grep -q ready "$dir/printed"
		start_tracer "usdt:$dir/shut:shut:one { @n = count() }" --user -p $target
		echo >&8
		exec 8>&-
		wait $target
		wait $tracer
		cat "$output_file" "$messages"
		grep -qE "warning: cannot (trace|stop) process $target.*: the kernel traces it" "$messages"
		grep -qx '@n: 200' "$output_file"
	done
}

@test "programs with ulimit -v 6000 to 12000, or ulimit -n 4, were traced by nobody" {
	make_keys
	for limit in '-v 4000' '-v 6000' '-v 8000' '-v 12000'; do
		run "$NOPAL" --user -q -e "usdt:$dir/keys:keys:one { @n = count() }" -c "sh -c 'ulimit $limit; exec $dir/keys 0 0 200 5'" </dev/null
		echo "$limit: $output"
		grep -qx '@n: 200' <<<"$output"
	done
	for early in --as=4096000 --as=6144000 --as=8192000 --as=12288000 --nofile=4; do
		fires '@[arg0] = count()' -- 0 0 200 5
		[ "$(delivered)" = 200 ]
	done
}

@test "a program that may have 120 MiB of addresses could not allocate what it can untraced" {
	cat >"$dir/alloc.c" <<-'END'
		#include "nopal/sdt.h"
		#include <stdio.h>
		#include <stdlib.h>
		int main(void)
		{
			int count = 0;
			getchar();
			for (int i = 0; i < 100; i++) {
				NOPAL_PROBE(alloc, one, i);
				count += malloc(1 << 20) != NULL;
			}
			printf("%d\n", count);
			return 0;
		}
	END
	cc -O2 -fno-builtin -I"$ROOT/include" -o "$dir/alloc" "$dir/alloc.c"
	for clause in '@ = count()' '@[arg0] = count()' '@ = hist(arg0)'; do
		prlimit --as=$((120 << 20)) "$dir/alloc" <"$dir/go" >"$dir/printed" 3>&- &
		target=$!
		exec 8>"$dir/go"
		addresses
		start_tracer "usdt:$dir/alloc:alloc:one { $clause }" --user -p $target
		echo >&8
		exec 8>&-
		wait $target
		wait $tracer
		cat "$messages" "$dir/printed"
		[ "$(cat "$dir/printed")" = 100 ]
		! grep -q 'kernel traces' "$messages" || false
	done
}

@test "a user who may lock 8 MiB could not lock all memory of a traced program" {
	cat >"$dir/lock.c" <<-'END'
		#include "nopal/sdt.h"
		#include <stdio.h>
		#include <sys/mman.h>
		int main(void)
		{
			getchar();
			NOPAL_PROBE(lock, one, 1);
			if (mlockall(MCL_CURRENT | MCL_FUTURE))
				perror("mlockall");
			else
				puts("locked");
			NOPAL_PROBE(lock, one, 2);
			return 0;
		}
	END
	cc -O2 -I"$ROOT/include" -o "$dir/lock" "$dir/lock.c"
	chmod 755 "$dir"
	for clause in '@ = count()' '@[arg0] = count()' '@[str(arg0)] = count()'; do
		setpriv --reuid=65534 --clear-groups prlimit --memlock=$((8 << 20)) "$dir/lock" <"$dir/go" >"$dir/printed" 2>&1 3>&- &
		target=$!
		exec 8>"$dir/go"
		addresses
		start_tracer "usdt:$dir/lock:lock:one { @n = count(); $clause }" --user -p $target
		echo >&8
		exec 8>&-
		wait $target
		wait $tracer
		cat "$messages" "$dir/printed" "$output_file"
		[ "$(cat "$dir/printed")" = locked ]
		grep -qx '@n: 2' "$output_file"
		! grep -q 'kernel traces' "$messages" || false
	done
}

# Prints the folder of a new memory cgroup that may have $1 bytes.
make_memory_cgroup() {
	local folder=/sys/fs/cgroup/memory/nopal-$$ file=memory.limit_in_bytes
	[ -d /sys/fs/cgroup/memory ] || { folder=/sys/fs/cgroup/nopal-$$ file=memory.max; }
	mkdir "$folder" 2>/dev/null || return 1
	if ! echo "$1" 2>/dev/null >"$folder/$file"; then
		rmdir "$folder"
		return 1
	fi
	echo "$folder"
}

@test "a program near the limit of its memory cgroup was ended for a map of many keys" {
	local cgroup
	[ "$(id -u)" = 0 ] || skip "only root makes cgroups"
	cgroup=$(make_memory_cgroup $((12 << 20))) || skip "no memory cgroup can be made here"
	cat >"$dir/near.c" <<-'END'
		#include <nopal/sdt.h>
		#include <stdio.h>
		#include <unistd.h>
		int main(void)
		{
			getchar();
			for (int i = 0; i < 200000; i++) {
				NOPAL_PROBE(near, key, i);
				if (i % 500 == 499)
					usleep(1000);
			}
			return 0;
		}
	END
	cc -O2 -I"$ROOT/include" -o "$dir/near" "$dir/near.c"
	sh -c 'echo $$ >"$0"/cgroup.procs && exec "$1"' "$cgroup" "$dir/near" <"$dir/go" 3>&- &
	target=$!
	exec 8>"$dir/go"
	export NOPAL_MAX_MAP_KEYS=300000
	awaits grep -qs near /proc/$target/comm
	start_tracer "usdt:$dir/near:near:key { @[arg0] = count() }" --user -p $target
	echo >&8
	exec 8>&-
	status=0
	wait $target || status=$?
	wait $tracer
	rmdir "$cgroup"
	[ "$status" = 0 ]
	[ "$(grep -c '^@\[' "$output_file")" = 200000 ]
}
