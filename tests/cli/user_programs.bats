# User mode: what a program may be. Each of these was harmed, or traced wrongly, or is refused by its name.
load ../helpers

setup() {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	dir=$(mktemp -d /tmp/nopal-programs.XXXXXX)
	chmod 755 "$dir"
	cd "$dir"
}

teardown() {
	[ -z "${target:-}" ] || kill -9 "$target" 2>/dev/null || true
	[ -z "${dir:-}" ] || rm -rf "$dir"
}

# user COMMAND SCRIPT: what a traced command and its script print.
user() {
	run timeout 60 "$NOPAL" -q --user -c "$1" -e "$2"
	echo "$output"
}

@test "a program with alignment checks on ended by SIGBUS when a text was read" {
	user "$TARGETS/aligned 4000" 'usdt:aligned:texts {
		@image[str(arg0), comm] = count(); @heap[str(arg1)] = sum(arg3); @stack[str(arg2, 6)] = count();
		@stacks[ustack(4)] = count(); @raw[buf(arg1, 5)] = count(); @both = hist(arg3);
		@text[str(arg0) == "in the image"] = count();
		if (arg3 == 3999) { printf("%s %s %d %s\n", str(arg2), str(arg1, 5), *(uint16 *)(arg0 + 1), probe); } }
		usdt:aligned:odd { @odd = sum(arg0); @wide = sum(arg1) }'
	[ "$status" = 0 ]
	[[ $output == *held* ]]
	[[ $output == *"@image[in the image, aligned]: 500"* ]]
	[[ $output == *"@heap[on the heap]: 7998000"* ]]
	[[ $output == *"@stack[on th]: 4000"* || $output == *"@stack[on the]: 4000"* ]]
	[[ $output == *"@text[true]: 500"* ]]
	[[ $output == *"@odd: 7998000"* ]]
	[[ $output == *"@wide: 7998000"* ]]
	[[ $output == *"on the stack on th"* ]]
}
