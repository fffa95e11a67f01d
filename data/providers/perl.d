/* Perl 5.10 and later, built with -Dusedtrace: perldtrace.d of 5.36. */
provider perl {
	probe sub__entry(const char *subname, const char *file, int line, const char *package);
	probe sub__return(const char *subname, const char *file, int line, const char *package);
	probe phase__change(const char *new_phase, const char *old_phase);
	probe op__entry(const char *name);
	probe loading__file(const char *path);
	probe loaded__file(const char *path);
};
