# What a program tells about its probes, in nopal list -v.
load ../helpers

setup() {
	cd "$BATS_TEST_TMPDIR"
	mkdir -p src
	cat >src/tick.c <<-'END'
		#include <sys/sdt.h>
		int work(int n, const char *word, double ratio, unsigned short *ports)
		{
			DTRACE_PROBE4(tick, word, word, n, ratio, ports[2] % 7);
			DTRACE_PROBE(tick, none);
			return n;
		}
		int main(int argc, char **argv) { return work(argc, *argv, 0.5, (unsigned short[]){1, 2, 3}) - argc; }
	END
}

# bats test_tags=deep
@test "types, sources, file and line, whatever the compiler" {
	for cc in gcc clang; do
		command -v $cc >/dev/null || continue
		for opt in -O0 -O1 -O2 '-O2 -flto -fuse-ld=lld' '-O2 -g' -Os; do
			[ "$cc $opt" != 'gcc -O2 -flto -fuse-ld=lld' ] || opt='-O2 -flto'
			[[ "$opt" != *lld ]] || command -v ld.lld >/dev/null || continue
			$cc $opt -I"$ROOT/include" src/tick.c -o tick
			run "$NOPAL" list -v ./tick
			echo "$cc $opt: $output"
			[[ "$output" == *"    tick:word(char *word, int n, double ratio, int = ports[2] % 7)  src/tick.c:4"* ]]
			[[ "$output" == *"    tick:none()  src/tick.c:5"* ]]
		done
	done
}

@test "as JSON" {
	gcc -O2 -I"$ROOT/include" src/tick.c -o tick
	"$NOPAL" list -j ./tick >json
	[ "$(jq -r 'select(.name == "word") | "\(.source_file):\(.source_line)"' json | head -1)" = src/tick.c:4 ]
	[ "$(jq -r 'select(.name == "word") | .arguments[1].source' json | head -1)" = n ]
}

@test "strip leaves it, objcopy can take it away, NOPAL_SDT_NO_DESCRIBE never makes it" {
	gcc -O2 -I"$ROOT/include" src/tick.c -o tick
	strip tick
	"$NOPAL" list -v ./tick | grep -q src/tick.c:4
	objcopy --remove-section=.note.nopal tick bare
	"$NOPAL" list -v ./bare | grep -q 'signed 4-byte'
	run "$NOPAL" list -v ./bare
	[[ "$output" != *"src/tick.c"* ]]
	./bare
	gcc -O2 -DNOPAL_SDT_NO_DESCRIBE -I"$ROOT/include" src/tick.c -o without
	[ -z "$(readelf -SW without | grep note.nopal)" ]
}

@test "a path with a percent sign, and one longer than the note keeps" {
	for dir in 'feature%2Fx' "$(printf 'long%.0s' $(seq 30))"; do
		mkdir -p "$dir"
		cp src/tick.c "$dir/tick.c"
		for opt in -O0 -O2; do
			gcc $opt -I"$ROOT/include" "$dir/tick.c" -o tick
			"$NOPAL" list -v ./tick | grep -q 'tick.c:4'
		done
	done
}

@test "a damaged description is a warning, not the end" {
	gcc -O2 -I"$ROOT/include" src/tick.c -o tick
	objcopy --dump-section .note.nopal=note tick
	head -c 90 note >cut
	objcopy --update-section .note.nopal=cut tick broken
	run "$NOPAL" list -v ./broken
	[[ "$output" == *"tick:word"* ]]
	says corrupt-descriptions "damaged"
}

@test "names and types that a provider file declares" {
	cat >shop.d <<-'END'
		provider shop { probe order(const char *what, unsigned long count); probe closed(); };
	END
	cat >shop.c <<-'END'
		#include "shop.h"
		int main(int argc, char **argv) { SHOP_ORDER(*argv, argc + 1ul); SHOP_CLOSED(); return 0; }
	END
	"$NOPAL" provider -h -s shop.d -o shop.h
	"$NOPAL" provider -G -s shop.d -o shop.o
	gcc -O2 -I. -I"$ROOT/include" shop.c shop.o -o shop
	run "$NOPAL" list -v ./shop
	[[ "$output" == *"    shop:order(const char *what, unsigned long count)  shop.c:2"* ]]
	[[ "$output" == *"    shop:closed()  shop.c:2"* ]]
}

# In C an enum is an integer, and any pointer may be passed on as another: the provider file knows what was meant.
@test "declared enums and texts are such, whatever C passes" {
	cat >shop.d <<-'END'
		enum color { RED, GREEN = 7 };
		typedef enum { SMALL, LARGE } size_kind;
		provider shop { probe sale(enum color color, size_kind size, const char *item, void *blob); };
	END
	cat >shop.c <<-'END'
		enum color { RED, GREEN = 7 };
		typedef enum { SMALL, LARGE } size_kind;
		#include "shop.h"
		int main(int argc, char **argv)
		{
			SHOP_SALE(argc > 0 ? GREEN : RED, LARGE, (const volatile char *)*argv, *argv);
			return 0;
		}
	END
	"$NOPAL" provider -h -s shop.d -o shop.h
	"$NOPAL" provider -G -s shop.d -o shop.o
	gcc -O2 -I. -I"$ROOT/include" shop.c shop.o -o shop
	run "$NOPAL" list -v ./shop
	[[ "$output" == *"shop:sale(enum color color, size_kind size, const char *item, void *blob)  shop.c:6"* ]]
	run bash -c '"$NOPAL" list --json ./shop | jq -c ".arguments | map([.class, .string])"'
	[ "$output" = '[["enum",false],["enum",false],["string",true],["pointer",false]]' ]
}
