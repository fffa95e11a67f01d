/* What tick:conn shows: structs in memory, for tests/targets/tick.c and for the interpreter in
 * tests/unit/cases.c. tests/cases/run/structs.txt declares them once more, as scripts do. */
#ifndef NOPAL_TESTS_CONN_H
#define NOPAL_TESTS_CONN_H

#include <stdbool.h>
#include <stdint.h>

enum state { IDLE, ACTIVE = 5, CLOSED };

struct address {
	uint16_t port;
	uint8_t ip[4];
};

struct __attribute__((packed)) header {
	uint8_t type;
	uint32_t length;
	uint16_t check;
};

struct conn {
	int fd;
	unsigned int kind : 3, flags : 5;
	int level : 4;
	char name[8];
	struct address peer;
	enum state state;
	union {
		int64_t bytes;
		int32_t halves[2];
	};
	struct conn *next;
	const char *host;
	bool is_open;
	int16_t counts[2][3];
	struct header header;
	double ratio;
	unsigned char large[100];
};

#define CONN_COUNT 3

/* The second is what the first leads to, and leads to the third, which leads nowhere. */
static struct conn conns[CONN_COUNT] = {
	{
		.fd = -3,
		.kind = 5,
		.flags = 17,
		.level = -2,
		.name = "first",
		.peer = {8080, {127, 0, 0, 1}},
		.state = ACTIVE,
		.bytes = 0x100000002,
		.next = &conns[1],
		.host = "example.org",
		.is_open = true,
		.counts = {{1, -2, 3}, {4, 5, -6}},
		.header = {7, 70000, 0xbeef},
		.ratio = 0.5,
		.large = {1, 2, 3},
	},
	{
		.fd = 4,
		.kind = 2,
		.flags = 1,
		.level = 7,
		.name = {'e', 'i', 'g', 'h', 't', 'c', 'h', 'r'},
		.peer = {53, {10, 0, 0, 53}},
		.state = CLOSED,
		.bytes = -1,
		.next = &conns[2],
	},
	{.fd = 9, .state = (enum state)77},
};

#endif
