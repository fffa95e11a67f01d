/* Opening: nothing yet. */
#include "debuginfo/debuginfo.h"

#include <errno.h>

int debuginfo_open(const struct image *image, struct str path, struct str root,
		   struct debuginfo **out, struct diag *d)
{
	(void)image, (void)path, (void)root, (void)d;
	*out = NULL;
	return -ENOENT;
}
void debuginfo_close(struct debuginfo *di)
{
	(void)di;
}
int debuginfo_type(struct debuginfo *di, enum ctype_kind kind, struct str name,
		   const struct ctype **out)
{
	(void)di, (void)kind, (void)name, (void)out;
	return -ENOENT;
}
int debuginfo_constant(struct debuginfo *di, struct str name, const struct ctype **out,
		       int64_t *value)
{
	(void)di, (void)name, (void)out, (void)value;
	return -ENOENT;
}
