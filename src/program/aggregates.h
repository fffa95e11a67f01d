/* The aggregations, one row each: what only a map's value can be. Include it with AGGREGATE
 * defined: AGGREGATE(kind, name, suffix, words, is_scalar, adds_up)
 *
 * `suffix` is of type.c, and `words` of 8 bytes are the value's memory (0: buckets). Scripts can
 * read a scalar. The values of several CPUs add up, word by word, or aggregate.c merges them. What
 * a row means is in aggregate.c, the same as eBPF code in engine/bpf/gen_aggregate.c. A value is
 * shown as the number that aggregate.c reads from it, unless report/table.c has a row for it. */
/* clang-format off */
AGGREGATE(COUNT,  "count",  PLAIN,  1, true,  true)  /* u64 */
AGGREGATE(SUM,    "sum",    OF_INT, 1, true,  true)  /* s64 or u64 by is_signed */
AGGREGATE(MIN,    "min",    OF_INT, 2, true,  false) /* the value; 1: there is one */
AGGREGATE(MAX,    "max",    OF_INT, 2, true,  false) /* as MIN */
AGGREGATE(BIT_OR, "bit_or", PLAIN,  1, true,  false) /* u64 */
AGGREGATE(AVG,    "avg",    OF_INT, 2, true,  true)  /* count; total, in two's complement when signed */
AGGREGATE(STATS,  "stats",  OF_INT, 2, false, true)  /* as AVG */
AGGREGATE(HIST,   "hist",   PLAIN,  0, false, true)  /* u64[hist_buckets(bits)] */
AGGREGATE(LHIST,  "lhist",  PLAIN,  0, false, true)  /* u64[(max - min) / step + 2]: below, the steps, above */
/* clang-format on */
