/* Where the sites of tests/targets/bpf_sites.c have their values: the registers that it puts them
 * into, as notes name them, for each CPU that the tests run on. */
#ifndef TESTS_SITE_ARGS_H
#define TESTS_SITE_ARGS_H

#if defined(__x86_64__)

#define REG_FIRST  "rdi" /* `int`, `str`: arg0 */
#define REG_SECOND "rsi" /* ... arg1 */
#define REG_VALUE  "rax" /* `other`, `value` */
#define REG_BASE   "rbx" /* `many`: the address of 1 .. 12 as 8-byte integers */
#define REG_INDEX  "rcx" /* ... MANY_INDEX */
#define MANY_INDEX 1
#define REG_RESULT "rax" /* of a function */

#define ARGS_INT   "-4@%edi 8@%rsi"
#define ARGS_FLOAT "-4@%edi 8f@%xmm0"
#define ARGS_OTHER "-4@%eax"
#define ARGS_VALUE "8@%rax"
#define ARGS_MANY                                                                            \
	"8@(%rbx) 4@8(%rbx) -4@8(%rbx,%rcx,8) 2@24(%rbx) 1@32(%rbx) -1@40(%rbx) 8@48(%rbx) " \
	"8@48(%rbx,%rcx,8) -8@64(%rbx) 8@64(%rbx,%rcx,8) 4@80(%rbx) -8@$-12"

#elif defined(__aarch64__)

#define REG_FIRST  "x0"
#define REG_SECOND "x1"
#define REG_VALUE  "x2"
#define REG_BASE   "x9"
#define REG_INDEX  "x10"
#define MANY_INDEX 8
#define REG_RESULT "x0"

#define ARGS_INT   "-4@w0 8@x1"
#define ARGS_FLOAT "-4@w0 8f@d0"
#define ARGS_OTHER "-4@w2"
#define ARGS_VALUE "8@x2"
#define ARGS_MANY                                                                    \
	"8@[x9] 4@[x9, 8] -4@[x9, 16] 2@[x9, 24] 1@[x9, 32] -1@[x9, 40] 8@[x9, 48] " \
	"8@[x9, 56] -8@[x9, x10, lsl 3] 8@[x9, 72] 4@[x9, 80] -8@-12"

#else
#error "which registers do the sites of bpf_sites.c use on this CPU?"
#endif

#endif
