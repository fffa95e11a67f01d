/* split_cases FILE DIR: a case file for shell scripts. Each case becomes a directory DIR/N, N from
 * 1, with its name in the file `name` and the text of each key in a file of the key's name; fields
 * of the same key follow one another. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "help/casefile.h"

static void die(const char *what, const char *about)
{
	fprintf(stderr, "split_cases: %s: %s\n", about, what);
	exit(1);
}

static void append(const char *dir, struct str name, struct str text)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%.*s", dir, STR_FMT(name));
	f = fopen(path, "a");
	if (!f || fwrite(text.ptr, 1, text.len, f) != text.len || fclose(f))
		die(strerror(errno), path);
}

static void write_case(const char *dir, const struct test_case *t)
{
	if (mkdir(dir, 0777))
		die(strerror(errno), dir);
	append(dir, STR("name"), str_from(t->name));
	for (size_t i = 0; i < t->field_count; i++)
		append(dir, t->fields[i].key, t->fields[i].text);
}

int main(int argc, char **argv)
{
	struct buf why = BUF_INIT;
	struct case_file f;

	if (argc != 3)
		die("usage: split_cases FILE DIR", "two arguments are needed");
	if (case_file_open(argv[1], NULL, &f, &why)) {
		fputs(why.ptr, stderr);
		return 1;
	}
	for (size_t i = 0; i < f.count; i++) {
		char dir[4096];

		snprintf(dir, sizeof(dir), "%s/%zu", argv[2], i + 1);
		write_case(dir, &f.cases[i]);
	}
	case_file_close(&f);
	return 0;
}
