# Flame graphs: nopal flame.
load ../helpers

setup() {
	cd "$BATS_TEST_TMPDIR"
	printf 'main;run;parse 30\nmain;run;exec;sort 50\nmain;run;exec 5\nmain;idle 7\n' >folded
}

# The data of a page.
data() {
	sed -n 's|^<script id="data"[^>]*>\(.*\)</script>$|\1|p' "$1"
}

# Keys of a page in a real browser: the text of the elements with these ids. Tests call need_program chromium first.
browse() {
	timeout 60 chromium --headless --no-sandbox --disable-gpu --dump-dom "file://$PWD/$1" 2>log |
		sed -n 's/^<[a-z0-9]* id="\(title\|found\|status\)"[^>]*>\([^<]*\)<.*/\1: \2/p' | sort
	! grep -i -e refused -e uncaught log
}

@test "stacks become a tree: each frame once below its caller" {
	"$NOPAL" flame -t shop -o page.html folded
	data page.html >json
	[ "$(jq -c '[.title, .unit, .names]' json)" = '["shop","events",["all","main","run","parse","exec","sort","idle"]]' ]
	# Name, own events, callees; in preorder.
	[ "$(jq -c .tree json)" = '[0,0,1,1,0,2,6,7,0,2,0,2,4,5,1,5,50,0,3,30,0]' ]
	[ "$("$NOPAL" flame -t shop <folded | data - | cmp - json && echo same)" = same ]
}

# bats test_tags=deep
@test "a name cannot become markup, and no line is guessed at" {
	printf 'main;</script><img src=x onerror=alert(1)>;@NONCE@;"\\\\ 3\nmain;\xff\x1b[31m 2\nno number\n;x -1\n 7\na 99999999999999999999\n' >hostile
	run "$NOPAL" flame -o page.html -t '</title>@DATA@' hostile
	[ "$status" = 1 ]
	[ "$output" = "nopal: error: 4 lines are not 'frame;frame;... COUNT'" ]
	[ "$(grep -c '</script>' page.html)" = "$(grep -c '<script' page.html)" ]
	data page.html >json
	[ "$(jq -c .names json)" = '["all","main","</script><img src=x onerror=alert(1)>","@NONCE@","\"\\\\","\\xff\\x1b[31m"]' ]
	[ "$(jq -r .title json)" = '</title>@DATA@' ]
	grep -q "content=\"default-src 'none'; script-src 'nonce-[0-9a-f]\{32\}'; style-src 'nonce-[0-9a-f]\{32\}'\"" page.html
	need_program chromium
	[ "$(browse page.html | sed -n 's/^status: //p')" = "all – 5 events, 100.00 %" ]
}

# bats test_tags=deep
@test "a browser draws, searches and zooms" {
	need_program chromium
	"$NOPAL" flame -t 'shop & co' -u calls -o page.html folded
	[ "$(browse page.html)" = $'found: \nstatus: all – 92 calls, 100.00 %\ntitle: shop &amp; co' ]
	[ "$(browse 'page.html#search=exec')" = $'found: 55 calls, 59.78 %\nstatus: all – 92 calls, 100.00 %\ntitle: shop &amp; co' ]
	[ "$(browse 'page.html#zoom=exec' | grep status)" = "status: exec – 55 calls, 59.78 %" ]
}

# bats test_tags=deep
@test "a browser says which functions were inlined" {
	need_program chromium
	printf 'main;run;parse_[i] 3\nmain;parse 1\n' >folded
	"$NOPAL" flame -o page.html folded
	[ "$(browse 'page.html#zoom=parse (inlined)' | grep status)" = "status: parse (inlined) – 3 events, 75.00 %" ]
	[ "$(browse 'page.html#zoom=parse' | grep status)" = "status: parse – 1 events, 25.00 %" ]
}

@test "empty input, missing files, full disks" {
	: >empty
	"$NOPAL" flame empty >page.html
	[ "$(data page.html | jq -c .tree)" = '[0,0,0]' ]
	run "$NOPAL" flame nowhere
	[ "$status" = 1 ]
	[[ "$output" == *"cannot read 'nowhere'"* ]]
	run "$NOPAL" flame -o /dev/full folded
	[ "$status" = 1 ]
	[[ "$output" == *"cannot write '/dev/full'"* ]]
	run "$NOPAL" flame a b
	[ "$status" = 2 ]
}

@test "200,000 stacks, and one of 100,000 frames" {
	awk 'BEGIN { for (i = 0; i < 200000; i++) print "main;f" i % 1000 ";g" i % 7 " 1"
		for (i = 0; i < 100000; i++) printf "deep%d;", i
		print "end 1" }' >large
	timeout 20 "$NOPAL" flame -o page.html large
	data page.html >json
	[ "$(jq '[.tree[range(1; .tree | length; 3)]] | add' json)" = 200001 ]
	[ "$(jq '.names | length' json)" -lt 3000 ]
}

@test "nopal stack --flame draws what it counts" {
	need_tracing
	cp "$TARGETS/tick" tick
	"$NOPAL" stack -q --flame page.html -c './tick word a b c' ./tick:tick:word >out
	cat out
	[ ! -s out ]
	data page.html >json
	[ "$(jq '[.tree[range(1; .tree | length; 3)]] | add' json)" = 3 ]
	jq -r '.names[]' json | grep -q '^run_words'
	[ "$(jq -r .title json)" = "nopal stack: ./tick:tick:word" ]
	run "$NOPAL" stack --flame page.html -i 1 ./tick:tick:word
	[ "$status" = 2 ]
}
