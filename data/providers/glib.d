/* GLib 2.26 and later, built with -Ddtrace=true: glib_probes.d, gobject_probes.d and gio_probes.d of 2.74, names from the
 * places that fire. */
provider glib {
	probe mem__alloc(void *mem, unsigned int n_bytes, unsigned int zeroed, unsigned int failable);
	probe mem__free(void *mem);
	probe mem__realloc(void *mem, void *old_mem, unsigned int n_bytes, unsigned int failable);
	probe slice__alloc(void *mem, unsigned int n_bytes);
	probe slice__free(void *mem, unsigned int n_bytes);
	probe quark__new(const char *string, unsigned int quark);
	probe main__after_prepare(void *source, void *prepare, unsigned int timeout);
	probe main__after_check(void *source, void *check, unsigned int result);
	probe main__before_dispatch(const char *name, void *source, void *dispatch, void *callback, void *user_data);
	probe main__after_dispatch(const char *name, void *source, void *dispatch, unsigned int need_destroy);
	probe main__source_attach(const char *name, void *source, void *context, unsigned int id);
	probe main__source_destroy(const char *name, void *source, void *context);
	probe main__context_default(void *context);
	probe main__context_new(void *context);
	probe main__context_acquire(void *context, int success);
	probe main__context_release(void *context);
	probe main__context_free(void *context);
	probe main__context_push_thread_default(void *context);
	probe main__context_pop_thread_default(void *context);
	probe main__context_before_prepare(void *context);
	probe main__context_after_prepare(void *context, int priority, unsigned int n_ready);
	probe main__context_before_query(void *context, int max_priority);
	probe main__context_after_query(void *context, unsigned int timeout, void *fds, unsigned int n_fds);
	probe main__context_before_check(void *context, int max_priority, void *fds, unsigned int n_fds);
	probe main__context_after_check(void *context, unsigned int n_ready);
	probe main__context_before_dispatch(void *context);
	probe main__context_after_dispatch(void *context);
	probe main__context_wakeup(void *context);
	probe main__context_wakeup_acknowledge(void *context);
	probe main__loop_new(void *loop, void *context);
	probe main__loop_quit(void *loop);
	probe idle__add(void *source, void *context, unsigned int id, int priority, void *function, void *user_data);
	probe idle__dispatch(void *source, void *context, void *function, void *user_data, unsigned int again);
	probe timeout__add(void *source, void *context, unsigned int id, int priority, unsigned int interval, void *function, void *user_data);
	probe timeout__dispatch(void *source, void *context, void *function, void *user_data, unsigned int again);
	probe source__new(void *source, void *prepare, void *check, void *dispatch, void *finalize, size_t struct_size);
	probe source__set_callback(void *source, void *function, void *user_data, void *notify);
	probe source__set_callback_indirect(void *source, void *callback_data, void *ref, void *unref, void *get);
	probe source__set_ready_time(void *source, unsigned int ready_time);
	probe source__set_priority(void *source, void *context, unsigned int priority);
	probe source__add_child_source(void *source, void *child_source);
	probe source__set_name(void *source, const char *name);
	probe source__before_free(void *source, void *context, void *finalize);
	probe thread__spawned(void *function, void *user_data, char *name);
	probe rcbox__alloc(void *mem, unsigned int n_bytes, unsigned int atomic, unsigned int zeroed);
	probe rcbox__acquire(void *mem, unsigned int atomic);
	probe rcbox__release(void *mem, unsigned int atomic);
	probe rcbox__free(void *mem);
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

provider gio {
	probe task__new(void *task, void *source_object, void *cancellable, void *callback, void *callback_data);
	probe task__set_task_data(void *task, void *task_data, void *destroy);
	probe task__set_priority(void *task, int priority);
	probe task__set_source_tag(void *task, void *source_tag);
	probe task__before_return(void *task, void *source_object, void *callback, void *callback_data);
	probe task__propagate(void *task, unsigned int error_set);
	probe task__before_run_in_thread(void *task, void *function);
	probe task__after_run_in_thread(void *task, unsigned int cancelled);
};
