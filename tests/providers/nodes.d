/* A server whose arguments are translated for the tracer, and named by their translators. */
typedef struct {
	int dummy;
} nodes_connection_t;

typedef struct {
	int fd;
	const char *method;
} nodes_http_request_t;

translator connection_info_t <nodes_connection_t *c> {
	fd = c->dummy;
	remote = copyinstr((uintptr_t)c);
};

provider nodes {
	probe net__server__connection(nodes_connection_t *c, const char *a,
	    int p, int fd) : (node_connection_t *c, string a, int p, int fd);
	probe net__stream__end(nodes_connection_t *c, const char *a, int p,
	    int fd) : (node_connection_t *c, string a, int p, int fd);
	probe http__server__request(nodes_http_request_t *h, nodes_connection_t *c,
	    const char *a, int p, const char *m, const char *u, int fd) :
	    (node_http_request_t *h, node_connection_t *c, string a, int p,
	    string m, string u, int fd);
	probe gc__start(int t, int f, void *isolate);
	probe gc__done(int t, int f, void *isolate);
};

#pragma D attributes Evolving/Evolving/ISA provider nodes provider
#pragma D attributes Private/Private/Unknown provider nodes module
