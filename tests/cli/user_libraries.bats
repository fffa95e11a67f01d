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

# library NAME SHIFT [FLAGS...]: has the probe turn:NAME, SHIFT bytes further on, and before it some other code.
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

# Of one size, so that they take each other's address.
@test "libraries with and without semaphores, some bytes from each other" {
	library a 0
	library b 0 -D_SDT_HAS_SEMAPHORES -DNOPAL_SDT_ANY_PAGE
	library c 1
	library d 3 -D_SDT_HAS_SEMAPHORES -DNOPAL_SDT_ANY_PAGE
	takes_turns a b c d
}

@test "a library that is mapped several times: each copy has a semaphore of its own" {
	library a 0 -D_SDT_HAS_SEMAPHORES
	cat >"$dir/copies.c" <<-'END'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <stdio.h>
		#define COPIES 5
		int main(int argc, char **argv)
		{
			void (*plug[COPIES])(int n);
			for (int i = 0; i < argc - 1 && i < COPIES; i++) {
				void *library = dlmopen(i ? LM_ID_NEWLM : LM_ID_BASE, argv[1 + i], RTLD_NOW);
				plug[i] = library ? (void (*)(int))dlsym(library, "plug") : NULL;
				if (!plug[i])
					return 1;
			}
			puts("ready");
			fflush(stdout);
			getchar();
			for (int i = 0; i < argc - 1 && i < COPIES; i++)
				for (int k = 0; k <= i; k++)
					plug[i](k);
			return 0;
		}
	END
	cc -O2 -o "$dir/copies" "$dir/copies.c" -ldl
	mkfifo "$dir/go"
	"$dir/copies" "$dir/a" "$dir/a" "$dir/a" "$dir/a" "$dir/a" <"$dir/go" >"$dir/printed" 3>&- &
	target=$!
	exec 8>"$dir/go"
	awaits grep -q ready "$dir/printed"
	start_tracer "usdt:$dir/a:turn:a { @n = count() }" --engine=native -p $target 8>&-
	echo >&8
	wait $target
	wait $tracer
	cat "$output_file" "$messages"
	grep -qx '@n: 15' "$output_file"
}

@test "at the end all sites are as they were, also when a library is gone" {
	library a 0
	cat >"$dir/ends.c" <<-'END'
		#include <dlfcn.h>
		#include <stdio.h>
		#include <sys/sdt.h>
		int main(int argc, char **argv)
		{
			void *library = dlopen(argv[argc - 1], RTLD_NOW);
			getchar();
			dlclose(library);
			DTRACE_PROBE(turn, end);
			puts("closed");
			fflush(stdout);
			getchar();
			return 0;
		}
	END
	cc -O2 -I"$ROOT/include" -o "$dir/ends" "$dir/ends.c" -ldl
	mkfifo "$dir/go"
	"$dir/ends" "$dir/a" <"$dir/go" >"$dir/printed" 3>&- &
	target=$!
	exec 8>"$dir/go"
	sleep 0.3
	start_tracer "usdt:$dir/a:turn:a { @a = count() } usdt:$dir/ends:turn:end { @n = count() }" --engine=native -p $target 8>&-
	echo >&8
	for _ in $(seq 600); do
		! grep -q closed "$dir/printed" || break
		sleep 0.02
	done
	stop_tracer
	cat "$output_file" "$messages"
	grep -qx '@n: 1' "$output_file"
	run "$NOPAL" doctor -p $target
	echo "$output"
	[[ $output == *"1 of 1 site can be traced in user mode"* ]]
	echo >&8
	wait $target
}

