/* The aggregations, one row each: what only a map's value can be. Include it with AGGREGATE
 * defined: AGGREGATE(kind, name, suffix, words, is_scalar)
 *
 * `suffix` is of type.c, `words` of 8 bytes are the value's memory (0: buckets), and a scalar can
 * be read by scripts. One is shown as the number in its first word, unless report/table.c has a
 * row for it. How values are taken in: engine/interp/values.c and engine/bpf/gen_aggregate.c. */
/* clang-format off */
AGGREGATE(COUNT, "count", PLAIN,  1, true)  /* u64 */
AGGREGATE(SUM,   "sum",   OF_INT, 1, true)  /* s64 or u64 by is_signed */
AGGREGATE(MIN,   "min",   OF_INT, 2, true)  /* struct extreme_value */
AGGREGATE(MAX,   "max",   OF_INT, 2, true)
AGGREGATE(AVG,   "avg",   OF_INT, 2, true)  /* struct mean_value */
AGGREGATE(STATS, "stats", OF_INT, 2, false) /* struct mean_value */
AGGREGATE(HIST,  "hist",  PLAIN,  0, false) /* u64[hist_buckets(bits)] */
AGGREGATE(LHIST, "lhist", PLAIN,  0, false) /* u64[(max - min) / step + 2]: below, the steps, above */
/* clang-format on */
