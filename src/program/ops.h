/* The operations, one row each: OP(name, text, results, operands, types of the slots s and t, types
 * of the map's value), and what it does. Include it with OP defined. The letters are explained in
 * op.h; the types are masks of op.c, 0 for any. `d` `a` `b` are registers, `s` `t` slots, `m` a
 * map.
 *
 * ORDER: ADD to SLE compute d from a and b (engine/interp/run.c); of these UDIV to SMOD divide, and
 * EQ to SLE compare (engine/bpf/gen/frame.c, user/gen/gen.c). What comes after BUILTIN may do
 * more than compute d (user/gen/gen_flow.c). */
/* clang-format off */
OP(CONST,     "const",     "d",  "i",    0,                   0)        /* d = imm */
OP(MOV,       "mov",       "d",  "a",    0,                   0)        /* d = a */
OP(ADD,       "add",       "d",  "ab",   0,                   0)        /* d = a + b   (all arithmetic wraps) */
OP(SUB,       "sub",       "d",  "ab",   0,                   0)
OP(MUL,       "mul",       "d",  "ab",   0,                   0)
OP(UDIV,      "udiv",      "d",  "ab",   0,                   0)        /* d = a / b, 1 when b is 0 */
OP(SDIV,      "sdiv",      "d",  "ab",   0,                   0)        /* with signs, 1 when b is 0; INT64_MIN / -1 is INT64_MIN */
OP(UMOD,      "umod",      "d",  "ab",   0,                   0)        /* d = a % b, 1 when b is 0 */
OP(SMOD,      "smod",      "d",  "ab",   0,                   0)
OP(AND,       "and",       "d",  "ab",   0,                   0)
OP(OR,        "or",        "d",  "ab",   0,                   0)
OP(XOR,       "xor",       "d",  "ab",   0,                   0)
OP(SHL,       "shl",       "d",  "ab",   0,                   0)        /* d = a << (b & 63) */
OP(SHR,       "shr",       "d",  "ab",   0,                   0)
OP(SAR,       "sar",       "d",  "ab",   0,                   0)
OP(NEG,       "neg",       "d",  "a",    0,                   0)        /* d = -a */
OP(NOT,       "not",       "d",  "a",    0,                   0)        /* d = ~a */
OP(EQ,        "eq",        "d",  "ab",   0,                   0)        /* d = a == b ? 1 : 0 */
OP(NE,        "ne",        "d",  "ab",   0,                   0)
OP(ULT,       "ult",       "d",  "ab",   0,                   0)
OP(ULE,       "ule",       "d",  "ab",   0,                   0)
OP(SLT,       "slt",       "d",  "ab",   0,                   0)
OP(SLE,       "sle",       "d",  "ab",   0,                   0)
/* d = the low imm bytes of a, zero-extended (imm 1, 2, 4) */
OP(ZEXT,      "zext",      "d",  "aw",   0,                   0)
/* d = the low imm bytes of a, sign-extended */
OP(SEXT,      "sext",      "d",  "aw",   0,                   0)
/* d = the float in a (IEEE bits of imm bytes, 4 or 8) truncated to s64; out of range and NaN
 * give INT64_MIN, as cvttsd2si does */
OP(F2I,       "f2i",       "d",  "af",   0,                   0)

/* go to instruction imm, which is further down */
OP(JUMP,      "jump",      "",   "j",    0,                   0)
OP(JUMP_IF,   "jump_if",   "",   "aj",   0,                   0)        /* ... when a != 0 */
OP(JUMP_NOT,  "jump_not",  "",   "aj",   0,                   0)        /* ... when a == 0 */
/* a loop of at most imm rounds; `target` is the instruction after its OP_NEXT */
OP(LOOP,      "loop",      "",   "nl",   0,                   0)
/* end of the loop body: back to the instruction after the OP_LOOP at `target`; when the rounds are
 * used up, continue after this and count one FAULT_LOOP_LIMIT */
OP(NEXT,      "next",      "",   "l",    0,                   0)
/* a loop over the entries of m, each once: s = its key, d (REG_NO: not wanted) or t = its value as
 * map_get and map_copy give it; `target` as of a loop. What is added to m meanwhile may be met or
 * not. imm is what the limit of nested loops counts for
 * it; it ends with the last entry, whatever imm is */
OP(EACH,      "each",      "sD", "Eln",  0,                   WORDS | AGGREGATES)
OP(EACH_COPY, "each_copy", "st", "Eln",  0,                   MEMORY)
OP(RETURN,    "return",    "",   "",     0,                   0)        /* the clause is done */

/* d = probe argument imm, extended by its size and sign; a float as its bits */
OP(ARG,       "arg",       "d",  "u",    0,                   0)
OP(REG,       "reg",       "d",  "r",    0,                   0)        /* d = saved register with arch id imm */
/* d = tracepoint context bytes at imm, width `size`, `is_signed` */
OP(FIELD,     "field",     "d",  "cx",   0,                   0)
OP(BUILTIN,   "builtin",   "d",  "o",    0,                   0)        /* d = enum builtin imm */
/* d = user memory at a, width `size`, `is_signed`; else 0 and a read error */
OP(LOAD,      "load",      "d",  "ax",   0,                   0)
/* the same of kernel memory */
OP(KLOAD,     "kload",     "d",  "ax",   0,                   0)

