/* Asking the kernel; see features.h. */
#include "engine/bpf/kernel/features.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/bpf/kernel/bpf_syscall.h"
#include "engine/bpf/kernel/insn.h"
#include "engine/bpf/kernel/kernel_btf.h"

#define SLEEPABLE	       (1u << 4) /* BPF_F_SLEEPABLE */
#define FUNC_GET_ATTACH_COOKIE 174

/* Close what the kernel gave; it gave nothing when `fd` is negative. */
static bool was_given(int fd)
{
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Load the code, followed by `return 0`; the code is freed. A descriptor or -errno. */
static int load_ending(struct code *c, struct kernel_program p)
{
	code_const(c, R0, 0);
	code_exit(c);
	return kernel_program_load_code(c, p);
}

/* Linking nothing fails everywhere: how is the answer. */
static int link_nothing(pid_t pid)
{
	struct kernel_program p = {.type = BPF_PROG_TYPE_KPROBE,
				   .attach_type = KERNEL_ATTACH_UPROBE_MULTI};
	uint64_t offset = 0;
	struct kernel_uprobes u = {.path = "/", .offsets = &offset, .count = 1, .pid = pid};
	int fd, link = -EPERM;
	struct code c;

	code_init(&c);
	fd = load_ending(&c, p);
	if (fd >= 0)
		link = kernel_link_uprobes(fd, &u);
	was_given(fd);
	was_given(link);
	return link;
}

/* A kernel that has the link refuses the file, which is not a regular one, and not the type. */
static bool ask_multi(void)
{
	return link_nothing(0) == -EBADF;
}

/* By perf events, whose type is in /sys, or by the newer links, which need no /sys: a container
 * may have none. */
static bool ask_uprobe(void)
{
	return ask_multi() || !access("/sys/bus/event_source/devices/uprobe/type", R_OK);
}

/* The first kernels with such links (6.6 to 6.9) took the process for a thread, and see only when
 * it is too late that no process has number -1: they answer that "/" is not a regular file. */
static bool ask_pid_filter(void)
{
	return link_nothing(-1) == -EINVAL;
}

/* A loop of one round, of a function that does nothing. */
static bool ask_bpf_loop(void)
{
	struct code c;
	int body;

	code_init(&c);
	body = code_label(&c);
	code_const(&c, R1, 1);
	code_function(&c, R2, body);
	code_const(&c, R3, 0);
	code_const(&c, R4, 0);
	code_call(&c, FUNC_LOOP);
	code_const(&c, R0, 0);
	code_exit(&c);
	code_bind(&c, body); /* load_ending() adds `return 0` */
	return was_given(load_ending(&c, (struct kernel_program){.type = BPF_PROG_TYPE_KPROBE}));
}

/* A loop over a map, whose body is a function that does nothing. */
static bool ask_for_each(void)
{
	struct kernel_map m = {.type = BPF_MAP_TYPE_HASH, .key_size = 8, .value_size = 8};
	int fd, body;
	struct code c;
	bool given;

	m.max_entries = 1;
	fd = kernel_map_create(&m);
	if (fd < 0)
		return false;
	code_init(&c);
	body = code_label(&c);
	code_map(&c, R1, fd);
	code_function(&c, R2, body);
	code_const(&c, R3, 0);
	code_const(&c, R4, 0);
	code_call(&c, FUNC_FOR_EACH);
	code_const(&c, R0, 0);
	code_exit(&c);
	code_bind(&c, body); /* load_ending() adds `return 0` */
	given = was_given(load_ending(&c, (struct kernel_program){.type = BPF_PROG_TYPE_KPROBE}));
	close(fd);
	return given;
}

/* A loop that nothing else ends. */
static bool ask_may_goto(void)
{
	struct code c;
	int again, end;

	code_init(&c);
	again = code_here(&c);
	end = code_label(&c);
	code_may_goto(&c, end);
	code_jump(&c, again);
	code_bind(&c, end);
	return was_given(load_ending(&c, (struct kernel_program){.type = BPF_PROG_TYPE_KPROBE}));
}

/* A jump with a 32-bit distance, to the next instruction. */
static bool ask_long_jump(void)
{
	static const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = R0},
		{.code = BPF_JMP32 | BPF_JA},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return was_given(kernel_program_load(&(struct kernel_program){
		.type = BPF_PROG_TYPE_KPROBE, .insns = insns, .count = 3}));
}

static bool ask_ref_ctr(void)
{
	return ask_multi() ||
	       !access("/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset", R_OK);
}

static bool ask_ring(void)
{
	struct kernel_map m = {.type = BPF_MAP_TYPE_RINGBUF,
			       .max_entries = (uint32_t)sysconf(_SC_PAGESIZE)};

	return was_given(kernel_map_create(&m));
}

/* News of this process alone: a user who may not ask even for these (kernel.perf_event_paranoid)
 * hears of no process. */
static bool ask_news(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap2 = 1,
		.task = 1,
	};

	return was_given(kernel_perf_open(&attr, 0, -1));
}

static bool ask_btf(void)
{
	uint32_t offset;

	return !btf_kernel_field("task_struct", "pid", &offset);
}

/* Kernels since 6.18 make a call of a probed 5-byte nop, and the first of them let that call
 * overwrite the red zone. Whether one does cannot be found out without breaking a program on
 * purpose, so no kernel with the uprobe system call is trusted; older ones use a breakpoint, which
 * is safe. */
static bool ask_nop5(void)
{
#if defined(__x86_64__)
	long result = syscall(336); /* uprobe: ENXIO or SIGILL from anywhere but a trampoline */

	return result < 0 && errno == ENOSYS;
#else
	return true;
#endif
}

