/* The thread that waits for waits; see listener.h. */
#include "user/run/listener.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "user/inside/words.h"

#define WAIT_NS 100000000 /* the traced process can write the word that ends the wait */

static void tell(const struct listener *l)
{
	const uint64_t one = 1;

	/* ORDER: full, and so readable already, or it cannot fail */
	if (write(l->fd, &one, sizeof(one)) < 0)
		return;
}

static void *listen_for_waits(void *arg)
{
	const struct timespec pause = {.tv_nsec = WAIT_NS};
	struct listener *l = arg;
	uint64_t heard = word_acquire(&l->waits->answered), asked;

	while (!__atomic_load_n(&l->is_over, __ATOMIC_ACQUIRE)) {
		asked = word_acquire(&l->waits->asked);
		if (asked == heard) /* its low half is a futex */
			syscall(SYS_futex, &l->waits->asked, FUTEX_WAIT, (uint32_t)asked, &pause,
				NULL, 0);
		else
			tell(l);
		heard = asked;
	}
	return NULL;
}

/* Signals are for the threads of the caller's program. */
static int start(struct listener *l)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&l->thread, NULL, listen_for_waits, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

int listener_open(struct listener *l, struct library_waits *waits)
{
	int err;

	*l = (struct listener){.waits = waits, .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	err = l->fd < 0 ? -errno : start(l);
	if (!err)
		return 0;
	if (l->fd >= 0)
		close(l->fd);
	*l = (struct listener){.fd = -1};
	return err;
}

void listener_clear(const struct listener *l)
{
	uint64_t count;

	if (l->waits && read(l->fd, &count, sizeof(count)) < 0)
		return; /* there was none */
}

void listener_close(struct listener *l)
{
	if (!l->waits)
		return;
	__atomic_store_n(&l->is_over, true, __ATOMIC_RELEASE);
	syscall(SYS_futex, &l->waits->asked, FUTEX_WAKE, 1, NULL, NULL, 0);
	pthread_join(l->thread, NULL);
	close(l->fd);
	*l = (struct listener){.fd = -1};
}
