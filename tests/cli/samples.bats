# doc/adding.md says which files a new thing touches: a sample of each (tests/samples) is added to a copy of the tree, built and run.
load ../helpers

# files SAMPLE: that it changes.
files() {
	sed -n 's,^+++ b/,,p' "$ROOT/tests/samples/$1.diff"
}

setup_file() {
	need_program patch
	copy=$BATS_FILE_TMPDIR/copy
	mkdir -p "$copy/build" "$copy/bindings"
	cd "$copy" || return
	cp -a "$ROOT"/{Makefile,src,cmd,include,data,scripts} .
	cp -a "$ROOT/bindings/stapsdt" bindings
	# What is as it was is not compiled again.
	cp -a "$BUILD"/{obj,cmd,blob} build
	for sample in "$ROOT"/tests/samples/*.diff; do
		patch -s -p1 -F3 <"$sample" || return 1
	done
	env -u O make -j"$(nproc)" build/nopal >log 2>&1 || {
		cat log
		return 1
	}
	export ADDED=$copy/build/nopal LOG=$copy/log
}

@test "a new thing touches as few files as doc/adding.md says, each of them named there, and compiles without a warning" {
	while read -r sample most; do
		[ "$(files "$sample" | wc -l)" -le "$most" ]
		for file in $(files "$sample"); do
			grep -qF -e "${file%/*}" -e "${file##*/}" "$ROOT/doc/adding.md"
		done
	done <<-END
		cpu 2
		builtin 1
		display_type 2
		probe_kind 2
		aggregation 2
		operation 5
		language_runtime 4
	END
	! grep "warning: " "$LOG" || false
}

@test "a builtin, a display type and an operation" {
	run "$ADDED" -q -e 'BEGIN { print(low16(0x12345)); print(kib(10240)); print(lowbit(24)); }'
	[ "$output" = "9029
10 KiB
8" ]
	run "$ADDED" -q --engine=interp -e 'BEGIN { print((low16(0x12345), kib(10240), lowbit(24))); }'
	[ "$output" = "(9029, 10 KiB, 8)" ]
}

@test "an aggregation" {
	run "$ADDED" -q -e 'BEGIN { @p = peak(3); @p = peak(-1); @p = peak(2); }'
	[[ "$output" == *"@p: 18446744073709551615" ]]
}

@test "a probe kind" {
	run "$ADDED" -q -e 'every:50 { @n++; if (@n == 3) { exit() } }'
	[[ "$output" == *"@n: 3" ]]
	run "$ADDED" -q -e 'every:never { }'
	[[ "$output" == *"every:100, which are milliseconds"* ]]
}

@test "a language runtime" {
	local lua
	gcc -rdynamic -x c - -o lua <<-'END'
		#include <unistd.h>
		const char *version = "Lua 5.4.6";
		int lua_newstate(void) { return 5; }
		int main(void) { return sleep(60) + lua_newstate(); }
	END
	./lua 3>&- &
	lua=$!
	until grep -q "/lua$" /proc/$lua/maps; do sleep 0.05; done
	run "$ADDED" lang $lua
	kill $lua
	[[ "$output" == *"lua 5.4.6"*"its frames are not read"* ]]
}

@test "a CPU: its probes are listed" {
	[ "$(uname -m)" = x86_64 ] || skip "has x86-64 programs"
	gcc -shared -x assembler - -o alpha.so <<-'END'
		site: nop
		.pushsection .note.stapsdt, "", "note"
		.balign 4
		.4byte 992f-991f, 994f-993f, 3
		991: .asciz "stapsdt"
		992: .balign 4
		993: .8byte 0, 0, 0
		.asciz "db"
		.asciz "query"
		.asciz "8@$16 -4@-8($15) 8@$f3"
		994: .balign 4
		.popsection
	END
	printf '\x26\x90' | dd of=alpha.so bs=1 seek=18 conv=notrunc status=none
	run "$ADDED" list -v ./alpha.so
	echo "$output"
	[[ "$output" == *db:query*'$16'*'-8($15)'*'$f3'* ]]
}
