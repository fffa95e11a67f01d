/* The ledger that a tracer left in a process, which can write anything into it: what the next
 * tracer and `nopal clean` read and undo. The input is the process's memory from the ledger on;
 * sites and semaphores may be anywhere in it. The tracer must write nowhere else and come to an
 * end. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "user/patch/ledger.h"
#include "user/patch/undo.h"

#define AT     4096u
#define MEMORY (LEDGER_STEP + 4 * PAGE)
#define CODE   (AT + LEDGER_STEP)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inject x = {.pid = getpid(),
			   .mem_fd = memfd_create("fuzz", MFD_CLOEXEC),
			   .old = {AT},
			   .old_count = 1};
	struct range code = {.start = CODE, .end = CODE + PAGE, .is_code = true};
	struct ledger_head head = {.magic = LEDGER_MAGIC,
				   .count = (uint32_t)(size / sizeof(struct ledger_entry)),
				   .size = LEDGER_STEP};
	pid_t busy;

	if (size > LEDGER_STEP - sizeof(head))
		return 0;
	if (x.mem_fd < 0 || ftruncate(x.mem_fd, AT + MEMORY))
		abort();
	/* Sometimes the head is the input's, too. */
	if (size % 8 && inject_write(&x, AT, &head, sizeof(head)))
		abort();
	if (size && inject_write(&x, AT + (size % 8 ? sizeof(head) : 0), data, size))
		abort();
	x.space.ranges = &code;
	x.space.count = 1;
	undo_ledger(&x, AT, 0, &busy);
	ledger_adopt_old(&x);
	if (x.space.planned_count > ADOPTED_MOST || lseek(x.mem_fd, 0, SEEK_END) != AT + MEMORY)
		abort();
	x.space.ranges = NULL;
	x.space.count = 0;
	space_free(&x.space);
	close(x.mem_fd);
	return 0;
}
