# Headers of C that scripts include: read by libclang where it is installed.
load ../helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	run "$NOPAL" --dump=tree -e $'#include <stddef.h>\nBEGIN { }'
	[ "$status" = 0 ]
}

need_libclang() {
	run "$NOPAL" check -q -e $'#include <stddef.h>\nBEGIN { print(sizeof(max_align_t)); }'
	[[ "$output" != *"libclang is not installed"* ]] || skip "needs libclang"
}

make_own() {
	cat >own.h <<-'END'
		#define LIMIT (3 * 7)
		enum color { RED, GREEN = 5, BLUE };
		typedef struct { int a; enum color c; struct { char name[8]; } in; } item_t;
		struct node { struct node *next; item_t item; unsigned f : 3; };
	END
	cat >own.c <<-'END'
		#include "own.h"
		__attribute__((noinline)) int use(struct node *n) { __asm__ volatile("" ::: "memory"); return n->item.a; }
		int main(void) { struct node n = {0, {LIMIT, GREEN, {"hello"}}, 5}; return use(&n) != 21; }
	END
	gcc -O1 -o own own.c || skip "no compiler for this"
}

@test "types, constants and macros of system headers" {
	need_libclang
	run "$NOPAL" check -e $'#include <netinet/in.h>\nBEGIN { @ = INADDR_LOOPBACK; @a = IPPROTO_UDP; print(sizeof(struct sockaddr_in)); }'
	[ "$status" = 0 ]
	run "$NOPAL" --dump=program -e $'#include <netinet/in.h>\nBEGIN { @ = INADDR_LOOPBACK; @a = IPPROTO_UDP; @s = sizeof(struct sockaddr_in); }'
	[[ "$output" == *"const 2130706433"* ]]
	[[ "$output" == *"const 17"* ]]
	[[ "$output" == *"const 16"* ]]
}

@test "a header of one's own: structs, enums by name, bit-fields, macros" {
	need_libclang
	need_tracing
	make_own
	# The kernel has another struct node.
	run "$NOPAL" -q -e $'#include "own.h"\nuprobe:./own:use { $n = (struct node *)arg0;
		printf("%d %s %s %d %d\\n", $n->item.a, $n->item.c, $n->item.in.name, $n->f, LIMIT); print($n->item); print(BLUE); }' -c ./own
	[ "$status" = 0 ]
	[ "${lines[0]}" = '21 GREEN hello 5 21' ]
	[ "${lines[1]}" = '{ .a = 21, .c = GREEN, .in = { .name = hello } }' ]
	[ "${lines[2]}" = BLUE ]
}

@test "-I and --include: headers in other folders, and before those of the script" {
	need_libclang
	mkdir -p 'a b' c
	printf '#define ONE 1\nstruct pair { int a, b; };\n' >'a b/one.h'
	printf '#define TWO (ONE + 1)\n' >c/two.h
	for command in check --dump=program; do
		run "$NOPAL" "$command" -I 'a b' -I c -e $'#include "two.h"\nBEGIN { @ = TWO; }' --include one.h
		[ "$status" = 0 ]
	done
	[[ "$output" == *"const 2"* ]]
	run "$NOPAL" check --include "$PWD/a b/one.h" -e 'BEGIN { print(sizeof(struct pair) + ONE); }'
	[ "$status" = 0 ]
	run "$NOPAL" check --include no.h -e 'BEGIN { print(NO_SUCH_NAME); }'
	[ "$status" = 1 ]
	says unknown-name "'no.h' file not found" <<<"$output"
}

# refused: `#include` of headers without libclang | accepted, but headers are read only where libclang is installed; types
#   come from BTF, DWARF and the script
@test "a header that is missing, and libclang that is" {
	need_libclang
	run "$NOPAL" check -e $'#include <no/such.h>\nBEGIN { print(sizeof(struct nopal_foo)); }'
	[ "$status" = 1 ]
	says unknown-type "the headers cannot be read: 'no/such.h' file not found" <<<"$output"
	run env NOPAL_LIBCLANG=/no/such.so "$NOPAL" check -e $'#include <netinet/in.h>\nBEGIN { print(sizeof(struct nopal_foo)); print(NOPAL_FOO); }'
	[ "$status" = 1 ]
	says unknown-type "headers are not read, because libclang is not installed: install libclang1" <<<"$output"
	says unknown-name "unknown name 'NOPAL_FOO'" <<<"$output"
	# Types of the kernel need none.
	[ ! -r /sys/kernel/btf/vmlinux ] || NOPAL_LIBCLANG=/no/such.so "$NOPAL" check -q -e $'#include <linux/sched.h>\nBEGIN { print(sizeof(struct task_struct)); }'
}
