# nopal lang --perf-map: a JVM writes down the names of what it has compiled, when it is asked.
load ../helpers

setup() {
	cd "$BATS_TEST_TMPDIR"
	started=
}

teardown() {
	for pid in $started; do
		kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true
		rm -f /tmp/perf-"$pid".map /tmp/.java_pid"$pid" /tmp/.attach_pid"$pid"
	done
	rm -rf "${folder-}"
}

# A program that computes for a minute.
compile() {
	need_program javac
	cat >Busy.java <<'END'
class Busy {
	static int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
	public static void main(String[] a) throws Exception {
		for (int i = 0; i < 6000; i++) {
			fibonacci(24);
			if (i == 50) System.out.println("compiled");
			if (i > 50) Thread.sleep(10);
		}
	}
}
END
	javac -d . Busy.java
	chmod a+rx .
}

# start_java COMMAND...: until its function is compiled.
start_java() {
	[ -e Busy.class ] || compile
	: >said
	"$@" >>said 2>&1 3>&- &
	java=$!
	started="$started $java"
	until grep -q compiled said; do
		kill -0 $java
		sleep 0.05
	done
}

# bats test_tags=deep
@test "the names of a JVM's functions are there for ustack, whenever they are asked for" {
	need_tracing
	start_java java -XX:+PreserveFramePointer -cp . Busy
	run "$NOPAL" lang $java
	[[ "$output" == jvm*"ustack names its code by /tmp/perf-PID.map: run nopal lang --perf-map PID" ]]
	[ ! -e /tmp/perf-$java.map ]
	for _ in 1 2; do
		run "$NOPAL" lang --perf-map $java
		[ "$status" = 0 ]
		[[ "$output" =~ ^[0-9]+" names are in /tmp/perf-$java.map; ustack reads it"$ ]]
	done
	[ "${output%% *}" = "$(wc -l </tmp/perf-$java.map)" ]
	[ ! -e .attach_pid$java ]
	timeout 60 "$NOPAL" -q -d 2 -f folded -e 'profile:hz:199 { @[ustack] = count(); }' -p $java >got
	grep -q 'jni_invoke_static;.*;int Busy.fibonacci(int);int Busy.fibonacci(int)' got || { head -5 got; false; }
	# It says nothing of it, and no list of its threads, as after other signals of this kind.
	[ "$(cat said)" = compiled ]
}

# bats test_tags=deep
@test "without frame pointers, that is said; each user asks the own JVM, and root all of them" {
	need_program setpriv
	[ "$(id -u)" = 0 ] || skip "needs root, to become other users"
	chmod a+rx "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/.. "$BATS_TEST_TMPDIR/.." 2>/dev/null
	cp "$NOPAL" nopal
	start_java setpriv --reuid=65534 --regid=65534 --clear-groups java -cp . Busy
	run setpriv --reuid=65533 --regid=65533 --clear-groups ./nopal lang --perf-map $java
	[ "$status" = 1 ]
	says lang-process "cannot ask the JVM: Permission denied"
	[[ "$output" == *"run as root, or as the user whose process it is"* ]]
	run setpriv --reuid=65534 --regid=65534 --clear-groups ./nopal lang --perf-map $java
	[ "$status" = 0 ]
	[[ "$output" == *"keep no frame pointers: start the JVM with -XX:+PreserveFramePointer" ]]
	rm /tmp/perf-$java.map
	run "$NOPAL" lang --perf-map $java
	[ "$status" = 0 ]
	[ "$(stat -c %u /tmp/perf-$java.map)" = 65534 ]
}

