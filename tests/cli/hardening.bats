# What is built and installed, by its ELF headers.
load ../helpers

setup() {
	need_program readelf
	[ -z "${SAN:-}" ] || skip "a build with sanitizers is no build to install"
}

# hardened FILE: position-independent, relocations read-only after a start that binds all, no executable stack,
# checked stacks and buffers.
hardened() {
	local headers symbols
	headers=$(readelf -Wldh "$1")
	symbols=$(readelf -W --dyn-syms "$1")
	echo "# $1"
	grep -q 'Type: *DYN' <<<"$headers"
	grep -q 'GNU_RELRO' <<<"$headers"
	grep -q 'BIND_NOW' <<<"$headers"
	grep -q 'GNU_STACK .* RW ' <<<"$headers"
	[ "$(grep -c 'TEXTREL\|RPATH\|RUNPATH' <<<"$headers")" = 0 ]
	grep -q '__stack_chk_fail' <<<"$symbols"
	grep -q '__[a-z]*printf_chk' <<<"$symbols"
}

@test "the program and the libraries were built without RELRO, BIND_NOW, stack protector, FORTIFY" {
	for file in nopal libnopal.so libnopal-runtime.so.0 libstapsdt.so.0; do
		hardened "$BUILD/$file"
	done
	readelf -Wd "$BUILD/nopal" | grep -q 'FLAGS_1.*PIE'
}

# bats test_tags=deep
@test "what is installed is as hard as what is built" {
	make -s -C "$ROOT" install O="${O:-build}" DESTDIR="$BATS_TEST_TMPDIR/root" PREFIX=/usr >/dev/null
	for file in bin/nopal lib/libnopal.so lib/libnopal-runtime.so lib/libstapsdt.so; do
		hardened "$BATS_TEST_TMPDIR/root/usr/$file"
	done
	readelf -Wd "$BATS_TEST_TMPDIR/root/usr/bin/nopal" | grep -q 'FLAGS_1.*PIE'
}

# bats test_tags=deep
@test "libbpf was asked for by pkg-config and the linker, and not used" {
	[ "$(grep -c lbpf "$ROOT/packaging/nopal.pc.in")" = 0 ]
	[ "$(readelf -Wd "$BUILD/libnopal.so" | grep -c libbpf)" = 0 ]
	# Names like libbpf's own that no other object of ours has.
	nm "$BUILD/libnopal.a" 2>/dev/null | sed -nE 's/.* U (libbpf_|bpf_)/\1/p' | sort -u >"$BATS_TEST_TMPDIR/wanted"
	nm --defined-only "$BUILD/libnopal.a" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u >"$BATS_TEST_TMPDIR/ours"
	[ -z "$(comm -23 "$BATS_TEST_TMPDIR"/{wanted,ours})" ]
}
