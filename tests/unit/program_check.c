/* The checker: what it refuses, and that it does so in one pass. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "help/program_text.h"

#include "program/record.h"

/* Programs and what the checker says of them; NULL: fine. Each runs behind `head`. */
static const char head[] = "map m0 \"@\" none -> count, 1 entries\n"
			   "map m1 \"@k\" string[16] -> int64, 9 entries\n"
			   "map m2 \"@s\" int64 -> string[16], 9 entries\n"
			   "map m3 \"@h\" int64 -> hist(0), 9 entries\n"
			   "map m4 \"@a\" none -> max(int64), 1 entries\n"
			   "literal 0 \"sixteen bytes ..\"\n"
			   "literal 1 \"seventeen bytes..\"\n"
			   "format 0 printf \"%d\" (int64)\n"
			   "format 1 printf \"%s\" (string[16])\n"
			   "clause 0: 4 registers\n"
			   "begin name 0 func 0\n"
			   "s0 string[16]\n"
			   "s1 int64\n"
			   "s2 (int64,string[16],usym)\n"
			   "s3 string[24]\n"
			   "s4 buffer[16]\n";

static const struct {
	const char *code, *error;
} check_rows[] = {
	{"return", NULL},
	{"", "clause 0, instruction 0 (?): the last is not a return"},
	{"r0 = const 1", "instruction 0 (const): the last is not a return"},
	/* Ranges. */
	{"r4 = const 1\nreturn", "clause 0, instruction 0 (const): there is no register r4"},
	{"- = const 1\nreturn", "there is no register r65535"},
	{"s9 = zero\nreturn", "there is no slot s9"},
	{"r0 = map_get m9\nreturn", "there is no map m9"},
	{"s0 = text 2\nreturn", "there is no literal 2"},
	{"s0 = text 1\nreturn", "literal 1 is too long for s0"},
	{"s0 = text 0\nreturn", NULL},
	{"emit 7()\nreturn", "there is no format 7"},
	{"emit 0()\nreturn", "0 fields, but format 0 has 1"},
	{"r0 = const 1\nr0 = zext r0, 8\nreturn", "8 is not 1, 2 or 4 bytes"},
	{"r0 = const 1\nr0 = f2i r0, 2\nreturn", "2 is not 4 or 8 bytes"},
	{"r0 = const 1\nr0 = load r0, u24\nreturn", "size 3"},
	{"r0 = arg 0\nreturn", "attachment 0 has no user registers"},
	{"r0 = reg 0\nreturn", "attachment 0 has no user registers"},
	{"r0 = field 8, u32\nreturn", "attachment 0 is not a tracepoint"},
	/* Types. */
	{"s1 = comm\nreturn", "slot s1 has the wrong type"},
	{"s0 = ustack\nreturn", "slot s0 has the wrong type"},
	{"r0 = const 1\ns0 = buf r0, r0\nreturn", "slot s0 has the wrong type"},
	{"r0 = const 1\ns4 = buf r0, r0\nreturn", NULL},
	{"r0 = const 1\ns1[0] = put r0\nr1 = get s1[0]\nreturn", NULL},
	{"r0 = const 1\ns1[4] = put r0\nreturn", "s1 has no word at 4"},
	{"r0 = const 1\ns1[8] = put r0\nreturn", "s1 has no word at 8"},
	{"r0 = const 1\ns1[-8] = put r0\nreturn", "s1 has no word at -8"},
	{"r0 = const 1\ns0[8] = put r0\nreturn", "8 bytes into s0 is not a number of its own"},
	{"r0 = const 1\ns2[40] = put r0\nreturn", NULL},
	{"s0 = comm\ns2[8] = copy s0\nreturn", NULL},
	{"s3 = comm\ns2[8] = copy s3\nreturn", "s3 does not fit into s2 at 8"},
	{"s0 = comm\ns2[0] = copy s0\nreturn", "s0 does not fit into s2 at 0"},
	{"s2 = zero\ns0 = part s2[8]\ns1 = part s2[0]\ns2 = part s2[0]\nreturn", NULL},
	{"s2 = zero\ns1 = part s2[32]\nreturn", "s1 does not fit into s2 at 32"},
	{"s0 = comm\ns3 = comm\nr0 = strcmp s0, s3, 4\nreturn", NULL},
	/* Maps. */
	{"s0 = comm\nr0 = map_get m1[s0]\nr0 = map_has m1[s0]\nmap_del m1[s0]\nreturn", NULL},
	{"s3 = comm\nr0 = map_get m1[s3]\nreturn", "s3 is not a key of map m1"},
	{"r0 = map_get m1\nreturn", "map m1 needs a key"},
	{"s0 = comm\nr0 = map_get m0[s0]\nreturn", "map m0 has no key"},
	{"s1 = zero\nr0 = map_get m2[s1]\nreturn", "map m2 has values of another kind"},
	{"s1 = zero\nr0 = map_get m3[s1]\nreturn", "map m3 has values of another kind"},
	{"s1 = zero\ns0 = map_copy m2[s1]\nmap_put m2[s1], s0\nreturn", NULL},
	{"s1 = zero\ns3 = map_copy m2[s1]\nreturn", "s3 is not a value of map m2"},
	{"r0 = map_get m4\nreturn", NULL},
	{"aggregate m0, -\nreturn", NULL},
	{"aggregate m4, -\nreturn", "no value to take in"},
	{"r0 = const 1\nmap_set m0, r0\nreturn", "map m0 has values of another kind"},
	{"r0 = const 1\ns0 = comm\n- = map_add m1[s0], r0\nr1 = map_add m1[s0], r0\nreturn", NULL},
	{"r0 = const 1\nr0 = map_add m4, r0\nreturn", "map m4 has values of another kind"},
	/* Records. */
	{"r0 = const 1\nemit 0(r0)\ns0 = comm\nemit 1(s0)\nreturn", NULL},
	{"s1 = zero\nemit 0(s1)\nreturn", "field 0 should be a register"},
	{"r0 = const 1\nemit 1(r0)\nreturn", "field 0 should be a slot"},
	{"s3 = comm\nemit 1(s3)\nreturn", "field 0: s3 is of another type than the format says"},
	{"emit 1(s9)\nreturn", "field 0: s9 is of another type than the format says"},
	{"emit 0(r9)\nreturn", "there is no register r9"},
	{"emit 0(-)\nreturn", "field 0 is neither a register nor a slot"},
	/* Jumps and loops. */
	{"jump 0\nreturn", "jumps to 0, which is not forward"},
	{"jump 2\nreturn", "jumps to 2, which is not forward"},
	{"jump 1\nreturn", NULL},
	{"loop 3, 2\nnext 0\nreturn", NULL},
	{"loop 0, 2\nnext 0\nreturn", "0 is not rounds"},
	{"loop 16777217, 2\nnext 0\nreturn", "16777217 is not rounds"},
	{"loop 3, 3\nnext 0\nr0 = const 1\nreturn", "instruction 0 (loop): the loop ends at 3"},
	{"loop 3, 1\nnext 0\nreturn", "the loop does not end within the enclosing loop"},
	{"loop 3, 9\nnext 0\nreturn", "the loop does not end within the enclosing loop"},
	{"next 0\nreturn", "not at the end of a loop"},
	{"loop 3, 5\nloop 3, 4\nr0 = const 1\nnext 1\nnext 0\nreturn", NULL},
	{"loop 3, 4\nloop 3, 5\nr0 = const 1\nnext 0\nnext 1\nreturn",
	 "the loop does not end within the enclosing loop"},
	{"loop 5000, 4\nloop 5000, 3\nnext 1\nnext 0\nreturn", "of 25000000 rounds are too long"},
	{"r0 = const 1\njump_if r0, 3\nloop 3, 5\nr1 = const 1\nnext 2\nreturn",
	 "instruction 1 (jump_if): jumps into a loop, to 3"},
	{"r0 = const 1\nloop 3, 5\njump_if r0, 5\njump_not r0, 4\nnext 1\nreturn", NULL},
	/* Written before read. */
	{"r0 = mov r1\nreturn", "instruction 0 (mov): r1 is read but not written on every path"},
	{"r0 = const 0\njump_if r0, 3\nr1 = const 1\nr2 = mov r1\nreturn",
	 "instruction 3 (mov): r1 is read but not written"},
	{"r0 = const 0\njump_if r0, 4\nr1 = const 1\njump 5\nr1 = const 2\nr2 = mov r1\nreturn",
	 NULL},
	{"loop 2, 3\nr0 = const 1\nnext 0\nr1 = mov r0\nreturn", NULL},
	{"r1 = const 1\nloop 2, 5\njump_if r1, 5\nr0 = const 1\nnext 1\nr2 = mov r0\nreturn",
	 "instruction 5 (mov): r0 is read but not written"},
	{"return\nr0 = mov r1\nreturn", NULL},
	{"emit 1(s0)\nreturn", "s0 is read but not completely written on every path"},
	{"r0 = map_get m1[s0]\nreturn", "s0 is read but not completely written"},
	{"r0 = const 1\ns2[0] = put r0\ns0 = part s2[8]\nreturn",
	 "s2 is read but not completely written"},
	{"r0 = const 1\ns2[0] = put r0\ns1 = part s2[0]\nr1 = get s2[0]\nreturn", NULL},
	{"r0 = const 1\ns2[0] = put r0\ns2[32] = put r0\ns2[40] = put r0\ns0 = comm\n"
	 "s2[8] = copy s0\ns2[0] = copy s2\nreturn",
	 NULL},
	{"r0 = const 1\ns2[0] = put r0\ns2[32] = put r0\ns0 = comm\ns2[8] = copy s0\n"
	 "s2[0] = copy s2\nreturn",
	 "s2 is read but not completely written"},
};

