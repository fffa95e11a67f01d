/* Provider files (.d): which probes a program will have, in the D language's words.
 *
 *     provider tick {
 *             probe word(const char *word, int n);
 *     };
 *
 * Text becomes a tree here. The author module makes headers and objects from it; the catalogue
 * reads from it what the arguments of probes are. */
#ifndef NOPAL_PROVIDER_PROVIDER_H
#define NOPAL_PROVIDER_PROVIDER_H

#include "cparse/scope.h"

/* What every reader of notes can hold. */
#define PROVIDER_MAX_ARGS 12

struct provider_probe {
	struct provider_decl *provider;
	struct str name;  /* "query__start": as in the note */
	struct str macro; /* "MYSQL_QUERY_START" */
	struct ctype_param *args;
	unsigned arg_count;
	struct ctype_param *translated; /* after the colon; NULL when there is no colon */
	struct span at;			/* of the name */
	bool repeated;			/* the same words as an earlier probe: says nothing new */
	struct provider_probe *next;
};

struct provider_decl {
	struct str name;  /* without $target */
	bool per_process; /* written p$target */
	struct span at;
	struct provider_probe *probes, **probes_end;
	struct provider_decl *next;
};

/* #pragma D attributes STABILITY provider NAME WHAT */
struct provider_attributes {
	struct str stability; /* "Evolving/Evolving/Common" */
	struct str provider;
	struct str what; /* provider, module, function, name or args */
	struct span at;
	struct provider_attributes *next;
};

/* Everything that the given files say, in their order. Borrows the texts. */
struct provider_file {
	struct arena arena;
	struct str path; /* of the first one */
	struct provider_decl *providers, **providers_end;
	struct provider_attributes *attributes, **attributes_end;
	struct c_scope typedefs;
	unsigned probe_count;
	bool has_clauses; /* D programs, such as BEGIN {}: not ours to compile */
	bool has_text;	  /* something besides blanks and lines for the preprocessor */
};

void provider_open(struct provider_file *file);
void provider_free(struct provider_file *file);

/* Add what `text` says. 0, -EINVAL after messages, -ENOMEM. */
int provider_parse(struct provider_file *file, struct str path, struct str text, struct diag *d);

#endif
