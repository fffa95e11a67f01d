/* Declarations of C in scripts: read of any input, and what they declare held against itself: each
 * member lies inside its struct, at an offset that its name finds again. */
#include <stdint.h>
#include <stdlib.h>

#include "cparse/scope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_type(const struct c_scope *s, const struct ctype *t)
{
	struct buf text = BUF_INIT;
	struct ctype_member found;
	int64_t value;

	if (ctype_layout(t, &s->machine).size && t->align && t->size % t->align)
		abort();
	for (unsigned i = 0; i < t->member_count; i++) {
		const struct ctype_member *m = &t->members[i];
		uint64_t bytes = ctype_layout(m->type, &s->machine).size;

		if (m->offset > t->size || (!m->bit_width && bytes > t->size - m->offset))
			abort();
		if (m->bit_width && m->bit_offset + m->bit_width > bytes * 8)
			abort();
		if (m->name.len && !ctype_member(t, m->name, &found))
			abort();
	}
	for (unsigned i = 0; i < t->constant_count; i++)
		if (!ctype_constant(t, t->constants[i].name, &value))
			abort();
	ctype_print_definition(&text, t);
	buf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct c_scope empty;
	struct str text = str_of((const char *)data, size);
	struct arena arena = ARENA_INIT;
	struct c_scope scope = empty;
	struct buf messages = BUF_INIT;
	struct diag diag = DIAG_INIT;
	size_t at = 0, before;
	int err = 0;

	scope.arena = &arena;
	scope.machine = ctype_machine_of(62, 8); /* EM_X86_64 */
	do {
		before = at;
		err = c_scope_read(&scope, STR("f.bt"), text, &at, &diag);
		if (at > size || (err && !diag.errors))
			abort();
	} while (!err && at > before && at < size);
	for (size_t i = 0; i < C_SCOPE_BUCKETS; i++)
		for (const struct c_name *n = scope.names[i]; n; n = n->next)
			if (n->kind != CTYPE_INTEGER && n->kind != CTYPE_NAMED)
				check_type(&scope, n->type);
	diag_render(&diag, &messages);
	buf_free(&messages);
	diag_free(&diag);
	arena_free(&arena);
	return 0;
}
