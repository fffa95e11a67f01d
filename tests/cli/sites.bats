# What may be armed: nops for static probes, the beginnings of instructions for uprobes. Nothing else, whatever a
# file says of itself.
bats_require_minimum_version 1.5.0
load ../helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || exit 1
}

# functions.c: a function whose instructions are known: f (11 bytes), g without a size
make_functions() {
	[ "$(uname -m)" = x86_64 ] || skip "x86 code"
	cat >functions.s <<'S'
	.text
	.globl main
	.type f, @function
f:	movl $5, %eax		# f, f+5, f+6
	nop
	leal 1(%rdi,%rdi,2), %eax
	ret			# f+10
	.size f, . - f
	.type g, @function
g:	movl $7, %eax		# no size: up to h
	ret
	.type h, @function
h:	.byte 0x06, 0x90	# no instruction
	nop
	.size h, . - h
	.type main, @function
main:	pushq %rbx
	movl $3, %edi
	call f
	movl %eax, %ebx
	call g
	xorl %eax, %eax
	popq %rbx
	ret
	.size main, . - main
	.section .note.GNU-stack,"",@progbits
S
	gcc functions.s -o functions
}

# probe_at WHAT [OPTIONS]: count it in ./functions
probe_at() {
	run timeout 60 "$NOPAL" -q "${@:2}" -e "uprobe:./functions:$1 { @ = count() }" -c ./functions
}

@test "a uprobe in the middle of an instruction killed its target" {
	need_tracing
	make_functions
	for into in 1 2 3 4 7 8 9; do
		probe_at f+$into
		[ "$status" = 1 ]
		[[ "$output" == *"error: cannot probe 'uprobe:"*"f+$into'"*"it is in the middle of an instruction: "* ]]
		[[ "$output" == *"hint: --unsafe probes it anyway"* ]]
	done
	[[ "$output" == *": 8d 44 7f 01 at +6"* ]]
	for into in f f+5 f+6 f+10 g g+5 main+1; do
		probe_at $into
		[ "$status" = 0 ]
		[[ "$output" == *"@: 1"* ]]
	done
}

@test "a uprobe behind its function's end was accepted" {
	need_tracing
	make_functions
	for place in f+11 f+5000 h+3; do
		probe_at $place
		[ "$status" = 1 ]
		[[ "$output" == *" bytes: +${place#*+} is after its end"* ]]
	done
	probe_at g+6 # g ends where h begins
	[ "$status" = 1 ]
	[[ "$output" == *"'g' of '"*"' has 6 bytes: +6 is after its end"* ]]
}

@test "a uprobe at an address that is in no function was accepted" {
	need_tracing
	make_functions
	probe_at 0x10
	[ "$status" = 1 ]
	[[ "$output" == *"0x10 of '"*"' is not in a function that has a symbol"* ]]
	address=0x$(nm functions | sed -n 's/ t f$//p')
	probe_at "$address"
	[ "$status" = 0 ]
	probe_at "$(printf '0x%x' $((address + 5)))"
	[ "$status" = 0 ]
	probe_at "$(printf '0x%x' $((address + 3)))"
	[ "$status" = 1 ]
	[[ "$output" == *"middle of an instruction: b8 05 00 00 00 at +0"* ]]
}

@test "behind bytes that are no instruction a uprobe is refused, unless --unsafe" {
	need_tracing
	make_functions
	probe_at h+2
	[ "$status" = 1 ]
	[[ "$output" == *"it follows bytes that Nopal cannot decode as an instruction: 06 90 90 "*" at +0"* ]]
	probe_at h+2 --unsafe
	[ "$status" = 0 ]
	[[ "$output" == *"warning: "*" is probed, and may break the program: "* ]]
	probe_at f+11 --unsafe
	[ "$status" = 0 ]
	[[ "$output" == *"warning: 'f' of '"*"' has 11 bytes: +11 is after its end"* ]]
}

