/* The interpreter engine, one operation after the other. The rows hold for every engine. */
#include <stdio.h>

#include "help/interp.h"

/* Numbers: r0 and r1 are set, `op` makes r2. */
static const struct {
	uint64_t a, b;
	const char *op;
	int64_t want;
} number_rows[] = {
	{7, 9, "r2 = const -5", -5},
	{7, 9, "r2 = mov r1", 9},
	{INT64_MAX, 1, "r2 = add r0, r1", INT64_MIN},
	{0, 1, "r2 = sub r0, r1", -1},
	{1ull << 63, 2, "r2 = mul r0, r1", 0},
	{(uint64_t)-10, 3, "r2 = udiv r0, r1", 6148914691236517202},
	{(uint64_t)-10, 3, "r2 = sdiv r0, r1", -3},
	{10, 0, "r2 = udiv r0, r1", 1},
	{10, 0, "r2 = sdiv r0, r1", 1},
	{(uint64_t)INT64_MIN, (uint64_t)-1, "r2 = sdiv r0, r1", INT64_MIN},
	{(uint64_t)INT64_MIN, (uint64_t)-1, "r2 = smod r0, r1", 0},
	{(uint64_t)INT64_MIN, (uint64_t)-1, "r2 = udiv r0, r1", 0},
	{(uint64_t)-10, 3, "r2 = umod r0, r1", 0},
	{(uint64_t)-10, 3, "r2 = smod r0, r1", -1},
	{10, (uint64_t)-3, "r2 = smod r0, r1", 1},
	{10, 0, "r2 = umod r0, r1", 1},
	{10, 0, "r2 = smod r0, r1", 1},
	{12, 10, "r2 = and r0, r1", 8},
	{12, 10, "r2 = or r0, r1", 14},
	{12, 10, "r2 = xor r0, r1", 6},
	{1, 63, "r2 = shl r0, r1", INT64_MIN},
	{1, 64, "r2 = shl r0, r1", 1},
	{1, 65, "r2 = shl r0, r1", 2},
	{1, (uint64_t)-1, "r2 = shl r0, r1", INT64_MIN},
	{(uint64_t)-1, 63, "r2 = shr r0, r1", 1},
	{(uint64_t)-1, 64, "r2 = shr r0, r1", -1},
	{(uint64_t)INT64_MIN, 63, "r2 = sar r0, r1", -1},
	{(uint64_t)INT64_MIN, 64, "r2 = sar r0, r1", INT64_MIN},
	{(uint64_t)INT64_MIN, 0, "r2 = neg r0", INT64_MIN},
	{5, 0, "r2 = neg r0", -5},
	{5, 0, "r2 = not r0", -6},
	{5, 5, "r2 = eq r0, r1", 1},
	{5, 6, "r2 = eq r0, r1", 0},
	{5, 5, "r2 = ne r0, r1", 0},
	{(uint64_t)-1, 1, "r2 = ult r0, r1", 0},
	{(uint64_t)-1, 1, "r2 = slt r0, r1", 1},
	{1, 1, "r2 = ult r0, r1", 0},
	{1, 1, "r2 = ule r0, r1", 1},
	{1, 1, "r2 = slt r0, r1", 0},
	{1, 1, "r2 = sle r0, r1", 1},
	{1, (uint64_t)-1, "r2 = ule r0, r1", 1},
	{1, (uint64_t)-1, "r2 = sle r0, r1", 0},
	{0x1ff, 0, "r2 = zext r0, 1", 255},
	{0x1ff, 0, "r2 = sext r0, 1", -1},
	{0x18000, 0, "r2 = zext r0, 2", 0x8000},
	{0x18000, 0, "r2 = sext r0, 2", -0x8000},
	{0x1ffffffff, 0, "r2 = zext r0, 4", 0xffffffff},
	{0x17fffffff, 0, "r2 = sext r0, 4", 0x7fffffff},
	{0x3ff8000000000000, 0, "r2 = f2i r0, 8", 1},	      /* 1.5 */
	{0xbfefffffffffffff, 0, "r2 = f2i r0, 8", 0},	      /* -0.99... */
	{0x8000000000000000, 0, "r2 = f2i r0, 8", 0},	      /* -0.0 */
	{0x0000000000000001, 0, "r2 = f2i r0, 8", 0},	      /* the smallest */
	{0xc00c000000000000, 0, "r2 = f2i r0, 8", -3},	      /* -3.5 */
	{0x43e0000000000000, 0, "r2 = f2i r0, 8", INT64_MIN}, /* 2^63 */
	{0x43dfffffffffffff, 0, "r2 = f2i r0, 8", 0x7ffffffffffffc00},
	{0xc3e0000000000000, 0, "r2 = f2i r0, 8", INT64_MIN}, /* -2^63, exactly */
	{0xc3e0000000000001, 0, "r2 = f2i r0, 8", INT64_MIN},
	{0x7ff0000000000000, 0, "r2 = f2i r0, 8", INT64_MIN},	     /* inf */
	{0xfff0000000000000, 0, "r2 = f2i r0, 8", INT64_MIN},	     /* -inf */
	{0x7ff8000000000000, 0, "r2 = f2i r0, 8", INT64_MIN},	     /* nan */
	{0x4340000000000001, 0, "r2 = f2i r0, 8", 9007199254740994}, /* 2^53 + 2 */
	{0x3fc00000, 0, "r2 = f2i r0, 4", 1},			     /* 1.5f */
	{0xdeadbeef3fc00000, 0, "r2 = f2i r0, 4", 1},
	{0xc0600000, 0, "r2 = f2i r0, 4", -3},
	{0x5f000000, 0, "r2 = f2i r0, 4", INT64_MIN},
	{0x5effffff, 0, "r2 = f2i r0, 4", 0x7fffff8000000000},
	{0xdf000000, 0, "r2 = f2i r0, 4", INT64_MIN},
	{0x7f800000, 0, "r2 = f2i r0, 4", INT64_MIN},
	{0x7fc00000, 0, "r2 = f2i r0, 4", INT64_MIN},
	{0x00000001, 0, "r2 = f2i r0, 4", 0},
};

