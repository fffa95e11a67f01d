/* CPython 3.6 and later, built with --with-dtrace; its Include/pydtrace.d has no names. */
provider python {
	probe function__entry(const char *filename, const char *funcname, int lineno);
	probe function__return(const char *filename, const char *funcname, int lineno);
	probe line(const char *filename, const char *funcname, int lineno);
	probe gc__start(int generation);
	probe gc__done(long collected);
	/* 3.7 and later. */
	probe import__find__load__start(const char *modulename);
	probe import__find__load__done(const char *modulename, int found);
	/* 3.8 and later. */
	probe audit(const char *event, void *tuple);
	/* 3.6: instances; gone in 3.8. */
	probe instance__new__start(const char *classname, const char *filename);
	probe instance__new__done(const char *classname, const char *filename);
	probe instance__delete__start(const char *classname, const char *filename);
	probe instance__delete__done(const char *classname, const char *filename);
};
