# Every command of README.md as it stands: without sudo, with a process of ours for 4711, and ended after a moment. Those about
# programs that are not installed are left out, each by the file that it names.
load ../helpers

setup() {
	need_tracing
	cd "$BATS_TEST_TMPDIR"
}

teardown() {
	[ -z "${target:-}" ] || kill -9 "$target" 2>/dev/null || true
}

# snippets: the indented commands, one a line; what continues on the next lines is joined.
snippets() {
	awk '/^    [$] sudo nopal |^    (sudo )?nopal / { if (line) print line; line = $0; quotes = gsub(/\047/, "\047", $0); next }
		line && quotes % 2 { line = line " " $0; quotes += gsub(/\047/, "\047", $0); next }
		line { print line; line = "" }
		END { if (line) print line }' "$ROOT/README.md" | sed -E 's/^ *(\$ )?(sudo )?//'
}

# run_snippet LINE: its status is 0 and it has no error; a tracer is interrupted after a second.
run_snippet() {
	local code=0
	echo "$1" | sed "s|4711|$target|; s|^nopal|timeout --foreground -s INT 1 '$NOPAL'|; s|  *# .*||" >pasted
	if [[ $1 == *' top '* ]]; then # on a terminal
		TERM=xterm timeout -k 1 10 script -qec "bash pasted" /dev/null >out 2>&1 </dev/null || code=$?
	else
		bash pasted >out 2>&1 </dev/null || code=$?
	fi
	[ $code = 0 ] || [ $code = 124 ] || { echo "status $code: $1" && cat out && return 1; }
	! grep -q 'error:' out || { echo "$1" && cat out && return 1; }
}

@test "every command of README.md runs as it stands" {
	[ -x /usr/bin/python3.11 ] && readelf -n /usr/bin/python3.11 | grep -q gc__start || skip "needs a python with probes"
	make -s -C "$ROOT" O="${O:-build}" "${O:-build}/examples/shop" >/dev/null
	cp "$BUILD/examples/shop" server
	/usr/bin/python3.11 -S -c 'import gc, time
while True: gc.collect(); time.sleep(0.01)' 3>&- &
	target=$!
	snippets >all
	cat all
	[ "$(wc -l <all)" -ge 13 ]
	checked=0
	while IFS= read -r line; do
		file=$(grep -oE '/usr/[^ :]*' <<<"$line" | head -1)
		[ -z "$file" ] || [ -e "$file" ] || continue
		run_snippet "$line"
		checked=$((checked + 1))
	done <all
	[ $checked -ge 9 ]
}

@test "the examples of the manual pages are command lines that nopal takes" {
	make -s -C "$ROOT" O="${O:-build}" "${O:-build}/examples/shop" >/dev/null
	cp "$BUILD/examples/shop" server
	checked=0
	# With --script a command says what it would run; the file or process need not exist.
	while IFS= read -r line; do
		case $line in
		*'|'* | *'...'*) line=${line%%|*} ;;
		esac
		case $line in
		'nopal trace'* | 'nopal count'* | 'nopal hist'* | 'nopal stack '* | 'nopal funccount'* | 'nopal stackcount'* | 'nopal argdist'* | 'nopal funclatency'*) ;;
		*) continue ;;
		esac
		[[ $line != *'-r '* ]] || continue # it looks for functions
		echo "${line/nopal/timeout 5 \"$NOPAL\"} --script" >pasted
		bash pasted >out 2>&1 </dev/null || { echo "$line" && cat out && return 1; }
		checked=$((checked + 1))
	done < <(sed -n 's/^\.Dl //p' "$ROOT"/man/nopal*.1 | sed 's/\\(dq/"/g; s/\\-/-/g; s/\\e/\\/g')
	[ $checked -ge 18 ]
}