static bool divides(const char *op)
{
	return strstr(op, "div ") || strstr(op, "mod ");
}

static void numbers(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(number_rows); i++) {
		char text[300], want[30];

		snprintf(text, sizeof(text), "r0 = const %lld\nr1 = const %lld\n%s\nemit 0(r2)",
			 (long long)number_rows[i].a, (long long)number_rows[i].b,
			 number_rows[i].op);
		snprintf(want, sizeof(want), "%lld %s", (long long)number_rows[i].want,
			 !number_rows[i].b && divides(number_rows[i].op) ? "!divide@2 " : "");
		run_row("format 0 value \"\" (int64)\nclause 0: 3 registers\nbegin name 0 func 0\n",
			text, want, NULL);
	}
}

/* Code behind this head, and all that comes out. */
static const char head[] =
	"map m0 \"@\" none -> int64, 1 entries\n"
	"map m1 \"@k\" string[8] -> int64, 2 entries\n"
	"map m2 \"@s\" int64 -> string[8], 2 entries\n"
	"map m3 \"@t\" (int64,string[8]) -> count, 9 entries\n"
	"map m4 \"@n\" none -> count, 1 entries\n"
	"literal 0 \"lit\"\nliteral 1 \"\"\nliteral 2 \"12345678\"\n"
	"name 0 \"the place\"\nname 1 \"main\"\n"
	"format 0 value \"\" (int64)\n"
	"format 1 value \"\" (string[8])\n"
	"format 2 printf \"\" (int64, string[8], (int64,string[8]))\n"
	"format 3 value \"\" (ustack[2])\n"
	"format 4 value \"\" (kstack[4])\n"
	"format 5 value \"\" (usym)\n"
	"format 6 exit \"\" ()\n"
	"format 7 value \"\" (buffer[8])\n"
	"clause 0: 4 registers\n"
	"uprobe \"/x\" 0x10 name 0 func 1 args "
	"\"-4@%3\" \"4@%3\" \"1@%4>>8\" \"-1@$200\" \"8@$-3\" \"8@0(1)\" \"2@-2(1,2,0)\" "
	"\"-2@6(1,2,1)\" \"4@0(-)\" \"8f@%4\" \"4@4096(-)\" \"4f@%4\" \"4@-16(17)\" "
	"\"8@-5242880(16,1,0)\" \"-4f@%3\" \"4@%14\" \"4@4096(13)\" \"4@%13\" \"4@4098(14)\"\n"
	"s0 string[8]\ns1 string[8]\ns2 (int64,string[8])\ns3 int64\ns4 ustack[2]\n"
	"s5 kstack[4]\ns6 usym\ns7 buffer[8]\n";

