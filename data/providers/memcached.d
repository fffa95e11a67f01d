/* memcached 1.2.6 and later, built with --enable-dtrace. Keys are not NUL-terminated. */
provider memcached {
	probe conn__allocate(int connid);
	probe conn__release(int connid);
	probe conn__destroy(int connid);
	probe conn__dispatch(int connid, long thread_id);
	probe slabs__allocate(int size, int slabclass, int slabsize, void *ptr);
	probe slabs__free(int size, int slabclass, void *ptr);
	probe assoc__find(const char *key, int key_len, int depth);
	probe assoc__insert(const char *key, int key_len);
	probe assoc__delete(const char *key, int key_len);
	probe item__link(const char *key, int key_len, int size);
	probe item__unlink(const char *key, int key_len, int size);
	probe item__remove(const char *key, int key_len, int size);
	probe item__update(const char *key, int key_len, int size);
	probe process__command__start(int connid, const void *request, int size);
	probe process__command__end(int connid, const void *response, int size);
	probe command__get(int connid, const char *key, int key_len, int size, long long casid);
	probe command__set(int connid, const char *key, int key_len, int size, long long casid);
	probe command__add(int connid, const char *key, int key_len, int size, long long casid);
	probe command__replace(int connid, const char *key, int key_len, int size, long long casid);
	probe command__append(int connid, const char *key, int key_len, int size, long long casid);
	probe command__prepend(int connid, const char *key, int key_len, int size, long long casid);
	probe command__cas(int connid, const char *key, int key_len, int size, long long casid);
	probe command__incr(int connid, const char *key, int key_len, long long value);
	probe command__decr(int connid, const char *key, int key_len, long long value);
	probe command__delete(int connid, const char *key, int key_len);
};