/* clang-format off */
static const struct {
	const char *name, *means;
	bool (*ask)(void); /* NULL: does the kernel load an empty program that has these flags and calls this helper? */
	enum bpf_prog_type type;
	uint32_t flags;
	int helper;
} table[FEATURE_COUNT_] = {
	[FEATURE_UPROBE]       = {"uprobe",       "functions and probes of programs can be traced", .ask = ask_uprobe},
	[FEATURE_UPROBE_MULTI] = {"uprobe_multi", "many probes are attached and removed at once (Linux 6.6)", .ask = ask_multi},
	[FEATURE_PID_FILTER]   = {"pid_filter",   "-p puts breakpoints into that process alone (Linux 6.10)", .ask = ask_pid_filter},
	[FEATURE_SLEEPABLE]    = {"sleepable",    "texts on pages that are not in memory can be read", .type = BPF_PROG_TYPE_KPROBE, .flags = SLEEPABLE},
	[FEATURE_COOKIE]       = {"cookie",       "one program serves many probes (Linux 5.15)", .type = BPF_PROG_TYPE_KPROBE, .helper = FUNC_GET_ATTACH_COOKIE},
	[FEATURE_REF_CTR]      = {"ref_ctr",      "probes that are off until a tracer comes are switched on", .ask = ask_ref_ctr},
	[FEATURE_RING]         = {"ring",         "events of all CPUs come in order (Linux 5.8)", .ask = ask_ring},
	[FEATURE_RUN]          = {"run",          "BEGIN, END and interval run in the kernel", .type = BPF_PROG_TYPE_SYSCALL, .flags = SLEEPABLE},
	[FEATURE_BPF_LOOP]     = {"bpf_loop",     "loops of many rounds (Linux 5.17)", .ask = ask_bpf_loop},
	[FEATURE_MAY_GOTO]     = {"may_goto",     "loops of many rounds (Linux 6.9)", .ask = ask_may_goto},
	[FEATURE_FOR_EACH]     = {"for_each",     "for loops over maps", .ask = ask_for_each},
	[FEATURE_BTF]          = {"btf",          "children are followed, with --follow and -c", .ask = ask_btf},
	[FEATURE_LONG_JUMP]    = {"long_jump",    "clauses of thousands of instructions", .ask = ask_long_jump},
	[FEATURE_NEWS]         = {"news",         "what processes map is reported at once; if not, user mode looks every 20 ms", .ask = ask_news},
	[FEATURE_NOP5_SAFE]    = {"nop5_safe",    "probes on a 5-byte nop are traced; if not, they are left out, because this kernel may damage such programs", .ask = ask_nop5},
};
/* clang-format on */

void features_init(struct features *f)
{
	*f = (struct features){{0}};
	features_deny(f, str_from(getenv("NOPAL_NO_FEATURES")));
}

/* False: nothing has this name. */
static bool deny_feature(struct features *f, struct str name)
{
	for (int i = 0; i < FEATURE_COUNT_; i++)
		if (str_eq_text(name, table[i].name)) {
			f->known[i] = -1;
			return true;
		}
	/* Names that bpftrace has: here kprobes are attached one by one. */
	return str_eq_text(name, "kprobe_multi") || str_eq_text(name, "kprobe_session");
}

void features_deny(struct features *f, struct str names)
{
	while (names.len)
		deny_feature(f, str_trim(str_cut(&names, ',')));
}

int features_check(struct diag *d)
{
	struct str names = str_from(getenv("NOPAL_NO_FEATURES")), name;
	struct features none;

	while (names.len) {
		name = str_trim(str_cut(&names, ','));
		if (!name.len || deny_feature(&none, name))
			continue;
		diag_error(d, -EINVAL, "unknown-feature", "no kernel feature is called '%.*s'",
			   STR_FMT(name));
		diag_hint(d, "'nopal doctor' shows their names");
		return -EINVAL;
	}
	return 0;
}

void feature_learn(struct features *f, enum feature feature, bool works)
{
	f->known[feature] = works ? 1 : -1;
}

bool feature_has(struct features *f, enum feature feature)
{
	struct kernel_program p = {.type = table[feature].type, .flags = table[feature].flags};
	struct code c;

	if (f->known[feature])
		return f->known[feature] > 0;
	code_init(&c);
	if (table[feature].helper)
		code_call(&c, table[feature].helper);
	feature_learn(f, feature,
		      table[feature].ask ? table[feature].ask() : was_given(load_ending(&c, p)));
	return f->known[feature] > 0;
}

/* Without the right to load programs the kernel answers "no" to everything that is tried. */
static bool is_known(enum feature feature, bool may_load)
{
	return may_load || feature == FEATURE_UPROBE || feature == FEATURE_REF_CTR ||
	       feature == FEATURE_BTF || feature == FEATURE_NOP5_SAFE || feature == FEATURE_NEWS;
}

void features_print(struct features *f, bool may_load, struct buf *out)
{
	for (int i = 0; i < FEATURE_COUNT_; i++) {
		bool has = feature_has(f, (enum feature)i);

		buf_printf(out, "%-14s %-4s %s\n", table[i].name,
			   has					 ? "yes"
			   : is_known((enum feature)i, may_load) ? "no"
								 : "?",
			   table[i].means);
	}
	if (!may_load)
		buf_text(out, "(?: the kernel tells only those who may load BPF programs)\n");
}

void features_log(const struct features *f, struct buf *out)
{
	const char *before = "features: ";

	for (int i = 0; i < FEATURE_COUNT_; i++)
		if (f->known[i] > 0) {
			buf_printf(out, "%s%s", before, table[i].name);
			before = ", ";
		}
	buf_text(out, *before == ',' ? "\n" : "");
}
