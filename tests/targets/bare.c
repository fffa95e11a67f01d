/* A probe u:ev as in later.c, but without arguments: what a script asks of the other it cannot
 * have. Waits 300 ms before it fires, and again before it ends. */
#include <unistd.h>

#include <sys/sdt.h>

int main(void)
{
	usleep(300000);
	DTRACE_PROBE(u, ev);
	usleep(300000);
	return 0;
}
