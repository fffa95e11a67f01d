/* SystemTap's own probes, 2.0 and later. */
provider stap {
	probe pass0__start(void *session);
	probe pass0__end(void *session);
	probe pass1a__start(void *session);
	probe pass1b__start(void *session);
	probe pass1__end(void *session);
	probe pass2__start(void *session);
	probe pass2__end(void *session);
	probe pass3__start(void *session);
	probe pass3__end(void *session);
	probe pass4__start(void *session);
	probe pass4__end(void *session);
	probe pass5__start(void *session);
	probe pass5__end(void *session);
	probe pass6__start(void *session);
	probe pass6__end(void *session);
	probe client__start(void *session);
	probe client__end(void *session);
	probe cache__add__module(const char *source_path, const char *dest_path);
	probe cache__add__source(const char *source_path, const char *dest_path);
	probe cache__get(const char *source_path, const char *module_path);
	probe cache__clean(const char *path);
	probe stap_system__start(const char *command);
	probe stap_system__spawn(int ret, int pid);
	probe stap_system__fork(int pid);
	probe stap_system__complete(int ret, int pid);
};

provider staprun {
	probe insert__module(const char *path);
	probe remove__module(const char *name);
	probe recv__ctlmsg(unsigned int type, void *data, long len);
};

provider stapio {
	probe send__ctlmsg(int type, void *data, int len);
};
