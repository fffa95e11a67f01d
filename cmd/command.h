/* What a subcommand is, and the few things all of them share: messages, exit codes, output. */
#ifndef NOPAL_CMD_COMMAND_H
#define NOPAL_CMD_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

struct nopal_diag;

/* Exit codes, the same for every command. */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1, /* it could not be done; a message says why */
	EXIT_USAGE = 2,	 /* the command line is wrong */
};

struct command {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the command's own name */
	const char *summary;
};

int cmd_list(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_count(int argc, char **argv);
int cmd_hist(int argc, char **argv);
int cmd_script(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_provider(int argc, char **argv);

/* Print the collected messages to stderr. Returns EXIT_FAILED. */
int show_messages(struct nopal_diag *d);
/* Print "nopal: error: ..." and where to find help. Returns EXIT_USAGE. */
int usage_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Print "nopal: error: ..." and a newline; what could steer a terminal is escaped. */
void say_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* ... by another name of the program. */
void say_error_as(const char *self, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What getopt_long() answered with '?' or ':', and the word that it looked at. The same. */
int unknown_option(const char *command, int option, const char *said);
/* A whole number of at least `low`; false when `text` is anything else. */
bool parse_number(const char *text, long low, long *out);
/* Write all of it to fd, whatever signals come; false when the other end is gone. */
bool write_all(int fd, const char *text, size_t len);

#endif
