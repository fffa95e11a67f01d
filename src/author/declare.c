/* The declaration note: names and C types as the provider file has them, and the class and size
 * that these types have on the machine. */
#include "author/declare.h"

#include "probe/type_class.h"

#define NOTE_DECLARED 3

static void add_text(struct buf *note, struct str text)
{
	buf_str(note, text);
	buf_char(note, '\0');
}

/* provider NUL name NUL count, then class, size, name NUL, type NUL for each argument */
void declare_probe(const struct provider_probe *probe, const struct elf_machine *m,
		   struct buf *notes)
{
	const struct ctype_machine machine = ctype_machine_of(m->machine, m->word);
	struct buf note = BUF_INIT;

	add_text(&note, probe->provider->name);
	add_text(&note, probe->name);
	buf_char(&note, (char)probe->arg_count);
	for (const struct ctype_param *arg = probe->args; arg; arg = arg->next) {
		struct type_class is = type_class_of(arg->type, &machine);

		buf_char(&note, (char)is.type_class);
		buf_char(&note, (char)is.size);
		add_text(&note, arg->name);
		ctype_print(&note, arg->type, STR(""));
		buf_char(&note, '\0');
	}
	elf_add_note(notes, m, STR("nopal"), NOTE_DECLARED, buf_as_str(&note));
	notes->failed |= note.failed;
	buf_free(&note);
}
