/*
 * Written in the manner of Perl: one probe to a line, comments at both ends.
 */
provider camel { /* the brace and a comment on one line */
	/* name of the subroutine, file, line, package */
	probe sub__entry(const char *, const char *, int, const char *);	/* entered */
	probe sub__return(const char *, const char *, int, const char *);	// left
	probe phase__change(const char *, const char *);
	probe op__entry(const char *);
	probe loading__file(const char *); probe loaded__file(const char *);
};

/* no pragma at all */