OP(PUT,       "put",       "p",  "a",    0,                   0)        /* s[imm] = a, 8 bytes */
OP(GET,       "get",       "d",  "g",    0,                   0)        /* d = s[imm], 8 bytes */
OP(ZERO,      "zero",      "s",  "",     0,                   0)        /* all of s = 0 */
OP(COPY,      "copy",      "p",  "t",    0,                   0)        /* s[imm ...] = all of t */
/* s = t[imm ...], as many bytes as s has (tuple element) */
OP(PART,      "part",      "s",  "q",    0,                   0)
OP(TEXT,      "text",      "s",  "v",    BYTES,               0)        /* s (STR, BUF) = literal program->literals[imm] */
/* s (STR) = NUL-terminated text at user address a, at most register b bytes (unsigned; REG_NO:
 * any number) and at most the limit: imm, or 0 for what the slot holds. Address 0 gives
 * TEXT_NULL, one that cannot be read TEXT_UNREADABLE and a read error, text that the limit cut,
 * and not b, TEXT_CUT. Text without a NUL may end where memory ends; if it fills the limit, it
 * counts as longer */
OP(STR,       "str",       "s",  "aBm",  TEXT,                0)
/* the same of kernel memory, without b */
OP(KSTR,      "kstr",      "s",  "am",   TEXT,                0)
/* s (BUF) = b bytes at user address a; if they are more than the limit, as above, that many and
 * TEXT_CUT */
OP(BUF,       "buf",       "s",  "abm",  KIND(TYPE_BUF),      0)
OP(KBUF,      "kbuf",      "s",  "abm",  KIND(TYPE_BUF),      0)        /* the same of kernel memory */
/* s (STR) = the name of the file whose struct path an object of the kernel has: imm is as
 * PATH_STEP has it. TEXT_NULL where a pointer is 0, TEXT_CUT without text when it does not fit; what
 * cannot be read is TEXT_UNREADABLE and a read error */
OP(PATH,      "path",      "s",  "i",    KIND(TYPE_STR),      0)
OP(COMM,      "comm",      "s",  "",     TEXT,                0)        /* s (STR) = name of the current thread */
OP(USTACK,    "ustack",    "s",  "",     KIND(TYPE_USTACK),   0)        /* s (USTACK) = the user stack */
OP(KSTACK,    "kstack",    "s",  "",     KIND(TYPE_KSTACK),   0)        /* s (KSTACK) */
/* s (LSTACK) = the stack of the script that the thread runs; imm: enum language, and LANGUAGE_ENTRIES */
OP(LSTACK,    "lstack",    "s",  "i",    KIND(TYPE_LSTACK),   0)
/* s (STR) = tracepoint field of `size` chars at imm; size 0: __data_loc */
OP(FIELD_STR, "field_str", "s",  "ch",   TEXT,                0)
/* d = texts of s and t are equal in their first imm bytes, or wholly (imm < 0) ? 0 : 1 */
OP(STRCMP,    "strcmp",    "d",  "sti",  TEXT,                0)
/* s (STR) keeps what leaves room for all that t may hold, and then has the text of t, too; TEXT_CUT
 * when s or t was cut. s and t are different slots */
OP(APPEND,    "append",    "",   "st",   TEXT,                0)
/* s gets byte a at its end; TEXT_CUT when it is full */
OP(PUSH,      "push",      "",   "sa",   BYTES,               0)
/* s is cut, null or unreadable when t is */
OP(MARK,      "mark",      "",   "st",   TEXT,                0)
/* d = bytes of the text in s, or frames of the stack */
OP(LENGTH,    "length",    "d",  "s",    TEXT | STACK,        0)
OP(BYTE,      "byte",      "d",  "sa",   BYTES,               0)        /* d = byte number a of the text in s; 0 after its end */

/* d = m[key s], 0 when absent; value INT, FLOAT, NAME or aggregate (below) */
OP(MAP_GET,   "map_get",   "d",  "k",    0,                   WORDS | SCALARS)
/* t = m[key s], zeroes when absent; other values */
OP(MAP_COPY,  "map_copy",  "t",  "k",    0,                   MEMORY)
OP(MAP_SET,   "map_set",   "",   "ka",   0,                   WORDS)    /* m[key s] = a */
OP(MAP_PUT,   "map_put",   "",   "kt",   0,                   MEMORY)   /* m[key s] = all of t */
/* m[key s] += a, atomically; d = the value before (REG_NO: not wanted) */
OP(MAP_ADD,   "map_add",   "D",  "ka",   0,                   KIND(TYPE_INT))
/* remove m[key s]; d = 1 when it was there, else 0 (REG_NO: not wanted) */
OP(MAP_DEL,   "map_del",   "D",  "k",    0,                   0)
OP(MAP_HAS,   "map_has",   "d",  "k",    0,                   0)        /* d = 1 when the key is there, else 0 */
/* d = the value that imm millionths of the values in m[key s] do not exceed, 0 when it has none:
 * aggregate_percentile() */
OP(PERCENTILE, "percentile", "d", "ky",  0,                   BUCKETS)
/* m[key s] takes in value a, as its value type says (count() ignores a) */
OP(AGGREGATE, "aggregate", "",   "kA",   0,                   AGGREGATES)

/* send signal a to the process, or to the thread when imm is 1; what fails is FAULT_SIGNAL */
OP(SIGNAL,    "signal",    "",   "ai",   0,                   0)
/* count a fault: imm is an enum of struct run_fault */
OP(FAULT,     "fault",     "",   "F",    0,                   0)
/* write the first imm bytes of the value in s to user memory at a; d = 1, or 0 and FAULT_WRITE */
OP(WRITE,     "write",     "d",  "asz",  WRITABLE,            0)
/* send a record of format imm, its fields from `fields` */
OP(EMIT,      "emit",      "",   "e",    0,                   0)
/* clang-format on */
