#include "help/in_process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "user/inside/blob.h"
#include "help/check.h"

#define HWCAP2_FSGSBASE_BIT 2 /* asm/hwcap2.h */
#define TID_REACH	    4096

static void *map_memory(size_t size, int prot)
{
	void *at = mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(at != MAP_FAILED);
	return at;
}

char *in_process_near(const char *site)
{
	for (uintptr_t at = ((uintptr_t)site & ~UINT64_C(0xfffff)) + (64 << 20);; at += 1 << 20) {
		char *code = mmap((void *)at, IN_PROCESS_CODE, PROT_READ | PROT_WRITE | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (code == (void *)at)
			return code;
		if (code != MAP_FAILED) /* qemu-user takes the address as a wish */
			munmap(code, IN_PROCESS_CODE);
	}
}

static struct in_process *self_of(struct engine *e)
{
	return (struct in_process *)e;
}

/* ---- process_vm_readv(2), which qemu-user does not have
 *
 * In the copy of the functions that run inside, system calls become traps, and their handler makes
 * the calls. Memory is read by way of a pipe, since write(2) says what cannot be read. */

#if defined(__aarch64__)
#define CALL_OF_SYSTEM 0xd4000001u /* svc #0 */
#define TRAP	       0xd4200000u /* brk #0 */

static int memory_pipe[2];

static int64_t read_memory(const struct iovec *to, const struct iovec *from)
{
	ssize_t done = write(memory_pipe[1], from->iov_base, from->iov_len);

	return done < 0 ? -errno : read(memory_pipe[0], to->iov_base, (size_t)done);
}

static void make_call(int signal, siginfo_t *info, void *context)
{
	mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
	int64_t done;

	(void)signal, (void)info;
	if (m->regs[8] == SYS_process_vm_readv) {
		done = read_memory((const struct iovec *)m->regs[1],
				   (const struct iovec *)m->regs[3]);
	} else {
		done = syscall((long)m->regs[8], m->regs[0], m->regs[1], m->regs[2], m->regs[3],
			       m->regs[4], m->regs[5]);
		done = done < 0 ? -errno : done;
	}
	m->regs[0] = (uint64_t)done;
	m->pc += 4;
}

static void replace_calls(uint32_t *code, size_t count)
{
	static char stack[65536];
	const stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_sigaction = make_call, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	char from = 1, to = 0;
	struct iovec local = {&to, 1}, remote = {&from, 1};

	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1)
		return;
	if (!memory_pipe[1])
		assert_int_equal(pipe(memory_pipe), 0);
	assert_int_equal(sigaltstack(&other, NULL), 0);
	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
	for (size_t i = 0; i < count; i++)
		if (code[i] == CALL_OF_SYSTEM)
			code[i] = TRAP;
}
#else
static void replace_calls(uint32_t *code, size_t count)
{
	(void)code, (void)count;
}
#endif

static int in_process_open(const struct engine_options *options, struct engine **out,
			   struct diag *d)
{
	struct in_process *p = calloc(1, sizeof(*p));

	(void)options, (void)d;
	assert_non_null(p);
	p->engine.ops = &engine_in_process;
#if defined(__aarch64__) /* it has no jump to everywhere */
	p->code = in_process_near((const char *)(uintptr_t)native_back());
#else
	p->code = map_memory(IN_PROCESS_CODE, PROT_READ | PROT_WRITE | PROT_EXEC);
#endif
	p->page = map_memory(LAYOUT_PAGE, PROT_READ | PROT_WRITE);
	p->page->pid = (uint64_t)getpid();
	p->inside = map_memory(native_blob_size, PROT_READ | PROT_WRITE);
	memcpy(p->inside, native_blob, native_blob_size);
	replace_calls((uint32_t *)(void *)p->inside, native_blob_size / 4);
	__builtin___clear_cache(p->inside, p->inside + native_blob_size);
	assert_int_equal(mprotect(p->inside, native_blob_size, PROT_READ | PROT_EXEC), 0);
	*out = &p->engine;
	return 0;
}

