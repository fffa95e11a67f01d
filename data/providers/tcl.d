/* Tcl 8.5 and later, built with --enable-dtrace. */
provider tcl {
	probe proc__entry(char *name, int objc, void *objv);
	probe proc__return(char *name, int code);
	probe proc__result(char *name, int code, char *result, void *resultobj);
	probe proc__args(char *name, char *a1, char *a2, char *a3, char *a4, char *a5, char *a6, char *a7, char *a8, char *a9);
	probe cmd__entry(char *name, int objc, void *objv);
	probe cmd__return(char *name, int code);
	probe cmd__result(char *name, int code, char *result, void *resultobj);
	probe cmd__args(char *name, char *a1, char *a2, char *a3, char *a4, char *a5, char *a6, char *a7, char *a8, char *a9);
	probe inst__start(char *name, int depth, void *stack);
	probe inst__done(char *name, int depth, void *stack);
	probe obj__create(void *obj);
	probe obj__free(void *obj);
};
