/* strerror(): what an error's number means, in the words of the kernel's headers, which the newest
 * bpftrace has. Most are the C library's; these are not. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "program/enum_text.h"

static const struct {
	int number;
	const char *text;
} others[] = {
	{EIO, "I/O error"},
	{EBADF, "Bad file number"},
	{EAGAIN, "Try again"},
	{ENOMEM, "Out of memory"},
	{EXDEV, "Cross-device link"},
	{ENFILE, "File table overflow"},
	{ENOTTY, "Not a typewriter"},
	{EDOM, "Math argument out of domain of func"},
	{ERANGE, "Math result not representable"},
	{EDEADLK, "Resource deadlock would occur"},
	{ENOLCK, "No record locks available"},
	{ENOSYS, "Invalid system call number"},
	{ELOOP, "Too many symbolic links encountered"},
	{EBADMSG, "Not a data message"},
	{EILSEQ, "Illegal byte sequence"},
	{EOPNOTSUPP, "Operation not supported on transport endpoint"},
	{ENETRESET, "Network dropped connection because of reset"},
	{EDQUOT, "Quota exceeded"},
	{ECANCELED, "Operation Canceled"},
};

const char *errno_text(int number)
{
	const char *text;

	for (size_t i = 0; i < COUNT(others); i++)
		if (others[i].number == number)
			return others[i].text;
	text = strerrordesc_np(number);
	return text ? text : "Unknown error";
}
