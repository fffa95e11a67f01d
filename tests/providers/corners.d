/* What else C can declare. */
struct point { int x, y; };
provider corners$target {
	probe pointers(const char *const *const names, char **restrict argv, volatile int *const flag);
	probe widths(signed char a, unsigned b, long int c, unsigned long long int d, _Bool e, double f);
	probe functions(void (*callback)(void *, size_t), int (*table[4])(const char *, ...));
	probe arrays(int matrix[2][3], int (*row)[3], char name[], struct point points[static 2]);
	probe tags(struct point *p, union number *n, enum color c, const struct point *const *q);
	probe by__value(enum color, bool, uintptr_t, ptrdiff_t, ssize_t);
	probe nothing(void);
	probe twelve(int, char, short, long, float, double, void *, char *, size_t, int64_t, uint8_t, int);
};
