/* Names of system calls by their numbers, as this CPU has them. The build makes the list of them
 * from the headers of the kernel; what is newer than those has the same number on most CPUs. */
#include "base/array.h"
#include "program/enum_text.h"

/* From number 451 on. */
static const char *const newer[] = {
	"cachestat",	     "fchmodat2",	  "map_shadow_stack", "futex_wake",
	"futex_wait",	     "futex_requeue",	  "statmount",	      "listmount",
	"lsm_get_self_attr", "lsm_set_self_attr", "lsm_list_modules", "mseal",
	"setxattrat",	     "getxattrat",	  "listxattrat",      "removexattrat",
	"open_tree_attr",    "file_getattr",	  "file_setattr",
};

const char *syscall_name(uint64_t number)
{
	enum { FIRST_NEWER = 451 };

	if (number < syscall_count && syscall_names[number])
		return syscall_names[number];
#ifndef __mips__
	if (number >= FIRST_NEWER && number - FIRST_NEWER < COUNT(newer))
		return newer[number - FIRST_NEWER];
#endif
	return "Unknown syscall";
}