static void expect_verdict(const char *text, const char *error)
{
	struct test_program t = {0};
	struct diag d = DIAG_INIT;
	int err;

	program_read(&t, text);
	err = program_check(&t.program, &d);
	if (!error && err)
		fail_msg("refused: %.*s\n%s", STR_FMT(d.first->text), text);
	if (error && (!err || !d.first))
		fail_msg("accepted, but should be: %s\n%s", error, text);
	if (error) {
		assert_int_equal(err, -EINVAL);
		assert_string_equal(d.first->tag, "bad-program");
		if (!strstr(d.first->text.ptr, error))
			fail_msg("'%s' instead of '%s' for\n%s", d.first->text.ptr, error, text);
	}
	diag_free(&d);
	program_unread(&t);
}

static void check_holds_the_rules_of_code(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(check_rows); i++) {
		char text[sizeof(head) + 512];

		snprintf(text, sizeof(text), "%s%s\n", head, check_rows[i].code);
		expect_verdict(text, check_rows[i].error);
	}
}

/* s0 is three tuples of 33 numbers, s1 one of them. */
static const struct {
	const char *code, *error;
} many_rows[] = {
	{"s0[264] = copy s1\ns1 = part s0[264]", NULL},
	{"s0[264] = copy s1\nr0 = get s0[504]\nr0 = get s0[512]\nr0 = get s0[520]", NULL},
	{"s0[264] = copy s1\nr0 = get s0[256]", "s0 is read but not completely written"},
	{"s0[264] = copy s1\nr0 = get s0[528]", "s0 is read but not completely written"},
	{"s0[504] = put r0\nr0 = get s0[512]", "s0 is read but not completely written"},
	{"s0[0] = copy s1\ns1 = part s0[264]", "s0 is read but not completely written"},
	{"s0[528] = copy s1\ns1 = part s0[264]", "s0 is read but not completely written"},
	{"s0[0] = copy s1\ns0[264] = copy s1\ns0[0] = copy s0",
	 "s0 is read but not completely written"},
	{"s0[0] = copy s1\ns0[264] = copy s1\ns0[528] = copy s1\ns0[0] = copy s0", NULL},
};

