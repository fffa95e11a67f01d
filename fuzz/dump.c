/* Random bytes -> a program -> the text of --dump=program -> a program -> text: both texts are
 * equal, so that a dump says all there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "program_bytes.h"
/* It has a function of the same name. */
#define take take_text
#include "help/program_text.h"
#undef take

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf first = BUF_INIT, second = BUF_INIT;
	struct made_program m;
	struct test_program read;

	make_program(&m, data, size);
	m.formats[1].piece_count = 0; /* they are of no text, which is what a dump has of them */
	if (program_check(&m.program, NULL))
		return 0;
	program_print(&m.program, &first);
	program_read(&read, first.ptr);
	program_print(&read.program, &second);
	if (!str_eq(buf_as_str(&first), buf_as_str(&second)))
		abort();
	program_unread(&read);
	buf_free(&first);
	buf_free(&second);
	return 0;
}
