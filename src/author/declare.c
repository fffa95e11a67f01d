/* The declaration note: names and C types as the provider file has them, and the class and size
 * that these types have on the machine. */
#include "author/declare.h"

#include "provider/meaning.h"

#define NOTE_DECLARED 3
#define SIGNED_BIT    0x80

static void add_text(struct buf *note, struct str text)
{
	buf_str(note, text);
	buf_char(note, '\0');
}

/* provider NUL name NUL count, then class, size, name NUL, type NUL for each argument */
void declare_probe(const struct provider_probe *probe, const struct elf_machine *m,
		   struct buf *notes)
{
	struct buf note = BUF_INIT;

	add_text(&note, probe->provider->name);
	add_text(&note, probe->name);
	buf_char(&note, (char)probe->arg_count);
	for (const struct carg *arg = probe->args; arg; arg = arg->next) {
		struct meaning is = meaning_of(arg->type, m->machine, m->word);

		buf_char(&note, (char)((unsigned)is.type_class | (is.is_signed ? SIGNED_BIT : 0)));
		buf_char(&note, (char)is.size);
		add_text(&note, arg->name);
		ctype_print(&note, arg->type, STR(""));
		buf_char(&note, '\0');
	}
	elf_add_note(notes, m, STR("nopal"), NOTE_DECLARED, buf_as_str(&note));
	notes->failed |= note.failed;
	buf_free(&note);
}
