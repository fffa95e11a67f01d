/* PostgreSQL built with --enable-dtrace. Names follow chapter "Dynamic Tracing" of its manual. Block, fork and
 * relation identify a page; modes are those of the lock manager. Holds for 9.3 to 17; where versions differ
 * in the number of arguments, each is here. */
provider postgresql {
	probe transaction__start(unsigned int lxid);
	probe transaction__commit(unsigned int lxid);
	probe transaction__abort(unsigned int lxid);
	probe query__start(const char *query);
	probe query__done(const char *query);
	probe query__parse__start(const char *query);
	probe query__parse__done(const char *query);
	probe query__rewrite__start(const char *query);
	probe query__rewrite__done(const char *query);
	probe query__plan__start();
	probe query__plan__done();
	probe query__execute__start();
	probe query__execute__done();
	probe statement__status(const char *status);
	/* 9.6 and later name the tranche; before, its id came with the number of the lock in it. */
	probe lwlock__acquire(const char *tranche, int mode);
	probe lwlock__release(const char *tranche);
	probe lwlock__wait__start(const char *tranche, int mode);
	probe lwlock__wait__done(const char *tranche, int mode);
	probe lwlock__condacquire(const char *tranche, int mode);
	probe lwlock__condacquire__fail(const char *tranche, int mode);
	probe lwlock__acquire__or__wait(const char *tranche, int mode);
	probe lwlock__acquire__or__wait__fail(const char *tranche, int mode);
	probe lock__wait__start(unsigned int field1, unsigned int field2, unsigned int field3, unsigned int field4, unsigned int type, int mode);
	probe lock__wait__done(unsigned int field1, unsigned int field2, unsigned int field3, unsigned int field4, unsigned int type, int mode);
	probe deadlock__found();
	/* 11 and later have `parallel`. */
	probe sort__start(int kind, _Bool unique, int nkeys, int work_mem, _Bool random_access, int parallel);
	probe sort__start(int kind, _Bool unique, int nkeys, int work_mem, _Bool random_access);
	probe sort__done(_Bool external, long space_used);
	probe buffer__read__start(int fork, unsigned int block, unsigned int tablespace, unsigned int database, unsigned int relation, int backend, _Bool extended);
	probe buffer__read__done(int fork, unsigned int block, unsigned int tablespace, unsigned int database, unsigned int relation, int backend, _Bool extended, _Bool hit);
	/* 16 and later: extending is a probe of its own. */
	probe buffer__read__start(int fork, unsigned int block, unsigned int tablespace, unsigned int database, unsigned int relation, int backend);
	probe buffer__extend__start(int fork, unsigned int tablespace, unsigned int database, unsigned int relation, int backend, unsigned int requested);
	probe buffer__extend__done(int fork, unsigned int tablespace, unsigned int database, unsigned int relation, int backend, unsigned int extended, unsigned int first_block);
	probe buffer__flush__start(int fork, unsigned int block, unsigned int tablespace, unsigned int database, unsigned int relation);
	probe buffer__flush__done(int fork, unsigned int block, unsigned int tablespace, unsigned int database, unsigned int relation);
	probe buffer__write__dirty__start(int fork, unsigned int block, unsigned int tablespace, unsigned int database, unsigned int relation);
	probe buffer__write__dirty__done(int fork, unsigned int block, unsigned int tablespace, unsigned int database, unsigned int relation);
	probe buffer__checkpoint__start(int flags);
	probe buffer__checkpoint__sync__start();
	probe buffer__checkpoint__done();
	probe buffer__sync__start(int buffers, int to_write);
	probe buffer__sync__written(int buffer);
	probe buffer__sync__done(int buffers, int written, int to_write);
	probe checkpoint__start(int flags);
	probe checkpoint__done(int buffers_written, int buffers, int segments_added, int segments_removed, int segments_recycled);
	probe clog__checkpoint__start(_Bool is_shutdown);
	probe clog__checkpoint__done(_Bool is_shutdown);
	probe subtrans__checkpoint__start(_Bool is_shutdown);
	probe subtrans__checkpoint__done(_Bool is_shutdown);
	probe multixact__checkpoint__start(_Bool is_shutdown);
	probe multixact__checkpoint__done(_Bool is_shutdown);
	probe twophase__checkpoint__start();
	probe twophase__checkpoint__done();
	probe smgr__md__read__start(int fork, unsigned int block, unsigned int tablespace, unsigned int database, unsigned int relation, int backend);
	probe smgr__md__read__done(int fork, unsigned int block, unsigned int tablespace, unsigned int database, unsigned int relation, int backend, int bytes, int requested);
	probe smgr__md__write__start(int fork, unsigned int block, unsigned int tablespace, unsigned int database, unsigned int relation, int backend);
	probe smgr__md__write__done(int fork, unsigned int block, unsigned int tablespace, unsigned int database, unsigned int relation, int backend, int bytes, int requested);
	/* 10 and later; wal was called xlog before. */
	probe wal__insert(unsigned char rmid, unsigned char info);
	probe wal__switch();
	probe wal__buffer__write__dirty__start();
	probe wal__buffer__write__dirty__done();
	probe xlog__insert(unsigned char rmid, unsigned char info);
	probe xlog__switch();
};
