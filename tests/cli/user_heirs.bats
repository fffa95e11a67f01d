# User mode: children of fork that load libraries. Each event is traced, from the first instruction of a library on.
load ../helpers

setup() {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	[ "$(id -u)" = 0 ] || skip "needs root, for --user"
	dir=$(mktemp -d /tmp/nopal-heirs.XXXXXX)
	cp "$TARGETS/heirs" "$dir"
	for name in first second; do
		library $name
	done
}

teardown() {
	[ -z "${dir:-}" ] || rm -rf "$dir"
}

# library NAME [FLAGS...]
library() {
	cat >"$dir/$1.c" <<-END
		#include <sys/sdt.h>
		#ifdef _SDT_HAS_SEMAPHORES
		unsigned short heir_${1}_semaphore __attribute__((section(".probes")));
		#else
		#define heir_${1}_semaphore 1
		#endif
		void plug(int n)
		{
			if (heir_${1}_semaphore)
				DTRACE_PROBE1(heir, $1, n);
		}
	END
	cc -O2 -shared -fPIC -I"$ROOT/include" "${@:2}" -o "$dir/$1" "$dir/$1.c"
}

# all_are_counted MODE CHILDREN [WRAPPER...]
all_are_counted() {
	local by_path="usdt:$dir/heirs:heirs:own { @own = count() } usdt:$dir/first:heir:first { @first = count() } usdt:$dir/second:heir:second { @second = count() }"
	local by_name='usdt:*:heirs:own { @own = count() } usdt:*:heir:first { @first = count() } usdt:*:heir:second { @second = count() }'

	for script in "$by_path" "$by_name"; do
		run timeout 100 "$NOPAL" --user -c "${*:3} $dir/heirs $1 $dir/first $dir/second $2" -e "$script" <<<""
		echo "$output"
		[ "$status" = 0 ]
		for name in own first second; do
			fired=$(sed -n "s/^$name //p" <<<"$output")
			[ "$fired" -gt 0 ]
			grep -qx "@$name: $fired" <<<"$output"
		done
		! grep 'nopal: warning' <<<"$output" | grep -v 'notices of new images' || false
	done
}

@test "a child unloads and loads what its parent had loaded, and another library" {
	all_are_counted cycle 3
}

@test "... with semaphores" {
	library first -D_SDT_HAS_SEMAPHORES
	library second -D_SDT_HAS_SEMAPHORES
	all_are_counted cycle 3
}

@test "children that load libraries at the same time" {
	all_are_counted parallel 20
}

@test "... while other threads of theirs fire" {
	all_are_counted threads 3
}

@test "children of children, each of which loads a library" {
	all_are_counted chain 6
}

@test "a child whose parents have ended, of a program that the command runs" {
	cat >"$dir/wrap" <<-'END'
		#!/bin/sh
		"$@"
	END
	chmod +x "$dir/wrap"
	all_are_counted late 1 "$dir/wrap"
}

@test "the children of a process that is traced by its number" {
	mkfifo "$dir/go"
	"$dir/heirs" parallel "$dir/first" "$dir/second" 5 <"$dir/go" >"$dir/printed" 3>&- &
	target=$!
	exec 8>"$dir/go"
	start_tracer "usdt::heirs:own { @own = count() } usdt::heir:* { @[probe] = count() }" --user --follow -p $target 8>&-
	echo >&8
	wait $target
	wait $tracer
	cat "$dir/printed" "$output_file" "$messages"
	grep -qx "@own: $(sed -n 's/^own //p' "$dir/printed")" "$output_file"
	grep -qx "@\[usdt:$dir/first:heir:first\]: $(sed -n 's/^first //p' "$dir/printed")" "$output_file"
	grep -qx "@\[usdt:$dir/second:heir:second\]: $(sed -n 's/^second //p' "$dir/printed")" "$output_file"
}

# Of these the parent and its child load the library at the same time.
# bats test_tags=deep
@test "many programs, one after the other, whose children load what they load" {
	cat >"$dir/twice.c" <<-'END'
		#include <dlfcn.h>
		#include <sys/wait.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			pid_t child = fork();
			void *library = dlopen(argv[1], RTLD_NOW);
			((void (*)(int))dlsym(library, "plug"))(argc);
			if (child)
				wait(0);
			return 0;
		}
	END
	cc -O2 -o "$dir/twice" "$dir/twice.c" -ldl
	count=${STRESS:+2000}
	count=${count:-100}
	run timeout 200 "$NOPAL" --user -c "sh -c 'seq $count | xargs -P 4 -I@ $dir/twice $dir/first'" -e "usdt:$dir/first:heir:first { @n = count() }"
	echo "$output"
	grep -qx "@n: $((2 * count))" <<<"$output"
	! grep -q 'milliseconds later\|threads resumed\|ended before' <<<"$output" || false
}

@test "without --follow, children that load libraries do what they do untraced" {
	echo | "$dir/heirs" parallel "$dir/first" "$dir/second" 5 >"$dir/untraced"
	mkfifo "$dir/go"
	"$dir/heirs" parallel "$dir/first" "$dir/second" 5 <"$dir/go" >"$dir/printed" 3>&- &
	target=$!
	exec 8>"$dir/go"
	start_tracer "usdt::heirs:own { @own = count() } usdt:*:heir:* { @[probe] = count() }" --user -p $target 8>&-
	echo >&8
	wait $target
	wait $tracer
	diff "$dir/untraced" "$dir/printed"
	cat "$output_file" "$messages"
}