static void each_number_of_many_is_written_before_it_is_read(void **state)
{
	char tuple[8 * 33 + 2] = "(int64";

	(void)state;
	for (unsigned i = 1; i < 33; i++)
		strcat(tuple, ",int64");
	strcat(tuple, ")");
	for (size_t i = 0; i < COUNT(many_rows); i++) {
		char text[sizeof(tuple) * 4 + 256];

		snprintf(text, sizeof(text),
			 "clause 0: 1 registers\nbegin name 0 func 0\ns0 (%s,%s,%s)\ns1 %s\n"
			 "r0 = const 1\ns1 = zero\n%s\nreturn\n",
			 tuple, tuple, tuple, tuple, many_rows[i].code);
		expect_verdict(text, many_rows[i].error);
	}
}

/* Pieces of a printf format with one field: what no parser makes is refused. */
static void pieces_show_the_fields(void **state)
{
	static const struct {
		struct piece pieces[2];
		bool fine;
	} rows[] = {
		{{{.letter = 'd', .precision = -1}, {.text = STR("%n")}}, true},
		{{{.letter = 'n', .precision = -1}}, false},
		{{{.letter = PIECE_BAD, .precision = -1}}, false},
		{{{.letter = 'd', .precision = -2}}, false},
		{{{.letter = 'd', .width = PIECE_MAX_WIDTH + 1}}, false},
		{{{.letter = 'd', .length = 3}}, false},
		{{{.letter = 'd', .field = 1}}, false},
		{{{.letter = 'd'}, {.letter = 'd', .field = 1}}, false},
		{{{.letter = 'd'}, {.letter = 'd', .field = 0}}, false},
	};
	static const struct type field = {.kind = TYPE_INT, .size = 8};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct format f = {.kind = FORMAT_PRINTF,
					 .pieces = rows[i].pieces,
					 .piece_count = 2,
					 .fields = &field,
					 .field_count = 1};
		const struct program p = {.formats = &f, .format_count = 1};

		assert_int_equal(program_check(&p, NULL), rows[i].fine ? 0 : -EINVAL);
	}
}