# bats test_tags=deep
@test "a JVM in namespaces of its own writes to its own folder" {
	[ "$(id -u)" = 0 ] || skip "needs root, for namespaces"
	need_program unshare
	compile
	folder=$(mktemp -d /var/tmp/nopal-jvm.XXXXXX)
	cp Busy.class "$folder"
	start_java unshare --pid --fork --mount sh -c 'mount -t tmpfs none /tmp && cd "$0" && exec java -cp . Busy' "$folder"
	local shell=$java
	java=$(cat /proc/$shell/task/$shell/children)
	java=${java%% *}
	started="$java $started"
	run "$NOPAL" lang --perf-map "$java"
	[ "$status" = 0 ]
	[[ "$output" == *" names are in /tmp/perf-1.map; ustack reads it"* ]]
	grep -q fibonacci "/proc/$java/root/tmp/perf-1.map"
	[ ! -e /tmp/perf-1.map ]
}

# bats test_tags=deep
@test "a JVM that cannot be asked is left alone" {
	start_java java -XX:+DisableAttachMechanism -cp . Busy
	run "$NOPAL" lang --perf-map $java
	[ "$status" = 1 ]
	says jvm-attach "the JVM $java takes no requests: -XX:+DisableAttachMechanism"
	[ "$(cat said)" = compiled ]
	# One that does not use the signal listens from its start.
	start_java java -Xrs -cp . Busy
	run "$NOPAL" lang --perf-map $java
	[ "$status" = 0 ]
}

@test "other processes get no signal" {
	sleep 100 3>&- &
	started=$!
	run "$NOPAL" lang --perf-map $!
	[ "$status" = 1 ]
	says no-jvm "process $! is not a HotSpot JVM"
	kill -0 $started
	run "$NOPAL" lang --perf-map 999999999
	[ "$status" = 1 ]
	[[ "$output" == *"cannot ask the JVM: No such process"* ]]
	run "$NOPAL" lang --perf-map
	[ "$status" = 2 ]
}

# pretend [ANSWER]: a process that looks like a JVM, and answers what it is told; or it does not listen at all.
pretend() {
	need_program gcc
	cat >jvm.c <<'END'
void *gHotSpotVMStructs[9], *gHotSpotVMTypes[9];
END
	cat >pretend.c <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
extern void *gHotSpotVMStructs[];
int main(int argc, char **argv)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	char request[64];
	int s = socket(AF_UNIX, SOCK_STREAM, 0), c;
	printf("%d\n", gHotSpotVMStructs[0] == 0);
	fflush(stdout);
	if (argc == 1)
		pause();
	snprintf(a.sun_path, sizeof(a.sun_path), "/tmp/.java_pid%d", getpid());
	unlink(a.sun_path);
	bind(s, (void *)&a, sizeof(a));
	listen(s, 1);
	c = accept(s, 0, 0);
	read(c, request, sizeof(request));
	write(c, argv[1], strlen(argv[1]));
	close(c);
	pause();
}
END
	gcc -w -shared -fPIC -o libjvm.so jvm.c
	gcc -w -o pretend pretend.c -L. -l:libjvm.so -Wl,-rpath,"$PWD"
	: >said
	./pretend "$@" >>said 3>&- &
	started="$started $!"
	until grep -q 1 said; do sleep 0.02; done
	[ $# = 0 ] || until [ -S /tmp/.java_pid$! ]; do sleep 0.02; done
}

@test "a process that would end by the signal does not get it" {
	pretend
	run "$NOPAL" lang --perf-map "${started##* }"
	[ "$status" = 1 ]
	says jvm-attach "the JVM ${started##* } takes no SIGQUIT, by which it is asked to listen"
	kill -0 "${started##* }"
	[ ! -e .attach_pid"${started##* }" ]
}

@test "what a JVM refuses is said in its words, without control characters" {
	pretend $'1\njava.lang.IllegalArgumentException: Unknown diagnostic command\e[31m\nmore'
	run "$NOPAL" lang --perf-map "${started##* }"
	[ "$status" = 1 ]
	says jvm-attach "the JVM refuses 'Compiler.perfmap': java.lang.IllegalArgumentException: Unknown diagnostic command\\x1b[31m"
	[[ "$output" == *"JDK 17 and newer have it"* ]]
	pretend ''
	run "$NOPAL" lang --perf-map "${started##* }"
	[ "$status" = 1 ]
	says jvm-attach "the JVM refuses 'Compiler.perfmap': "
}
