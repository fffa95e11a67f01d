/* The kernel's half of readers_libbpf.c: all arguments of a probe, as libbpf reads them. */
#include <linux/types.h>
#include <stdbool.h>
#include <linux/bpf.h>
#include <asm/ptrace.h>
#include <bpf/usdt.bpf.h>
#include "readers_libbpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} hits SEC(".maps");

SEC("usdt")
int on_hit(struct pt_regs *ctx)
{
	struct hit *hit = bpf_ringbuf_reserve(&hits, sizeof(*hit), 0);
	long value;
	int i;

	if (!hit)
		return 0;
	hit->probe = bpf_usdt_cookie(ctx);
	hit->count = bpf_usdt_arg_cnt(ctx);
	hit->unread = 0;
	for (i = 0; i < 12; i++) {
		value = 0;
		if (bpf_usdt_arg(ctx, i, &value))
			hit->unread |= 1u << i;
		hit->args[i] = value;
	}
	bpf_ringbuf_submit(hit, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