/* Whole programs: maps, formats, attachments. */
static const struct {
	const char *text, *error;
} program_rows[] = {
	{"", NULL},
	{"map m0 \"@\" none -> int64, 2 entries", "map 0 has no key but 2 entries"},
	{"map m0 \"@\" int64 -> int64, 0 entries", "map 0 has a limit of 0 entries"},
	{"map m0 \"@\" count -> int64, 1 entries", "key of map 0: type 'count' is not one"},
	{"map m0 \"@\" int64 -> none, 1 entries", "value of map 0: type 'none' is not one"},
	{"map m0 \"@\" int64 -> hist(7), 1 entries", "type 'hist(7)' is not one of a value"},
	{"map m0 \"@\" int64 -> lhist(0,1001,1), 1 entries", "type 'lhist(0,1001,1)' is not"},
	{"map m0 \"@\" int64 -> lhist(0,999,1), 1 entries", NULL},
	{"map m0 \"@\" int64 -> lhist(1,0,1), 1 entries", "type 'lhist(1,0,1)' is not one"},
	{"map m0 \"@\" int24 -> count, 1 entries", "type 'int24' is not one of a value"},
	{"map m0 \"@\" string[12] -> count, 1 entries", "type 'string[12]' is not one of a"},
	{"map m0 \"@\" string[65544] -> count, 1 entries", "or too large"},
	{"map m0 \"@\" () -> count, 1 entries", "type '(...)' is not one of a value"},
	{"map m0 \"@\" (int8,count) -> count, 1 entries", "type '(...)' is not one of a value"},
	{"map m0 \"@\" (string[65536],string[65536],string[65536],string[65536]) -> count, 1 "
	 "entries",
	 "or too large"},
	{"map m0 \"@\" (((((((((int8))))))))) -> count, 1 entries", "type '(...)'"},
	{"format 0 value \"\" ()", "format 0: a value is one field, not 0"},
	{"format 0 clear \"\" () m0", "format 0: there is no map 0"},
	{"format 0 join \" \" (string[8], int64)", "format 0: join takes strings only"},
	{"format 0 nonsense \"\" ()", "format 0 is of unknown kind"},
	{"map m0 \"@\" int64 -> string[8], 4 entries\nformat 0 map_value \"\" (int32, string[8]) "
	 "m0",
	 NULL},
	{"map m0 \"@\" int64 -> string[8], 4 entries\nformat 0 map_value \"\" (string[8]) m0",
	 "format 0: its first field is not a key of map 0"},
	{"map m0 \"@\" int64 -> string[8], 4 entries\nformat 0 map_value \"\" () m0",
	 "format 0: 0 fields are not a key and value of map 0"},
	{"clause 0: 1 registers\nbegin name 1 func 0\nreturn", "attachment 0 has an unknown name"},
	{"clause 0: 1 registers\ninterval 0 name 0 func 0\nreturn", "attachment 0 has no period"},
	{"clause 0: 1 registers\ntracepoint \"x\" name 0 func 0\nreturn",
	 "attachment 0 names no tracepoint"},
	{"clause 0: 1 registers\nuprobe \"\" 0 name 0 func 0\nreturn", "attachment 0 has no file"},
	{"clause 0: 1 registers\nuprobe \"x\" 0 name 0 func 0 args \"4@%1\"\nr0 = arg 0\nreturn",
	 NULL},
	{"clause 0: 1 registers\nuprobe \"x\" 0 name 0 func 0 args \"4@%1\"\nr0 = arg 1\nreturn",
	 "attachment 0 has no argument 1"},
	{"clause 0: 1 registers\nuprobe \"x\" 0 name 0 func 0 args \"4@%1\"\n"
	 "uprobe \"x\" 0 name 0 func 0\nr0 = arg 0\nreturn",
	 "attachment 1 has no argument 0"},
	{"clause 0: 1 registers\nuprobe \"x\" 0 name 0 func 0 args \"4@?\"\nr0 = arg 0\nreturn",
	 "argument 0 of attachment 0 cannot be read"},
	{"clause 0: 1 registers\nuprobe \"x\" 0 name 0 func 0 args \"16@%1\"\nr0 = arg 0\nreturn",
	 "argument 0 of attachment 0 cannot be read"},
	{"clause 0: 1 registers\nuprobe \"x\" 0 name 0 func 0\nr0 = reg 15\nr0 = reg 17\nreturn",
	 NULL},
	{"clause 0: 1 registers\nuprobe \"x\" 0 name 0 func 0\nr0 = reg 18\nreturn",
	 "attachment 0 has no register 18"},
	{"clause 0: 1 registers\ntracepoint \"a:b\" name 0 func 0\nr0 = field 70000, u8\nreturn",
	 "70000 is not an offset in a tracepoint"},
};

