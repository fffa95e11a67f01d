/* Ruby 2.0 and later. method__entry and method__return fire only while a TracePoint is enabled since 2.5. */
provider ruby {
	probe method__entry(const char *classname, const char *methodname, const char *filename, int lineno);
	probe method__return(const char *classname, const char *methodname, const char *filename, int lineno);
	probe cmethod__entry(const char *classname, const char *methodname, const char *filename, int lineno);
	probe cmethod__return(const char *classname, const char *methodname, const char *filename, int lineno);
	probe require__entry(const char *rname, const char *filename, int lineno);
	probe require__return(const char *rname, const char *filename, int lineno);
	probe find__require__entry(const char *rname, const char *filename, int lineno);
	probe find__require__return(const char *rname, const char *filename, int lineno);
	probe load__entry(const char *rname, const char *filename, int lineno);
	probe load__return(const char *rname, const char *filename, int lineno);
	probe raise(const char *classname, const char *filename, int lineno);
	probe object__create(const char *classname, const char *filename, int lineno);
	probe array__create(long length, const char *filename, int lineno);
	probe hash__create(long length, const char *filename, int lineno);
	probe string__create(long length, const char *filename, int lineno);
	probe symbol__create(const char *string, const char *filename, int lineno);
	probe parse__begin(const char *sourcefile, int lineno);
	probe parse__end(const char *sourcefile, int lineno);
	probe gc__mark__begin();
	probe gc__mark__end();
	probe gc__sweep__begin();
	probe gc__sweep__end();
	probe method__cache__clear(const char *classname, const char *filename, int lineno);
};
