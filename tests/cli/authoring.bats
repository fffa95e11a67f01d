# "Put probes into your program" of README.md and doc/authoring.md, done as written: the files and build systems are theirs.

setup() {
	cd "$BATS_TEST_TMPDIR"
	mkdir bin
	ln -s "$NOPAL" bin/dtrace
	ln -s "$NOPAL" bin/nopal
	PATH="$PWD/bin:$PATH"
	export CPATH="$ROOT/include"
	unset CC CFLAGS CPPFLAGS MAKEFLAGS MAKELEVEL
}

# take NAME: the block of the document that is marked as this file.
take() {
	awk -v mark="<!-- file: $1 -->" '
		$0 == mark { wanted = 1; next }
		wanted && /^```/ { if (inside) exit; inside = 1; next }
		inside' "$ROOT/README.md" "$ROOT/doc/authoring.md" >"$1"
	[ -s "$1" ]
}

probes() {
	readelf -n "$1" | awk '/Provider:/ { p = $2 } / Name:/ { print p ":" $2 }' | sort | tr '\n' ' '
}

@test "in one minute: a probe without a build step" {
	take tick.c
	cc -Wall -Wextra -Werror -o tick tick.c
	echo some words | ./tick
	[ "$(probes tick)" = "tick:word " ]
}

@test "Make builds the shop" {
	take shop.d
	take shop.c
	take Makefile
	make -j4
	./shop
	[ "$(probes shop)" = "shop:order__done shop:order__start " ]
}

# bats test_tags=deep
@test "CMake builds the shop" {
	command -v cmake >/dev/null || skip "no cmake here"
	take shop.d
	take shop.c
	take CMakeLists.txt
	cmake -S . -B build >log 2>&1 || { cat log; false; }
	cmake --build build -j4 >log 2>&1 || { cat log; false; }
	build/shop
	[ "$(probes build/shop)" = "shop:order__done shop:order__start " ]
}

# bats test_tags=deep
@test "Meson builds the shop" {
	command -v meson >/dev/null || skip "no meson here"
	command -v ninja >/dev/null || skip "no ninja here: ninja-build"
	take shop.d
	take shop.c
	take meson.build
	meson setup build >log 2>&1 || { cat log; false; }
	meson compile -C build >log 2>&1 || { cat log; false; }
	build/shop
	[ "$(probes build/shop)" = "shop:order__done shop:order__start " ]
}

@test "the compiler's words about a wrong argument are those in the document" {
	take shop.d
	take shop.c
	dtrace -h --check -s shop.d
	sed -i 's/SHOP_ORDER_START(id/SHOP_ORDER_START("one"/' shop.c
	run env LC_ALL=C gcc -Wall -c shop.c
	[[ $output == *"passing argument 1 of 'nopal_check_shop_order__start' makes integer from pointer without a cast"* ]]
}