static void check_holds_the_rules_of_programs(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(program_rows); i++)
		expect_verdict(program_rows[i].text, program_rows[i].error);
}

/* The rows above write a name; which number is the first without one changes with each new kind. */
static void an_unknown_format_is_told_by_its_number(void **state)
{
	const struct format f = {.kind = 99};
	const struct program p = {.formats = &f, .format_count = 1};
	struct diag d = DIAG_INIT;

	(void)state;
	assert_int_equal(program_check(&p, &d), -EINVAL);
	assert_non_null(strstr(d.first->text.ptr, "format 0 is of unknown kind 99"));
	diag_free(&d);
}

/* A long program is checked in one pass: 100,000 forward jumps to the end, and as many loops. */
static void check_is_linear(void **state)
{
	enum { N = 100000 };
	struct insn *code = calloc(2 * N + 1, sizeof(*code));
	struct clause c = {.code = code, .insn_count = 2 * N + 1, .reg_count = 2};
	struct program p = {.clauses = &c, .clause_count = 1};
	struct diag d = DIAG_INIT;

	(void)state;
	for (uint32_t i = 0; i < N; i++) {
		code[i] = (struct insn){.op = OP_CONST, .d = 1, .imm = 1};
		if (i % 3)
			code[i] = (struct insn){.op = OP_JUMP_IF, .a = 1, .imm = 2 * N};
	}
	for (uint32_t i = N; i < 2 * N; i += 2) {
		code[i] = (struct insn){.op = OP_LOOP, .imm = 2, .target = i + 2};
		code[i + 1] = (struct insn){.op = OP_NEXT, .target = i};
	}
	code[2 * N] = (struct insn){.op = OP_RETURN};
	assert_int_equal(program_check(&p, &d), 0);
	diag_free(&d);
	free(code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check_holds_the_rules_of_code),
		cmocka_unit_test(each_number_of_many_is_written_before_it_is_read),
		cmocka_unit_test(pieces_show_the_fields),
		cmocka_unit_test(check_holds_the_rules_of_programs),
		cmocka_unit_test(an_unknown_format_is_told_by_its_number),
		cmocka_unit_test(check_is_linear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