static const struct {
	const char *code, *want;
} rows[] = {
	/* Arguments. */
	{"r0 = arg 0\nemit 0(r0)", "-10 "},
	{"r0 = arg 1\nemit 0(r0)", "4294967286 "},
	{"r0 = arg 2\nemit 0(r0)", "119 "},
	{"r0 = arg 3\nemit 0(r0)", "-56 "},
	{"r0 = arg 4\nemit 0(r0)", "-3 "},
	{"r0 = arg 5\nemit 0(r0)", "7523094288207667809 "}, /* abcdefgh */
	{"r0 = arg 6\nemit 0(r0)", "25185 "},		    /* ab */
	{"r0 = arg 7\nemit 0(r0)", "-1 "},
	{"r0 = arg 8\nemit 0(r0)", "0 !read@0 "},
	{"r0 = arg 9\nemit 0(r0)", "1234605616436508552 "},
	{"r0 = arg 10\nemit 0(r0)", "1684234849 "}, /* abcd */
	{"r0 = arg 11\nemit 0(r0)", "1432778632 "},
	{"r0 = arg 12\nemit 0(r0)", "1696624494 "},	     /* "no e" through the thread pointer */
	{"r0 = arg 13\nemit 0(r0)", "7523094288207667809 "}, /* pc-relative */
	{"r0 = arg 14\nemit 0(r0)", "4294967286 "},
	{"r0 = arg 15\nemit 0(r0)", "0 "},	    /* a register that is always 0 */
	{"r0 = arg 16\nemit 0(r0)", "1684234849 "}, /* a base that means none */
	{"r0 = arg 17\nemit 0(r0)", "99 "},
	{"r0 = arg 18\nemit 0(r0)", "1717920867 "}, /* cdef */
	{"r0 = reg 14\nemit 0(r0)", "0 "},
	{"r0 = reg 4\nemit 0(r0)", "1234605616436508552 "},
	/* Builtins. */
	{"r0 = builtin pid\nemit 0(r0)", "100 "},
	{"r0 = builtin tid\nemit 0(r0)", "101 "},
	{"r0 = builtin uid\nemit 0(r0)", "1 "},
	{"r0 = builtin gid\nemit 0(r0)", "2 "},
	{"r0 = builtin cpu\nemit 0(r0)", "3 "},
	{"r0 = builtin nsecs\nemit 0(r0)", "1000000 "},
	{"r0 = builtin elapsed\nemit 0(r0)", "600000 "},
	{"r0 = builtin boot\nemit 0(r0)", "1000500 "},
	{"r0 = builtin tai\nemit 0(r0)", "8000000 "},
	{"r0 = builtin cgroup\nemit 0(r0)", "77 "},
	{"r0 = builtin rand\nemit 0(r0)", "4275878552 "},
	{"r0 = builtin probe\nemit 0(r0)", "0 "},
	{"r0 = builtin func\nemit 0(r0)", "1 "},
	{"r0 = builtin ip\nemit 0(r0)", "5242880 "},
	{"r0 = builtin ncpus\nemit 0(r0)", "4 "},
	/* Memory. */
	{"r0 = const 0x1000\nr0 = load r0, u8\nemit 0(r0)", "97 "},
	{"r0 = const 0x1009\nr0 = load r0, i8\nemit 0(r0)", "-1 "},
	{"r0 = const 0x1009\nr0 = load r0, u16\nemit 0(r0)", "65535 "},
	{"r0 = const 0x1009\nr0 = load r0, i32\nemit 0(r0)", "-1 "},
	{"r0 = const 0x100e\nr0 = load r0, u32\nemit 0(r0)", "1635057663 "}, /* ff ff t a */
	{"r0 = const 0x1015\nr0 = load r0, u32\nemit 0(r0)", "0 !read@1 "},
	{"r0 = const -1\nr0 = load r0, u64\nemit 0(r0)", "0 !read@1 "},
	/* Text: whole, across areas, NULL, unreadable, cut by the slot, cut by the script. */
	{"r0 = const 0x1002\ns0 = str r0, -\nemit 1(s0)", "cdefgh "},
	{"r0 = const 0x1000\ns0 = str r0, -\nemit 1(s0)", "abcdefgh "},
	{"r0 = const 0x1010\ns0 = str r0, -\nemit 1(s0)", "tail "},
	{"r0 = const 0x100e\ns0 = str r0, -\nemit 1(s0)", "\\xff\\xfftail "},
	{"r0 = const 0x100b\ns0 = str r0, -\nemit 1(s0)", "\\xff\\xff\\xff\\xff\\xfftai+ "},
	{"r0 = const 0\ns0 = str r0, -\nemit 1(s0)", "NULL "},
	{"r0 = const 5\ns0 = str r0, -\nemit 1(s0)", "? !read@1 "},
	{"r0 = const 0x2000\ns0 = str r0, -\nemit 1(s0)", "? !read@1 "},
	{"r0 = const 0x2000\nr1 = const 4\ns0 = str r0, r1\nemit 1(s0)", "no e "},
	{"r0 = const 0x2000\nr1 = const 5\ns0 = str r0, r1\nemit 1(s0)", "no en "},
	{"r0 = const 0x2000\nr1 = const 6\ns0 = str r0, r1\nemit 1(s0)", "no end "},
	{"r0 = const 0x2000\nr1 = const 7\ns0 = str r0, r1\nemit 1(s0)", "? !read@2 "},
	{"r0 = const 5\nr1 = const 0\ns0 = str r0, r1\nemit 1(s0)", " "},
	{"r0 = const 0x100f\nr1 = const 5\ns0 = str r0, r1\nemit 1(s0)", "\\xfftail "},
	{"r0 = const 0x1000\nr1 = const 3\ns0 = str r0, r1\nemit 1(s0)", "abc "},
	{"r0 = const 0x1000\nr1 = const 0\ns0 = str r0, r1\nemit 1(s0)", " "},
	{"r0 = const 0x1000\nr1 = const -1\ns0 = str r0, r1\nemit 1(s0)", "abcdefgh "},
	{"r0 = const 0x1000\ns0 = str r0, -\nr0 = const 0x1010\ns0 = str r0, -\nemit 1(s0)",
	 "tail "},
	{"r0 = const 0x1001\nr1 = const 3\ns7 = buf r0, r1\nemit 7(s7)", "bcd "},
	{"r0 = const 0x1006\nr1 = const 5\ns7 = buf r0, r1\nemit 7(s7)", "gh\\x00\\xff\\xff "},
	{"r0 = const 0x1000\nr1 = const 9\ns7 = buf r0, r1\nemit 7(s7)", "abcdefgh+ "},
	{"r0 = const 0x2000\nr1 = const 7\ns7 = buf r0, r1\nemit 7(s7)", "? !read@2 "},
	{"r0 = const 0\nr1 = const 7\ns7 = buf r0, r1\nemit 7(s7)", "NULL "},
	{"r0 = const 0x5000\nr1 = const 0\ns7 = buf r0, r1\nemit 7(s7)", " "},
	{"s0 = text 0\nemit 1(s0)", "lit "},
	{"s0 = text 2\ns0 = text 1\nemit 1(s0)", " "},
	{"s0 = text 2\nemit 1(s0)", "12345678 "},
	{"s0 = comm\nemit 1(s0)", "worker "},
	{"s4 = ustack\nemit 3(s4)", "5100/4198400,4202496 "},
	{"s5 = kstack\nemit 4(s5)", "0/4198400,4202496 "},
	/* Comparing text. */
	{"s0 = text 0\ns1 = text 0\nr0 = strcmp s0, s1, -1\nemit 0(r0)", "0 "},
	{"s0 = text 0\ns1 = text 2\nr0 = strcmp s0, s1, -1\nemit 0(r0)", "1 "},
	{"s0 = text 0\ns1 = text 2\nr0 = strcmp s0, s1, 0\nemit 0(r0)", "0 "},
	{"s0 = text 0\ns1 = text 1\nr0 = strcmp s0, s1, 1\nemit 0(r0)", "1 "},
	{"r0 = const 0x1000\ns0 = str r0, -\nr1 = const 3\ns1 = str r0, r1\n"
	 "r0 = strcmp s0, s1, 3\nr1 = strcmp s0, s1, 4\nr2 = strcmp s0, s1, -1\n"
	 "emit 0(r0)\nemit 0(r1)\nemit 0(r2)",
	 "0 1 1 "},
	{"r0 = const 0x1000\nr1 = const 3\ns0 = str r0, r1\ns1 = str r0, r1\n"
	 "r0 = strcmp s0, s1, 100\nemit 0(r0)",
	 "0 "},
	/* Slots. */
	{"r0 = const 7\ns0 = text 0\ns2[0] = put r0\ns2[8] = copy s0\nemit 2(r0, s0, s2)",
	 "7 lit (7,lit) "},
	{"r0 = const 7\ns2 = zero\ns2[0] = put r0\nr1 = get s2[0]\ns1 = part s2[8]\nemit 0(r1)\n"
	 "emit 1(s1)",
	 "7  "},
	{"r0 = const 7\ns0 = text 0\ns2[0] = put r0\ns2[8] = copy s0\ns1 = part s2[8]\n"
	 "s3 = part s2[0]\nr1 = get s3[0]\nr2 = get s0[0]\nemit 1(s1)\nemit 0(r1)\nemit 0(r2)",
	 "lit 7 3 "},
	{"r0 = const 10\nr1 = const 11\ns6[0] = put r0\ns6[8] = put r1\nemit 5(s6)", "a@11 "},
	{"s0 = text 0\nr0 = const 1\ns2[0] = put r0\ns2[8] = copy s0\ns2[0] = copy s2\n"
	 "s2 = part s2[0]\nemit 2(r0, s0, s2)",
	 "1 lit (1,lit) "},
	/* Jumps and loops. */
	{"r0 = const 1\njump 3\nr0 = const 2\nemit 0(r0)", "1 "},
	{"r0 = const 1\njump_if r0, 3\nr0 = const 2\nemit 0(r0)", "1 "},
	{"r0 = const 1\njump_not r0, 3\nr0 = const 2\nemit 0(r0)", "2 "},
	{"r0 = const 1\nemit 0(r0)\nreturn\nemit 0(r0)", "1 "},
	{"r0 = const 1\nloop 3, 4\nr0 = add r0, r0\nnext 1\nemit 0(r0)", "8 !loop@3 "},
	{"r0 = const 1\nloop 1, 4\nr0 = add r0, r0\nnext 1\nemit 0(r0)", "2 !loop@3 "},
	{"r0 = const 0\nr1 = const 1\nr2 = const 5\nloop 10, 8\nr3 = eq r0, r2\njump_if r3, 8\n"
	 "r0 = add r0, r1\nnext 3\nemit 0(r0)",
	 "5 "},
	{"r0 = const 0\nr1 = const 1\nloop 3, 7\nloop 4, 6\nr0 = add r0, r1\nnext 3\nnext 2\n"
	 "emit 0(r0)",
	 "12 !loop@5x3 !loop@6 "},
	{"r0 = const 0\nr1 = const 1\nloop 3, 8\nloop 4, 7\nr0 = add r0, r1\njump 7\nnext 3\nnext "
	 "2\n"
	 "emit 0(r0)",
	 "3 !loop@7 "},
	{"r0 = const 0\nr1 = const 1\nloop 3, 8\nloop 4, 7\nr0 = add r0, r1\njump 8\nnext 3\nnext "
	 "2\n"
	 "emit 0(r0)",
	 "1 "},
	{"r0 = const 1\nr1 = const 0\nloop 3, 6\njump_if r0, 5\nr1 = add r1, r0\nnext 2\nemit "
	 "0(r1)",
	 "0 !loop@5 "},
	/* Maps. */
	{"r0 = map_get m0\nr1 = map_has m0\nemit 0(r0)\nemit 0(r1)", "0 0 "},
	{"r0 = const 5\nmap_set m0, r0\nr1 = map_get m0\nr2 = map_has m0\nemit 0(r1)\nemit 0(r2)",
	 "5 1 @=5 "},
	{"r0 = const 0\nmap_set m0, r0\nr2 = map_has m0\nemit 0(r2)", "1 @=0 "},
	{"r0 = const 5\nmap_set m0, r0\nmap_del m0\nr1 = map_has m0\nemit 0(r1)", "0 "},
	{"r0 = const 5\nr1 = map_add m0, r0\n- = map_add m0, r0\nr2 = map_add m0, r0\nemit 0(r1)\n"
	 "emit 0(r2)",
	 "0 10 @=15 "},
	{"r0 = const 5\ns0 = text 0\nmap_set m1[s0], r0\ns0 = text 1\nmap_set m1[s0], r0\n"
	 "s0 = text 2\nmap_set m1[s0], r0\nr1 = map_add m1[s0], r0\nr2 = map_has m1[s0]\n"
	 "emit 0(r1)\nemit 0(r2)",
	 "0 0 @k[lit]=5 @k[]=5 !full@6 !full@7 "},
	{"r0 = const 5\ns0 = text 0\nmap_set m1[s0], r0\ns0 = text 1\nmap_set m1[s0], r0\n"
	 "s0 = text 0\nmap_del m1[s0]\nmap_del m1[s0]\ns0 = text 2\nmap_set m1[s0], r0",
	 "@k[]=5 @k[12345678]=5 "},
	{"r0 = const 5\ns3[0] = put r0\ns0 = text 0\nmap_put m2[s3], s0\ns0 = text 2\n"
	 "s1 = map_copy m2[s3]\nemit 1(s1)\nmap_put m2[s3], s0",
	 "lit @s[5]=12345678 "},
	{"r0 = const 5\ns3[0] = put r0\ns0 = text 0\ns0 = map_copy m2[s3]\nemit 1(s0)", " "},
	{"r0 = const 1\ns2 = zero\naggregate m3[s2], -\ns0 = text 0\ns2[0] = put r0\ns2[8] = copy "
	 "s0\n"
	 "aggregate m3[s2], r0\naggregate m3[s2], r0\nr1 = map_get m3[s2]\nemit 0(r1)",
	 "2 @t[(0,)]=1 @t[(1,lit)]=2 "},
	/* A key with the same text is the same key, whatever the slot held before. */
	{"s0 = text 2\ns0 = text 0\nr0 = const 1\nmap_set m1[s0], r0\ns1 = text 0\n"
	 "- = map_add m1[s1], r0",
	 "@k[lit]=2 "},
	{"emit 6()", "exit "},
};

