/* OpenJDK's virtual machine, 8 to 25. Text is not NUL-terminated: a length follows each pointer. method, object
 * and monitor probes need -XX:+ExtendedDTraceProbes. Classes are named as in class files: java/lang/String. */
provider hotspot {
	probe vm__init__begin();
	probe vm__init__end();
	probe vm__shutdown();
	probe vmops__request(char *name, uintptr_t name_len, int mode);
	probe vmops__begin(char *name, uintptr_t name_len, int mode);
	probe vmops__end(char *name, uintptr_t name_len, int mode);
	probe class__loaded(char *class_name, int class_name_len, void *loader, _Bool is_shared);
	probe class__unloaded(char *class_name, int class_name_len, void *loader, _Bool is_shared);
	probe class__initialization__required(char *class_name, int class_name_len, void *loader, int thread_type);
	probe class__initialization__recursive(char *class_name, int class_name_len, void *loader, int thread_type, _Bool waited);
	probe class__initialization__concurrent(char *class_name, int class_name_len, void *loader, int thread_type, _Bool waited);
	probe class__initialization__erroneous(char *class_name, int class_name_len, void *loader, int thread_type, _Bool waited);
	probe class__initialization__super__failed(char *class_name, int class_name_len, void *loader, int thread_type, _Bool waited);
	probe class__initialization__clinit(char *class_name, int class_name_len, void *loader, int thread_type, _Bool waited);
	probe class__initialization__error(char *class_name, int class_name_len, void *loader, int thread_type, _Bool waited);
	probe class__initialization__end(char *class_name, int class_name_len, void *loader, int thread_type, _Bool waited);
	probe gc__begin(_Bool is_full);
	probe gc__end();
	probe mem__pool__gc__begin(char *manager, uintptr_t manager_len, char *pool, uintptr_t pool_len, intptr_t initial, uintptr_t used, uintptr_t committed, intptr_t max);
	probe mem__pool__gc__end(char *manager, uintptr_t manager_len, char *pool, uintptr_t pool_len, intptr_t initial, uintptr_t used, uintptr_t committed, intptr_t max);
	probe thread__start(char *thread_name, int thread_name_len, intptr_t thread_id, uintptr_t native_id, _Bool is_daemon);
	probe thread__stop(char *thread_name, int thread_name_len, intptr_t thread_id, uintptr_t native_id, _Bool is_daemon);
	probe thread__sleep__begin(long long duration);
	probe thread__sleep__end(int is_interrupted);
	probe thread__yield();
	probe thread__park__begin(uintptr_t parker, int is_absolute, long long timeout);
	probe thread__park__end(uintptr_t parker);
	probe thread__unpark(uintptr_t parker);
	probe method__compile__begin(char *compiler, uintptr_t compiler_len, char *class_name, int class_name_len, char *method, int method_len, char *signature, int signature_len);
	probe method__compile__end(char *compiler, uintptr_t compiler_len, char *class_name, int class_name_len, char *method, int method_len, char *signature, int signature_len, _Bool is_success);
	probe compiled__method__load(char *class_name, int class_name_len, char *method, int method_len, char *signature, int signature_len, void *code, int code_size);
	probe compiled__method__unload(char *class_name, int class_name_len, char *method, int method_len, char *signature, int signature_len);
	probe method__entry(intptr_t thread_id, char *class_name, int class_name_len, char *method, int method_len, char *signature, int signature_len);
	probe method__return(intptr_t thread_id, char *class_name, int class_name_len, char *method, int method_len, char *signature, int signature_len);
	/* The size is an int in 17, as wide as an address in 25. */
	probe object__alloc(intptr_t thread_id, char *class_name, int class_name_len, uintptr_t size);
	probe monitor__contended__enter(intptr_t thread_id, uintptr_t monitor, char *class_name, int class_name_len);
	probe monitor__contended__entered(intptr_t thread_id, uintptr_t monitor, char *class_name, int class_name_len);
	probe monitor__contended__exit(intptr_t thread_id, uintptr_t monitor, char *class_name, int class_name_len);
	probe monitor__wait(intptr_t thread_id, uintptr_t monitor, char *class_name, int class_name_len, intptr_t timeout);
	probe monitor__waited(intptr_t thread_id, uintptr_t monitor, char *class_name, int class_name_len);
	probe monitor__notify(intptr_t thread_id, uintptr_t monitor, char *class_name, int class_name_len);
	probe monitor__notifyAll(intptr_t thread_id, uintptr_t monitor, char *class_name, int class_name_len);
};

provider hs_private {
	probe safepoint__begin();
	probe safepoint__end();
};