# One round of the attack: notes forged by an ordinary user, and a root tracer in one of three ways.
attack() {
	local seed=$1 dir
	dir=$(mktemp -d "$BATS_TEST_TMPDIR/XXXXXX")
	cp "$TARGETS/forged" "$dir/forged$seed"
	"$ROOT/tests/programs/forge" "$seed" "$dir/forged$seed"
	chown -R 65534:65534 "$dir"
	chmod 755 "$BATS_TEST_TMPDIR" "$dir"
	local user=(setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/forged$seed")
	local script="{ @[probe] = count() } interval:ms:10000 { exit() }"
	case $((seed % 3)) in
	0)
		timeout 60 "$NOPAL" -q -e "usdt:$dir/forged$seed:p:* $script" -c "${user[*]} 5" >"$dir/out" 2>"$dir/err"
		grep ^sum "$dir/out" >"$dir/sum"
		;;
	1)
		"${user[@]}" 100 >"$dir/sum" 3>&- &
		local target=$!
		until [ "$(readlink /proc/$target/exe)" = "$dir/forged$seed" ]; do sleep 0.01; done
		timeout 60 "$NOPAL" -q -e "usdt::p:* $script" -p $target >"$dir/out" 2>"$dir/err" || true
		wait $target || return 1
		;;
	2)
		"${user[@]}" 100 >"$dir/sum" 3>&- &
		local target=$!
		timeout 60 "$NOPAL" -q -e "usdt:*:p:* { @[probe] = count() } interval:ms:500 { exit() }" >"$dir/out" 2>"$dir/err" || true
		wait $target || return 1
		;;
	esac
	cat "$dir/sum"
	grep -q "^sum 18254088318690947586 armed [1-9][0-9]* wrong 0$" "$dir/sum" || { cat "$dir"/err; return 1; }
	rm -rf "$dir"
}

# bats test_tags=deep
@test "forged notes: code that is no nop was armed, and the program died" {
	need_tracing
	need_program python3
	need_program setpriv
	[ "$(uname -m)" = x86_64 ] || skip "x86 code"
	rounds=9
	[ -z "$STRESS" ] || rounds=200
	for seed in $(seq "$rounds"); do
		attack "$seed"
	done
}

# 0.17: a function that begins with a vector instruction (VEX, EVEX) | armed: it may then compute something else | skipped by a
#   pattern, refused by its name | the kernel carries out another instruction: for `vpcmpeqb` a conditional jump
@test "a function that begins with an instruction that the kernel does not take is skipped by a pattern, and refused by its name" {
	need_tracing
	[ "$(uname -m)" = x86_64 ] || skip "x86 code"
	cd "$BATS_TEST_TMPDIR"
	${CC:-cc} -x c - -o locks <<-'C'
		#define FUNCTION(name, code) __asm__(".globl " #name "; .type " #name ", @function; " #name ": " code "; ret; .size " #name ", .-" #name)
		long count;
		void take_plain(void) { count++; }
		FUNCTION(take_locked, "lock incq count(%rip)");
		FUNCTION(take_port, "in %dx, %al");
		FUNCTION(take_equal, "vpcmpeqb %xmm0, %xmm0, %xmm0; vmovd %xmm0, %eax");
		void take_locked(void);
		int take_equal(void);
		int main(void) { take_plain(); take_locked(); return __builtin_cpu_supports("avx") ? take_equal() + count != 1 : count != 2; }
	C
	run -0 "$NOPAL" -q --exit-status -e 'uprobe:./locks:take_* { @[func] = count(); }' -c ./locks
	[[ "$output" == *"@[take_plain]: 1"* && "$output" != *"@[take_locked]"* ]]
	says bad-prefix "take_locked' at offset" <<<"$output"
	says bad-opcode "take_port' at offset" <<<"$output"
	says vector-instruction "take_equal' at offset" <<<"$output"
	run -1 "$NOPAL" -q -e 'uprobe:./locks:take_locked { @ = count(); }' -c ./locks
	says bad-prefix "a prefix (lock, or a segment) with which the kernel accepts no probe: f0 48 ff 05" <<<"$output"
	run -1 "$NOPAL" -q -e 'uprobe:./locks:take_port { @ = count(); }' -c ./locks
	says bad-opcode "the kernel accepts no probe on this instruction: ec" <<<"$output"
	run -1 "$NOPAL" -q -e 'uprobe:./locks:take_equal { @ = count(); }' -c ./locks
	says vector-instruction "which the kernel takes for another one: c5 f9 74 c0" <<<"$output"
}

# A copy of it: what other processes run is left alone.
@test "all functions of the C library" {
	need_tracing
	cd "$BATS_TEST_TMPDIR"
	cp "$(ldd "$NOPAL" | awk '$1 == "libc.so.6" { print $3 }')" .
	run -0 timeout 100 "$NOPAL" -q -e 'uprobe:./libc.so.6:* { @n = count(); }' -c "env LD_LIBRARY_PATH=$PWD /bin/true"
	[[ "$output" == *"@n: "[1-9]* ]]
}