static void operations(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		run_row(head, rows[i].code, rows[i].want, NULL);
}

/* Aggregates: the value type, the numbers taken in, the value, what map_get gives. */
static const struct {
	const char *type;
	int64_t in[6];
	unsigned count;
	const char *want;
	bool readable;
} aggregate_rows[] = {
	{"count", {5, 6, 7}, 3, "3 @=3 ", true},
	{"sum(int64)", {5, -6}, 2, "-1 @=-1 ", true},
	{"sum(int64)", {INT64_MAX, 1}, 2, "-9223372036854775808 @=-9223372036854775808 ", true},
	{"min(int64)", {5, -6, 7}, 3, "-6 @=-6,1 ", true},
	{"min(uint64)", {5, -6, 7}, 3, "5 @=5,1 ", true},
	{"max(int64)", {5, -6}, 2, "5 @=5,1 ", true},
	{"max(int64)", {-5, -6}, 2, "-5 @=-5,1 ", true},
	{"max(uint64)", {5, -6}, 2, "-6 @=-6,1 ", true},
	{"avg(int64)", {5, -6, -4}, 3, "-1 @=3,-5 ", true},
	{"avg(uint64)", {5, 6}, 2, "5 @=2,11 ", true},
	{"stats(int64)", {5, 6}, 2, "@=2,11 ", false},
	{"hist(0)", {-1, 0, 1, 2, 3, 1024}, 6, "@=0:1 1:1 2:1 3:2 12:1 ", false},
	{"hist(0,unsigned)", {-1, 7}, 2, "@=4:1 65:1 ", false},
	{"hist(2)", {7, 8, 9, 10}, 4, "@=8:1 9:2 10:1 ", false},
	{"lhist(0,10,5)", {-1, 0, 4, 5, 10, 11}, 6, "@=0:1 1:2 2:1 3:2 ", false},
};

