# Values of every type, with the edges of each, as tracers see them of run-time probes. The probes and their values
# are in tests/help/values.h, the scripts in tests/cases/values.txt; tests/unit/values.c has the interpreter.
load ../helpers

setup() {
	cd "$BATS_TEST_TMPDIR"
	export LC_ALL=C.UTF-8
	"$BUILD/help/split_cases" "$ROOT/tests/cases/values.txt" .
	mkfifo in
	"$TARGETS/runtime_values" expected <in >said 3>&- &
	pid=$!
	exec 7>in
	until grep -q ready said; do
		kill -0 $pid
		sleep 0.02
	done
}

# script NAME: the file with that script of the cases.
script() {
	echo "$(dirname "$(grep -lx "$1" */name)")/script"
}

# traced_by COMMAND...: start a tracer, let the process fire all its values, and wait for both; output in ./printed.
traced_by() {
	need_tracing
	: >messages
	__BPFTRACE_NOTIFY_PROBES_ATTACHED=1 "$@" >printed 2>messages 3>&- 7>&- &
	tracer=$!
	until grep -q __BPFTRACE_NOTIFY messages; do
		kill -0 $tracer 2>/dev/null || { cat messages && return 1; }
		sleep 0.02
	done
	echo >&7
	wait $pid
	wait $tracer || true
}

# nopal_prints SCRIPT
nopal_prints() {
	local lost='[0-9]+ notices? of new images, forks and exits got lost: all processes were searched again, later than usual'
	traced_by "$NOPAL" -q --raw -p $pid "$(script "$1")"
	# The leak sanitizer looks from a process of its own. The kernel may lose news of other processes, if there are many.
	! grep -vE "__BPFTRACE_NOTIFY|^nopal: warning: $lost\$${SAN:+|not traced|--follow traces}" messages
}

# What is expected, but floats without their bits, and long texts without their sum.
by_name() {
	LC_ALL=C sed -E 's/^(float|double|long) [^ ]* /\1 /; s/^(bulk [^ ]*) [^ ]* /\1 /
		/^(six|twelve)/ { s/c004000000000000/-0x1.4p+1/; s/ 3f000000 / 0x1p-1 / }' expected
}

# But floats without the number, and long texts without the text.
by_bits() {
	LC_ALL=C sed -E 's/^((float|double|long) [^ ]*) .*/\1/; s/^(bulk [^ ]* [^ ]*) .*/\1/' expected
}

@test "nopal shows every value by the number of its argument" {
	nopal_prints nopal
	cmp printed expected
}

@test "nopal shows every value by its name, as what it was declared" {
	nopal_prints named
	by_name | cmp - printed
}

@test "nopal shows them without the features of newer kernels" {
	export NOPAL_NO_FEATURES=sleepable,uprobe_multi,may_goto
	nopal_prints named
	by_name | cmp - printed
}

@test "bpftrace shows every value, of long ones a sum" {
	need_program bpftrace
	BPFTRACE_STRLEN=200 traced_by timeout 60 bpftrace -p $pid "$(script bpftrace)"
	by_bits | grep -av '^twelve' | sort >wanted
	sed '/^$/d; /^Attaching/d' printed | sort >got
	diff got wanted
}

# A format of gdb for each probe; a counted text is only its length, the bytes go to a file.
GDB_FORMATS='int8 %d
uint8 %u
int16 %d
uint16 %u
int32 %d
uint32 %u
int64 %ld
uint64 %lu
bool %d
pointer %lx
float %x
double %lx
string %s
counted %lu
long %s
bulk %lu
six %d %u %d %lu %lx %s
twelve %d %u %d %u %d %u %ld %lu %d %x %lx %s'

# Stop at every probe, print it and go on.
gdb_commands() {
	local name formats n arguments
	echo 'set print elements 0'
	echo 'set max-value-size unlimited'
	while read -r name formats; do
		arguments= n=0
		for format in $formats; do
			case $name$format in
			*%s) arguments+=", (char *)\$_probe_arg$n" ;;
			counted* | bulk*) arguments+=", \$_probe_arg1" ;;
			*) arguments+=", \$_probe_arg$n" ;;
			esac
			n=$((n + 1))
		done
		printf '%s\n' "break -probe-stap values:$name" commands silent "printf \"$name $formats\"$arguments"
		case $name in
		float | double) printf '%s\n' 'printf " "' 'output/f $_probe_arg0' ;;
		counted | bulk)
			printf '%s\n' 'if $_probe_arg1 > 0' "append binary memory bytes \$_probe_arg0 \$_probe_arg0+\$_probe_arg1" end
			;;
		esac
		printf '%s\n' 'echo \n' continue end
	done <<<"$GDB_FORMATS"
	echo 'shell echo >in'
	echo continue
}

# bats test_tags=deep
@test "gdb shows every value, also floats as numbers and 64 KiB of text" {
	need_program gdb
	gdb_commands >commands
	run timeout 120 gdb -q -nx -batch -p $pid -x commands
	[[ "$output" != *"Operation not permitted"* ]] || skip "gdb cannot attach here"
	wait $pid || true
	names=$(cut -d' ' -f1 <<<"$GDB_FORMATS" | paste -sd'|')
	LC_ALL=C grep -aE "^($names) " <<<"$output" | LC_ALL=C sed -E '/^(float|double)/s/nan\(.*\)/nan/' >printed
	while IFS= read -r line; do
		case $line in
		float* | double*)
			digits=9
			[ "${line%% *}" = float ] || digits=17
			LC_NUMERIC=C printf "%s %.${digits}g\n" "${line% *}" "${line##* }"
			;;
		*) printf '%s\n' "$line" ;;
		esac
	done < <(LC_ALL=C sed -E 's/^(long) [^ ]* /\1 /; s/^((bulk|counted) [^ ]*) .*/\1/' expected) >wanted
	diff -a printed wanted
	LC_ALL=C sed -nE 's/^counted [^ ]* //p; s/^bulk [^ ]* [^ ]* //p' expected | while IFS= read -r line; do
		printf '%b' "$line"
	done | cmp - bytes
}
