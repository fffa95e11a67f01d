/* Tcl 8.5 and later, built with --enable-dtrace: tclDTrace.d of 8.6. a1 to a9 are its arg1 to arg9. */
provider tcl {
	probe proc__entry(const char *name, int objc, struct Tcl_Obj **objv);
	probe proc__return(const char *name, int code);
	probe proc__result(const char *name, int code, const char *result, struct Tcl_Obj *resultobj);
	probe proc__args(const char *name, const char *a1, const char *a2, const char *a3, const char *a4, const char *a5, const char *a6, const char *a7, const char *a8, const char *a9);
	probe proc__info(const char *cmd, const char *type, const char *proc, const char *file, int line, int level, const char *method, const char *class);
	probe cmd__entry(const char *name, int objc, struct Tcl_Obj **objv);
	probe cmd__return(const char *name, int code);
	probe cmd__result(const char *name, int code, const char *result, struct Tcl_Obj *resultobj);
	probe cmd__args(const char *name, const char *a1, const char *a2, const char *a3, const char *a4, const char *a5, const char *a6, const char *a7, const char *a8, const char *a9);
	probe cmd__info(const char *cmd, const char *type, const char *proc, const char *file, int line, int level, const char *method, const char *class);
	probe inst__start(const char *name, int depth, struct Tcl_Obj **stack);
	probe inst__done(const char *name, int depth, struct Tcl_Obj **stack);
	probe obj__create(struct Tcl_Obj *obj);
	probe obj__free(struct Tcl_Obj *obj);
	probe tcl__probe(const char *a0, const char *a1, const char *a2, const char *a3, const char *a4, const char *a5, const char *a6, const char *a7, const char *a8, const char *a9);
};
