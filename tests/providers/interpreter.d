/* An interpreter of the CPython kind: few probes, no names of arguments, all the pragmas. */
provider snake {
    probe function__entry(const char *, const char *, int);
    probe function__return(const char *, const char *, int);
    probe instance__new__start(const char *, const char *);
    probe line(const char *, const char *, int);
    probe gc__start(int);
    probe gc__done(long);
    probe import__find__load__start(const char *);
    probe import__find__load__done(const char *, int);
    probe audit(const char *, void *);
};

#pragma D attributes Evolving/Evolving/Common provider snake provider
#pragma D attributes Evolving/Evolving/Common provider snake module
#pragma D attributes Evolving/Evolving/Common provider snake function
#pragma D attributes Evolving/Evolving/Common provider snake name
#pragma D attributes Evolving/Evolving/Common provider snake args
