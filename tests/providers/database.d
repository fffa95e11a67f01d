/* A large database server: names of types are macros, so this wants -C. */
#define TransactionNumber unsigned int
#define BlockNumber unsigned int
#define ObjectId unsigned int
#define ForkNumber int
#define LockMode int
#define bool unsigned char

provider ledgerdb {

	/* transactions */
	probe transaction__start(TransactionNumber);
	probe transaction__commit(TransactionNumber);
	probe transaction__abort(TransactionNumber);

	/* locks
	 * with a comment
	 * over several lines */
	probe lock__wait__start(unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, LockMode);
	probe lock__wait__done(unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, LockMode);
	probe lwlock__acquire(const char *, LockMode);
	probe deadlock__found();

	probe query__start(const char *);
	probe query__done(const char *);
	probe statement__status(const char *);

	probe buffer__read__start(ForkNumber, BlockNumber, ObjectId, ObjectId, ObjectId, int, bool);
	probe buffer__read__done(ForkNumber, BlockNumber, ObjectId, ObjectId, ObjectId, int, bool, bool);
	probe sort__start(int, bool, int, int, bool, int);
	probe sort__done(bool, long);
	probe checkpoint__done(int, int, int, int, int);
	probe wal__insert(unsigned char, unsigned char);
	probe wal__switch();
};
