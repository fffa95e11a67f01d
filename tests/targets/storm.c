// flags: -pthread
/* Events at full speed from several threads.
 *
 *   storm COUNT THREADS KEYS   each thread fires storm:event(i, i % KEYS) COUNT times
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/sdt.h>

#define THREADS 16

static long count, keys;

static void *fire(void *arg)
{
	for (long i = 0; i < count; i++)
		DTRACE_PROBE2(storm, event, i, i % keys);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int n = argc > 3 ? atoi(argv[2]) : 0;

	if (n < 1 || n > THREADS)
		return 1;
	count = atol(argv[1]);
	keys = atol(argv[3]) > 0 ? atol(argv[3]) : 1;
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, fire, NULL))
			return 1;
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