static int in_process_build(struct engine *e, const struct program *program, struct diag *d)
{
	struct native_sizes sizes = {.scratch_count = 4};
	struct in_process *p = self_of(e);
	int err = program_check(program, d);

	for (uint32_t i = 0; i < program->clause_count; i++) {
		uint32_t size = native_frame_size(&program->clauses[i]);

		sizes.scratch_size = size > sizes.scratch_size ? size : sizes.scratch_size;
	}
	if (!err)
		err = native_store_open(program, &sizes, &p->store, d);
	if (err)
		return err;
	p->program = program;
	memset(p->kept.chunks, 0xff, sizeof(p->kept.chunks));
	p->base = mmap(NULL, p->store->layout.size, PROT_READ | PROT_WRITE, MAP_SHARED,
		       p->store->fd, 0);
	assert_true(p->base != MAP_FAILED);
	p->engine.maps = native_store_maps(p->store);
	return 0;
}

static int in_process_attach(struct engine *e, struct diag *d)
{
	(void)d;
	(void)e;
	return 0;
}

static char *thread_pointer(void)
{
	return __builtin_thread_pointer();
}

/* As a tracer finds it: the first word near the thread pointer that is this thread's id. On aarch64
 * what libc has of a thread lies before it. */
static int32_t find_tid(void)
{
#if defined(__aarch64__)
	const int32_t step = -4;
#else
	const int32_t step = 4;
#endif

	for (int32_t at = step; at < TID_REACH && at > -TID_REACH; at += step)
		if (*(const uint32_t *)(const void *)(thread_pointer() + at) == (uint32_t)gettid())
			return at;
	return NATIVE_NONE;
}

struct native_place in_process_place(struct in_process *p)
{
	return (struct native_place){
		.landing = (uintptr_t)p->code,
		.site = (uintptr_t)native_cpu_run,
		.back = native_back(),
		.shared = (uintptr_t)p->base,
		.inside = (uintptr_t)p->inside,
		.process = (uintptr_t)p->page,
		.kept = (uintptr_t)&p->kept,
		.rseq = p->no_rseq || !__rseq_size ? NATIVE_NONE : (int32_t)__rseq_offset,
		.tid = p->no_tid ? NATIVE_NONE : find_tid(),
		.has_fsgsbase = getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE_BIT,
		.layout = &p->store->layout,
		.maps = p->store->shapes,
	};
}

void in_process_generate(struct in_process *p, const struct native_place *place,
			 const struct native_step *steps, unsigned count)
{
	struct diag d = DIAG_INIT;
	struct native_code code;
	int err;

	code_open(&code, place->landing);
	err = native_generate(place, steps, count, &code, &d);
	if (err)
		fail_msg("native_generate: %s: %s", strerror(-err),
			 d.first ? d.first->text.ptr : "");
	assert_true(code.bytes.len <= IN_PROCESS_CODE);
	memcpy(p->code, code.bytes.ptr, code.bytes.len);
	__builtin___clear_cache(p->code, p->code + code.bytes.len);
	if (getenv("NATIVE_CODE")) {
		FILE *f = fopen(getenv("NATIVE_CODE"), "w");

		fwrite(code.bytes.ptr, 1, code.bytes.len, f);
		fclose(f);
	}
	code_close(&code);
	diag_free(&d);
}

/* Registers of the context, by the numbers of instructions; those that it leaves 0 and that no
 * operand names stay as they are. */
static void set_registers(struct native_cpu *cpu, const struct context *c, const struct attach *at)
{
	for (unsigned id = 0; id < COUNT(c->regs); id++) {
		int reg = asm_general((uint8_t)id), vector = asm_vector((uint8_t)id);
		bool is_set = c->regs[id];

		for (unsigned i = 0; i < at->arg_count; i++)
			is_set |= at->args[i].operand.kind == OPERAND_REG &&
				  at->args[i].operand.reg == id;
		if (is_set && id == arch_host()->sp)
			cpu->regs[CPU_SP] = c->regs[id];
		else if (is_set && reg != ASM_NONE)
			cpu->regs[reg] = c->regs[id];
		else if (c->regs[id] && vector >= 0 && vector < CPU_VECTORS)
			cpu->vectors[vector][0] = c->regs[id];
	}
}

