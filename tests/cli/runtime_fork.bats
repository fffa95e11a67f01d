# A traced process that forks. The kernel's uprobes may have put a call to a page of its own into a probe, which
# a child does not get: a child that fired it crashed.
load ../helpers

@test "a child fires the probe that its parent was traced at" {
	need_tracing
	cd "$BATS_TEST_TMPDIR"
	cat >forks.c <<-'end'
		#include <nopal/runtime.h>
		#include <stdio.h>
		#include <sys/wait.h>
		#include <unistd.h>

		int main(void)
		{
			const struct nopal_runtime_arg arg = {NOPAL_INT32, "n"};
			struct nopal_runtime *r = nopal_runtime_new("forks", 0, NULL);
			struct nopal_probe *p = nopal_runtime_probe(r, "hit", &arg, 1, NULL, NULL);
			int status = -1;

			if (nopal_runtime_load(r, NULL))
				return 1;
			for (int i = 0; i < 3000 && !nopal_probe_enabled(p); i++)
				usleep(10000);
			for (int i = 0; i < 9; i++)
				nopal_probe_fire(p, i);
			if (!fork()) {
				for (int i = 0; i < 9; i++)
					nopal_probe_fire(p, -1);
				_exit(7);
			}
			wait(&status);
			nopal_probe_fire(p, 9);
			usleep(500000); /* the tracer leaves first */
			printf("%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
		}
	end
	cc ${SAN:+-fsanitize=address,undefined} -I"$ROOT/include" -o forks forks.c "$(dirname "$NOPAL")/libnopal-runtime.a" -lpthread
	./forks >printed 3>&- &
	pid=$!
	sleep 0.3
	timeout 40 "$NOPAL" -q -e 'usdt::forks:hit /arg0 >= 0/ {
		printf("%d\n", arg0); if (arg0 == 9) { exit() } }' -p $pid >events
	wait $pid
	[ "$(cat printed)" = 7 ]
	seq 0 9 | diff - <(sed '/^$/d' events)
}
