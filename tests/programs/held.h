/* What this process holds: for programs that compare it before and after. */
#ifndef NOPAL_TESTS_PROGRAMS_HELD_H
#define NOPAL_TESTS_PROGRAMS_HELD_H

#include <dirent.h>
#include <stdio.h>

static inline int files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static inline long resident_pages(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long size, pages = 0;

	if (fscanf(f, "%ld %ld", &size, &pages) != 2)
		pages = 0;
	fclose(f);
	return pages;
}

#endif
