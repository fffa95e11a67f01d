/* The aggregations, one row each: what only a map's value can be. Include it with AGGREGATE
 * defined: AGGREGATE(kind, name, suffix, words, is_scalar, takes, join)
 *
 * `suffix` is of type.c, and `words` of 8 bytes are the value's memory (0: buckets). Scripts can
 * read a scalar. `takes` and `join` are what engines read: what a value takes in for each event,
 * and how the words of two CPUs become one (numbers.h). A value is shown as the number that
 * aggregate.c reads from it, unless report/table.c has a row for it. */
/* clang-format off */
AGGREGATE(COUNT,  "count",  PLAIN,  1, true,  TAKES_ONE,    JOIN_ADD)   /* u64 */
AGGREGATE(SUM,    "sum",    OF_INT, 1, true,  TAKES_NUMBER, JOIN_ADD)   /* s64 or u64 by is_signed */
AGGREGATE(MIN,    "min",    OF_INT, 2, true,  TAKES_NUMBER, JOIN_LEAST) /* the value; 1: there is one */
AGGREGATE(MAX,    "max",    OF_INT, 2, true,  TAKES_NUMBER, JOIN_MOST)  /* as MIN */
AGGREGATE(BIT_OR, "bit_or", PLAIN,  1, true,  TAKES_NUMBER, JOIN_OR)    /* u64 */
AGGREGATE(AVG,    "avg",    OF_INT, 2, true,  TAKES_BOTH,   JOIN_ADD)   /* count; total, in two's complement when signed */
AGGREGATE(STATS,  "stats",  OF_INT, 2, false, TAKES_BOTH,   JOIN_ADD)   /* as AVG */
AGGREGATE(HIST,   "hist",   PLAIN,  0, false, TAKES_HIST,   JOIN_ADD)   /* u64[hist_buckets(bits)] */
AGGREGATE(LHIST,  "lhist",  PLAIN,  0, false, TAKES_LHIST,  JOIN_ADD)   /* u64[(max - min) / step + 2]: below, the steps, above */
/* clang-format on */