@test "a library that was loaded before tracing begins, and is unloaded and loaded again at once" {
	library a 0
	cat >"$dir/again.c" <<-'END'
		#include <dlfcn.h>
		#include <stdio.h>
		#include <string.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static void *load(const char *path)
		{
			void *library = dlopen(path, RTLD_NOW);
			((void (*)(int))dlsym(library, "plug"))(0);
			return library;
		}
		int main(int argc, char **argv)
		{
			void *library = load(argv[1]);
			puts("ready");
			fflush(stdout);
			getchar();
			if (argc > 2 && fork()) {
				wait(NULL);
				return 0;
			}
			for (int i = 0; i < 10; i++) {
				dlclose(library);
				library = load(argv[1]);
			}
			return 0;
		}
	END
	cc -O2 -o "$dir/again" "$dir/again.c" -ldl
	mkfifo "$dir/go"
	for mode in '' child; do
		"$dir/again" "$dir/a" $mode <"$dir/go" >"$dir/printed" 3>&- &
		target=$!
		exec 8>"$dir/go"
		awaits grep -q ready "$dir/printed"
		start_tracer "usdt:$dir/a:turn:a { @n = count() }" --engine=native --follow -p $target 8>&-
		echo >&8
		exec 8>&-
		wait $target
		wait $tracer
		cat "$output_file" "$messages"
		grep -qx '@n: 10' "$output_file"
	done
}

# A tracer that stands still answers nobody: who waits goes on after a second, which is counted.
@test "a thread that has unloaded a library does not wait for the tracer" {
	library a 0
	cat >"$dir/unloads.c" <<-'END'
		#include <dlfcn.h>
		#include <stdio.h>
		int main(int argc, char **argv)
		{
			void *library = dlopen(argv[argc - 1], RTLD_NOW);
			((void (*)(int))dlsym(library, "plug"))(0);
			puts("loaded");
			fflush(stdout);
			getchar();
			dlclose(library);
			puts("unloaded");
			fflush(stdout);
			getchar();
			library = dlopen(argv[argc - 1], RTLD_NOW);
			((void (*)(int))dlsym(library, "plug"))(0);
			return 0;
		}
	END
	cc -O2 -o "$dir/unloads" "$dir/unloads.c" -ldl
	mkfifo "$dir/go"
	exec 8<>"$dir/go"
	start_tracer "usdt:$dir/a:turn:a { @a = count() }" --engine=native -c "sh -c '$dir/unloads $dir/a <$dir/go'" 8>&-
	awaits grep -qx loaded "$output_file"
	kill -STOP $tracer
	echo >&8
	awaits grep -qx unloaded "$output_file"
	kill -CONT $tracer
	echo >&8
	wait $tracer
	cat "$output_file" "$messages"
	grep -qx '@a: 2' "$output_file"
	! grep warning "$messages" || false
}

# As Alpine's: functions without padding between them.
@test "a loader whose function has no padding after it: musl's" {
	command -v musl-gcc >/dev/null || skip "no musl-gcc"
	loader=$dir/ld-musl.so
	cp "/lib/ld-musl-$(uname -m).so.1" "$loader"
	at=$((0x$(nm -D "$loader" | awk '/ _dl_debug_state$/ { print $1 }')))
	[ "$(dd if="$loader" bs=1 skip=$at count=1 status=none)" = $'\xc3' ]
	printf '\x4c\x8b\x05\x89\xcd\x03\x00' | dd of="$loader" bs=1 seek=$((at + 1)) conv=notrunc status=none
	musl-gcc -O2 -I"$ROOT/include" -o "$dir/reload" "$ROOT/tests/targets/reload.c" -Wl,-dynamic-linker,"$loader"
	musl-gcc -O2 -I"$ROOT/include" -shared -fPIC -o "$dir/pluglib.so" "$ROOT/tests/targets/pluglib.c"
	run timeout 60 "$NOPAL" --user -q -c "$dir/reload $dir/pluglib.so 30" -e "usdt:$dir/pluglib.so:plug:in { @ = count() }" <<<""
	echo "$output"
	grep -qx '@: 30' <<<"$output"
	! grep 'warning' <<<"$output" || false
}
