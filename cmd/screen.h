/* A live screen: lines of text on the whole terminal, and the keys that are typed. */
#ifndef NOPAL_CMD_SCREEN_H
#define NOPAL_CMD_SCREEN_H

#include <stdbool.h>

/* Keys that are not characters. */
enum screen_key {
	SCREEN_NO_KEY = -1,
	SCREEN_ENTER = '\n',
	SCREEN_ESCAPE = 27,
	SCREEN_BACKSPACE = 127
};

enum screen_style { SCREEN_PLAIN, SCREEN_BOLD, SCREEN_REVERSE };

/* Load libncurses, which nothing else needs; false, with a message: it is not installed, or cannot
 * show anything on the terminal of the environment's TERM. */
bool screen_load(void);
/* Take over the terminal; it is given back by screen_close(), and at exit(). Needs screen_load().
 */
void screen_open(void);
void screen_close(void); /* also when it is closed already, or was never opened */
bool screen_is_open(void);

void screen_size(int *width, int *height);
void screen_clear(void);
/* A line of UTF-8 text, cut at the screen's edge; with SCREEN_REVERSE to the edge. */
void screen_line(int y, const char *text, enum screen_style style);
void screen_show(void);
/* A key that was typed, or SCREEN_NO_KEY at once. */
int screen_key(void);

#endif