/* The thread: as it goes, and as it comes back. */
static struct native_cpu before, cpu;

const void *in_process_stack(void)
{
	return cpu.stack + CPU_STACK_BELOW;
}

int in_process_fire(struct engine *e, uint32_t clause, uint32_t attach, const struct context *c)
{
	struct in_process *p = self_of(e);
	const struct clause *of = &p->program->clauses[clause];
	const struct native_step step = {p->program, of, &of->attaches[attach]};
	struct native_place place = in_process_place(p);

	if (native_store_is_stopped(p->store))
		return 0;
	place.site = c->ip;
	in_process_generate(p, &place, &step, 1);
	native_cpu_fill(&cpu, c->nsecs + clause);
	set_registers(&cpu, c, step.attach);
	before = cpu;
	native_cpu_run(&cpu, p->code);
	native_cpu_expect_same(&before, &cpu);
	return 1;
}

static bool is_undoable(const struct program *p, const struct clause *c)
{
	for (uint32_t i = 0; i < c->insn_count; i++)
		if (native_undoable(p, &c->code[i]))
			return true;
	return false;
}

/* What trampolines cannot do, the tracer's interpreter does on the shared maps, as in a session. */
static int run_in_tracer(struct in_process *p, enum attach_kind kind, uint64_t period,
			 uint32_t clause, struct diag *d)
{
	const struct engine_options options = {0};
	struct engine *interp;
	int err;

	assert_int_equal(engine_interp.open(&options, &interp, d), 0);
	interp_use_store(interp, &p->store->interp);
	assert_int_equal(engine_build(interp, p->program, d), 0);
	assert_int_equal(engine_attach(interp, d), 0);
	err = engine_run(interp, kind, period, clause, d);
	engine_close(interp);
	return err;
}

static int in_process_run(struct engine *e, enum attach_kind kind, uint64_t period, uint32_t clause,
			  struct diag *d)
{
	const struct context c = {.nsecs = 1};
	const struct clause *of = &self_of(e)->program->clauses[clause];

	if (is_undoable(self_of(e)->program, of))
		return run_in_tracer(self_of(e), kind, period, clause, d);
	for (uint32_t i = 0; i < of->attach_count; i++) {
		if (of->attaches[i].kind != kind || of->attaches[i].period != period)
			continue;
		/* END runs after exit(), too. */
		((struct layout *)(void *)self_of(e)->base)->is_stopped = 0;
		in_process_fire(e, clause, i, &c);
	}
	return 0;
}

static int in_process_drain(struct engine *e, int timeout_ms, record_fn *fn, void *arg)
{
	int total = 0, count;

	(void)timeout_ms;
	/* One drain of the store gives back to the session now and then. */
	do {
		count = native_ring_drain(self_of(e)->store, fn, arg, NULL, NULL);
		total += count > 0 ? count : 0;
	} while (count > 0);
	return count < 0 ? count : total;
}

static int in_process_wait_fd(struct engine *e)
{
	(void)e;
	return -1;
}

static void in_process_stats(struct engine *e, struct run_stats *out)
{
	native_store_stats(self_of(e)->store, out);
}

static int in_process_faults(struct engine *e, fault_fn *fn, void *arg)
{
	return native_store_faults(self_of(e)->store, fn, arg);
}

static void in_process_stop(struct engine *e)
{
	(void)e;
}

static void in_process_close(struct engine *e)
{
	struct in_process *p = self_of(e);

	if (!p)
		return;
	if (p->base)
		munmap(p->base, p->store->layout.size);
	munmap(p->code, IN_PROCESS_CODE);
	munmap(p->page, LAYOUT_PAGE);
	munmap(p->inside, native_blob_size);
	native_store_close(p->store);
	free(p);
}

const struct engine_ops engine_in_process = {
	.name = "native",
	.open = in_process_open,
	.build = in_process_build,
	.attach = in_process_attach,
	.run = in_process_run,
	.drain = in_process_drain,
	.wait_fd = in_process_wait_fd,
	.stats = in_process_stats,
	.faults = in_process_faults,
	.stop = in_process_stop,
	.detach = in_process_stop,
	.close = in_process_close,
};
