/* GLib 2.26 and later, built with -Dsystemtap=true. */
provider glib {
	probe mem__alloc(void *mem, unsigned int n_bytes, unsigned int zeroed, unsigned int failable);
	probe mem__free(void *mem);
	probe mem__realloc(void *mem, void *old_mem, unsigned int n_bytes, unsigned int failable);
	probe slice__alloc(void *mem, unsigned int n_bytes);
	probe slice__free(void *mem, unsigned int n_bytes);
	probe quark__new(char *string, unsigned int quark);
};

provider gobject {
	probe type__new(char *name, unsigned long parent_type, unsigned long type);
	probe object__new(void *object, unsigned long type);
	probe object__ref(void *object, unsigned long type, unsigned int old_refcount);
	probe object__unref(void *object, unsigned long type, unsigned int old_refcount);
	probe object__dispose(void *object, unsigned long type, unsigned int runlevel);
	probe object__dispose__end(void *object, unsigned long type, unsigned int runlevel);
	probe object__finalize(void *object, unsigned long type);
	probe object__finalize__end(void *object, unsigned long type);
	probe signal__new(unsigned int signal, char *name, unsigned long type);
	probe signal__emit(unsigned int signal, unsigned int detail, void *instance, unsigned long type);
	probe signal__emit__end(unsigned int signal, unsigned int detail, void *instance, unsigned long type);
};
