# The examples of the manuals trace tests/targets/shop, in the kernel and in user mode, and print the same.
load ../helpers

setup() {
	need_tracing
	cd "$BATS_TEST_TMPDIR" || return
	private shop >/dev/null
	counter=0x$(nm shop | sed -n 's/^0*\(.*\) . counter$/\1/p')
}

# here: an example on standard input, with what it traces replaced by what shop has.
here() {
	sed -E -e 's,/usr/bin/python3(\.11)?:|/usr/lib/postgresql/[^ :]*:|/bin/app:|/bin/bash:|\./server:,./shop:,g' \
		-e 's,libc:open64,./shop:readline,; s,libc:setjmp,./shop:setjmp,; s,usdt:(\*)?:(python|app):,usdt:./shop:\2:,' \
		-e "s,0x601040,$counter,; s,take_order\+4,take_order+0,"
}

# missing: what this machine may lack, the message for it: an example that fails with it is counted, not failed.
missing() {
	cat <<-'END'
	this kernel does not allow tracing of its functions|this kernel has no kprobes
	cannot attach 'hardware:|no hardware event
	this CPU has no watchpoint
	the kernel has no symbol '
	the kernel has no BTF|types of the kernel
	there is no probe '(raw)?tracepoint:
	a watchpoint of nopal's own saw nothing
	END
}

# shape FILE SCRIPT: what must be the same: all of it, or nothing where events are those of the whole machine, or where
# values are those of a moment all but the numbers.
shape() {
	if grep -qE 'sched_switch|iter:|profile:|software:|vfs_' "$2"; then
		:
	elif grep -qE 'nsecs|strftime|time\(|tseries|stack|probetype|pid' "$2"; then
		if grep -q tseries "$2"; then # as many rows as intervals have passed, and as wide as these need
			sed -E '/^hh:mm:ss|^[0-9]+:[0-9]+:[0-9]+|^ +v_|^ +-?[0-9]+ +-?[0-9]+$/d' "$1"
		else
			cat "$1"
		fi | sed -E 's/0x[0-9a-f]+/N/g; s/[0-9]+/N/g; s/N:N:N/N/g; s/ *\|.*//; /^\[/d' | sort -u
	else
		cat "$1"
	fi | if grep -q 'shop:\*' "$2"; then sort; else cat; fi # the kernel may take one site of several
}

# run_example SCRIPT ENGINE: what it prints, into SCRIPT.ENGINE.
run_example() {
	local signal="" unsafe=""
	grep -q self:signal "$1" && signal=' signal'
	grep -q 'signal(' "$1" && unsafe=--unsafe
	timeout 60 "$NOPAL" -q $unsafe "--$2" "$1" -c "./shop$signal" >"$1.$2" 2>"$1.$2.messages"
}

# same_on_both SCRIPT: counted in $ran or $lacking.
same_on_both() {
	local status=0 user=0
	run_example "$1" kernel || status=$?
	if grep -q 'error: ' "$1.kernel.messages"; then
		grep -qE "$(missing | paste -sd'|')" "$1.kernel.messages" || { cat "$1" "$1.kernel.messages"; return 1; }
		lacking=$((lacking + 1))
		echo "# lacks: $(head -1 "$1"): $(grep -m1 'error: ' "$1.kernel.messages")"
		return 0
	fi
	run_example "$1" user || user=$?
	[ "$status" = "$user" ] && diff <(shape "$1.kernel" "$1") <(shape "$1.user" "$1") || {
		cat "$1" "$1.kernel.messages" "$1.user.messages"
		return 1
	}
	[ -s "$1.kernel" ] || [[ $1 == alone* ]] || { echo "prints nothing:"; cat "$1" "$1.kernel.messages"; return 1; }
	ran=$((ran + 1))
}

@test "each example of nopal-script(7) gives the same in the kernel and in user mode" {
	ran=0 lacking=0
	awk '/^\.Bd -literal/ { n++; out = sprintf("%02d.bt", n); next } /^\.Ed/ { out = "" } out { print > out }' \
		"$ROOT/man/nopal-script.7"
	for file in *.bt; do
		sed -e 's/\\e/\\/g' "$file" | here >script && mv script "$file"
		same_on_both "$file"
	done
	echo "# $ran examples agree, $lacking need what this machine lacks"
	[ "$ran" -ge 25 ] && [ $((ran + lacking)) -ge 32 ]
}

@test "so does each script in the other pages and texts" {
	ran=0 lacking=0
	cat "$ROOT"/man/nopal*.1 | sed 's/\\e/\\/g; s/\\(dq/"/g' >manuals
	cat manuals "$ROOT/README.md" "$ROOT"/doc/*.md | grep -aohPz "nopal -e '\K[^']*" |
		while IFS= read -r -d '' script; do
			n=$((${n:-0} + 1))
			here <<<"$script" >"$(printf 'text%02d.bt' $n)"
		done
	for file in text*.bt; do
		same_on_both "$file"
	done
	echo "# $ran scripts agree, $lacking need what this machine lacks"
	[ "$ran" -ge 8 ]
}

# An example may end the run, or send a signal: those of the text of each builtin are clauses of one script, unless they
# do. Their maps get names of their own.
@test "so do the examples of --help-script" {
	ran=0 lacking=0
	"$NOPAL" --help-script | sed -n '/^Values:/,$p' | sed -nE 's/^  ([a-zA-Z._]+) +.{2,44}[^ ] +([^ ].*[;}])$/\1 \2/p' >all
	n=0
	while read -r name text; do
		n=$((n + 1))
		probe=usdt:./shop:shop:order
		case "$text" in
		*retval*) probe=uretprobe:./shop:take_order ;;
		*arg0,* | *\(arg0\) | *\*\)arg0*) probe=usdt:./shop:shop:bytes ;;
		esac
		case "$name" in
		join) probe=usdt:./shop:shop:argv ;;
		cat) text='cat("/proc/%d/comm", 1);' ;;
		signal | signal_thread | write_user | system | kptr) continue ;; # in the page, or no address of the kernel
		percpu_kaddr | kaddr | path) continue ;; # path() is for iterators
		esac
		printf '%s { %s }\n' "$probe" "$(sed -E "s/@/@n${n}_/g" <<<"$text")" >one
		if grep -q 'exit' one; then cp one "alone$n.bt"; else cat one >>together.bt; fi
	done <all
	[ "$n" -ge 100 ]
	for file in alone*.bt together.bt; do
		same_on_both "$file"
	done
	[ "$ran" -ge 4 ]
}