static void aggregates(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(aggregate_rows); i++) {
		struct buf prologue = BUF_INIT, code = BUF_INIT;

		buf_printf(&prologue,
			   "map m0 \"@\" none -> %s, 1 entries\nformat 0 value \"\" (int64)\n"
			   "clause 0: 1 registers\nbegin name 0 func 0\n",
			   aggregate_rows[i].type);
		for (unsigned n = 0; n < aggregate_rows[i].count; n++)
			buf_printf(&code, "r0 = const %lld\naggregate m0, r0\n",
				   (long long)aggregate_rows[i].in[n]);
		if (aggregate_rows[i].readable)
			buf_text(&code, "r0 = map_get m0\nemit 0(r0)");
		run_row(prologue.ptr, code.ptr, aggregate_rows[i].want, NULL);
		buf_free(&prologue);
		buf_free(&code);
	}
}

static const struct {
	const char *code, *want;
} event_rows[] = {
	{"r0 = field 0, u8\nemit 0(r0)", "1 "},
	{"r0 = field 3, i8\nemit 0(r0)", "-124 "},
	{"r0 = field 0, i32\nemit 0(r0)", "-2080177663 "},
	{"r0 = field 0, u32\nemit 0(r0)", "2214789633 "},
	{"r0 = field 17, u32\nemit 0(r0)", "0 !read@0 "},
	{"s0 = field_str 4, 8\nemit 1(s0)", "name "},
	{"s0 = field_str 4, 2\nemit 1(s0)", "na "},
	{"s0 = field_str 12, 0\nemit 1(s0)", "text "},
	{"s0 = field_str 16, 0\nemit 1(s0)", "? !read@0 "},
	{"s0 = field_str 19, 0\nemit 1(s0)", "? !read@0 "},
	{"s0 = field_str 16, 9\nemit 1(s0)", "? !read@0 "},
	{"s0 = field_str 0, 4\nemit 1(s0)", "\\x01\\x02\\x03\\x84 "},
	{"s1 = field_str 4, 8\nemit 2(s1)", "name "},
};

static void tracepoint_fields(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(event_rows); i++)
		run_row("format 0 value \"\" (int64)\nformat 1 value \"\" (string[8])\n"
			"format 2 value \"\" (string[16])\nclause 0: 1 registers\n"
			"tracepoint \"a:b\" name 0 func 0\ns0 string[8]\ns1 string[16]\n",
			event_rows[i].code, event_rows[i].want, NULL);
}

/* Addresses of a 32-bit program wrap at 32 bits. */
static void narrow_addresses(void **state)
{
	(void)state;
	run_row("format 0 value \"\" (int64)\nclause 0: 1 registers\n"
		"uprobe \"/x\" 0 name 0 func 0 args \"1@4106(3)\"\n",
		"r0 = arg 0\nemit 0(r0)", "97 ", &test_arch32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),	    cmocka_unit_test(operations),
		cmocka_unit_test(aggregates),	    cmocka_unit_test(tracepoint_fields),
		cmocka_unit_test(narrow_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
