/* One line of /proc/TID/syscall:
 *
 *	22 0x4 0x7ffd30a0 0x1 0x3e8 0x0 0x8 0x7ffd3088 0x7f0ce2b8	number, arguments, sp, pc
 *	-1 0x7ffd3088 0x7f0ce2b8	it sleeps, but in no call
 *	running */
#include "user/ptrace/system_call.h"

#include "base/proc.h"
#include "base/str.h"

#define LINE_MOST  256
#define WORDS_MOST (SYSTEM_CALL_ARGS + 2)

/* The numbers in hex at the start of a line: how many. */
static unsigned read_words(struct str line, uint64_t words[WORDS_MOST])
{
	unsigned count = 0;

	while (count < WORDS_MOST && str_starts(line, STR("0x"))) {
		struct str word = str_cut(&line, ' ');

		if (str_to_hex(str_of(word.ptr + 2, word.len - 2), &words[count]))
			break;
		count++;
	}
	return count;
}

struct system_call system_call_of(pid_t tid)
{
	struct system_call call = {.number = -1};
	uint64_t words[WORDS_MOST];
	char text[LINE_MOST];
	struct str line =
		str_trim(str_of(text, process_read_start(tid, "syscall", text, sizeof(text))));
	int64_t number;
	unsigned count;

	if (str_to_s64(str_cut(&line, ' '), &number))
		return call;
	count = read_words(line, words);
	if (count == WORDS_MOST) {
		call.number = number;
		for (unsigned i = 0; i < SYSTEM_CALL_ARGS; i++)
			call.args[i] = words[i];
	} else if (count != 2) {
		return call;
	}
	call.sp = words[count - 2];
	call.pc = words[count - 1];
	return call;
}
