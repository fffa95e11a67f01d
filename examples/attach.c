/* Using nopal_attach_bpf(): your own BPF program on every site of a probe. This one adds the
 * probe's cookie to a counter at each event; a real one would be compiled by clang and loaded with
 * libbpf.
 *
 * usage: attach FILE PROVIDER NAME COMMAND [PID]    prints how often the probe was hit while
 * COMMAND ran; with PID, only in that process */
// libs: -lbpf
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <bpf/bpf.h>
#include <nopal/trace.h>

#define TRACE_UPROBE_MULTI 48 /* enum bpf_attach_type; libbpf 1.1 does not know it yet */

#define INSN(op, d, s, o, i)                                                                  \
	(struct bpf_insn)                                                                     \
	{                                                                                     \
		.code = (op), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (int32_t)(i) \
	}

/* counter += bpf_get_attach_cookie(ctx), atomically */
static int load_program(int counter)
{
	const struct bpf_insn code[] = {
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_attach_cookie),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 6, 0, 0, 0),
		INSN(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -4),
		INSN(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, counter),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1, 0),
		INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 0, 6, 0, BPF_ADD),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)TRACE_UPROBE_MULTI);
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "count", "Dual MIT/GPL", code,
			       sizeof(code) / sizeof(code[0]), &opts);

	/* An older kernel: without the attach type, nopal attaches by perf events. */
	return fd >= 0 ? fd
		       : bpf_prog_load(BPF_PROG_TYPE_KPROBE, "count", "Dual MIT/GPL", code,
				       sizeof(code) / sizeof(code[0]), NULL);
}

int main(int argc, char **argv)
{
	struct nopal_diag *d = nopal_diag_new();
	struct nopal_link *link = NULL;
	uint64_t count = 0;
	uint32_t key = 0;
	int map, program;
	pid_t pid = 0;

	if (argc < 5 || argc > 6 || !d)
		return 2;
	if (argc == 6)
		pid = (pid_t)strtol(argv[5], NULL, 10);
	map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "counter", sizeof(key), sizeof(count), 1, NULL);
	program = load_program(map);
	if (program < 0 || nopal_attach_bpf(program, pid, argv[1], argv[2], argv[3], 1, &link, d)) {
		perror("attach");
		fputs(nopal_diag_text(d), stderr);
		return 1;
	}
	fprintf(stderr, "attached to %u sites\n", nopal_link_site_count(link));
	if (system(argv[4]))
		fprintf(stderr, "the command failed\n");
	nopal_link_detach(link);
	bpf_map_lookup_elem(map, &key, &count);
	printf("%llu\n", (unsigned long long)count);
	nopal_diag_free(d);
	return 0;
}
