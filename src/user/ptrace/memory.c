/* Reading and writing the memory of a process. */
#include "user/ptrace/tracee_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"

int process_memory(pid_t pid, int access)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, access | O_CLOEXEC);
	if (fd < 0 && errno == EMFILE && file_raise_limit())
		fd = open(path, access | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int all_of(ssize_t done, size_t len)
{
	if (done < 0)
		return errno == EIO ? -EFAULT : -errno;
	return (size_t)done == len ? 0 : done ? -EFAULT : -ESRCH;
}

int inject_read(struct inject *x, uint64_t address, void *bytes, size_t len)
{
	return all_of(pread(x->mem_fd, bytes, len, (off_t)address), len);
}

/* In words, as ptrace(2) writes them: what was around the bytes stays. */
static int poke(const struct inject *x, uint64_t address, const uint8_t *bytes, size_t len)
{
	uint64_t end = address + len;

	for (uint64_t at = address & ~UINT64_C(7); at < end; at += sizeof(uint64_t)) {
		uint64_t from = at > address ? at : address, to = at + 8 < end ? at + 8 : end;
		uint8_t word[8];
		long value;
		int err = all_of(pread(x->mem_fd, word, sizeof(word), (off_t)at), sizeof(word));

		if (err)
			return err;
		memcpy(word + (from - at), bytes + (from - address), to - from);
		memcpy(&value, word, sizeof(value));
		if (ptrace(PTRACE_POKEDATA, x->poker, (void *)(uintptr_t)at, (void *)value))
			return errno == EIO ? -EFAULT : -errno;
	}
	return 0;
}

/* Kernels since 6.12 may leave it to the thread that traces the process by ptrace to write memory
 * that the process itself may not write (proc_mem.force_override), and may then allow
 * PTRACE_POKEDATA alone. */
int inject_write(struct inject *x, uint64_t address, const void *bytes, size_t len)
{
	int err = all_of(pwrite(x->mem_fd, bytes, len, (off_t)address), len);

	return err == -EFAULT && x->poker ? poke(x, address, bytes, len) : err;
}

int inject_write_code(struct inject *x, uint64_t address, const void *bytes, size_t len)
{
	int err = inject_write(x, address, bytes, len);
	struct late_write *late;

	if (err != -EFAULT)
		return err;
	if (array_grow(x->late, x->late_count, x->late_cap))
		return -ENOMEM;
	late = &x->late[x->late_count];
	*late = (struct late_write){.address = address, .bytes = BUF_INIT};
	buf_add(&late->bytes, bytes, len);
	x->late_count++;
	return late->bytes.failed ? -ENOMEM : 0;
}

int inject_write_late(struct inject *x)
{
	int err = 0;

	for (size_t i = 0; i < x->late_count; i++) {
		const struct late_write *late = &x->late[i];

		if (!err)
			err = inject_write(x, late->address, late->bytes.ptr, late->bytes.len);
		buf_free(&x->late[i].bytes);
	}
	x->late_count = 0;
	return err;
}
