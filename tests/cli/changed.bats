# Files that change while their probes are armed.
load ../helpers

setup() {
	need_tracing
	cd "$BATS_TEST_TMPDIR"
	cp "$TARGETS/tick" file
}

@test "a file was overwritten in place under its breakpoints, and nothing was said" {
	start_tracer 'usdt:./file:*:* { @ = count(); }'
	cat "$TARGETS/tick" >file
	stop_tracer
	says file-overwritten "'./file' was written to while its probes were armed" "$messages"
}

@test "a file was replaced, and what ran the new one was missed silently" {
	start_tracer 'usdt:./file:*:* { @ = count(); }'
	cp "$TARGETS/tick" new
	mv new file
	stop_tracer
	says file-replaced "'./file' was replaced while its probes were armed" "$messages"
}

@test "a file that stays is not said to have changed" {
	start_tracer 'usdt:./file:*:* { @ = count(); }'
	cat file >/dev/null
	stop_tracer
	! grep -e replaced -e written "$messages"
}
