/* The screen, by libncurses. It is loaded when a screen is asked for: no other command waits for it
 * at its start, and machines without terminals need not have it. */
#include "screen.h"

#include <dlfcn.h>
#include <locale.h>
#include <stdlib.h>

#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <ncurses.h>
#include <term.h>

#include "command.h"

#define LIBRARY "libncursesw.so.6"

/* What is used of libncurses; the types are those of its headers. */
#define FUNCTIONS(f)                                                                           \
	f(setupterm) f(initscr) f(endwin) f(cbreak) f(noecho) f(nodelay) f(keypad) f(curs_set) \
		f(getmaxx) f(getmaxy) f(werase) f(wmove) f(waddnstr) f(wattrset) f(wchgat)     \
			f(wrefresh) f(wgetch)

/* The terminal is one, and so is its screen: exit() gives it back. */
static struct {
	void *library;
	WINDOW *window; /* NULL: not open */
#define MEMBER(name) __typeof__(&(name)) name;
	FUNCTIONS(MEMBER)
} screen;

static bool load_functions(void)
{
	bool all = true;

#define LOAD(name)                                             \
	*(void **)&screen.name = dlsym(screen.library, #name); \
	all &= screen.name != NULL;
	FUNCTIONS(LOAD)
	return all;
}

bool screen_load(void)
{
	int found;

	screen.library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!screen.library || !load_functions()) {
		say_error("a screen needs %s, which is not installed (on Debian, 'apt install "
			  "libncursesw6'): -i SECONDS prints text",
			  LIBRARY);
		return false;
	}
	/* initscr() would exit, with a message that does not say what to do */
	if (screen.setupterm(NULL, 1, &found) != OK) {
		say_error("unknown terminal '%s': set TERM, as in TERM=xterm, or -i SECONDS prints "
			  "text",
			  getenv("TERM") ?: "");
		return false;
	}
	return true;
}

void screen_open(void)
{
	setlocale(LC_ALL, "");
	screen.window = screen.initscr();
	screen.cbreak();
	screen.noecho();
	screen.nodelay(screen.window, true);
	screen.keypad(screen.window, true);
	screen.curs_set(0);
	atexit(screen_close);
}

void screen_close(void)
{
	if (screen.window)
		screen.endwin();
	screen.window = NULL;
}

bool screen_is_open(void)
{
	return screen.window;
}

void screen_size(int *width, int *height)
{
	*width = screen.getmaxx(screen.window);
	*height = screen.getmaxy(screen.window);
}

void screen_clear(void)
{
	screen.werase(screen.window);
}

void screen_line(int y, const char *text, enum screen_style style)
{
	static const attr_t attributes[] = {A_NORMAL, A_BOLD, A_REVERSE};

	screen.wmove(screen.window, y, 0);
	screen.wattrset(screen.window, (int)attributes[style]);
	screen.waddnstr(screen.window, text, -1);
	screen.wattrset(screen.window, A_NORMAL);
	if (style != SCREEN_REVERSE)
		return;
	screen.wmove(screen.window, y, 0);
	screen.wchgat(screen.window, -1, A_REVERSE, 0, NULL);
}

void screen_show(void)
{
	screen.wrefresh(screen.window);
}

int screen_key(void)
{
	int key = screen.wgetch(screen.window);

	switch (key) {
	case ERR: return SCREEN_NO_KEY;
	case KEY_ENTER: return SCREEN_ENTER;
	case KEY_BACKSPACE:
	case 8: return SCREEN_BACKSPACE;
	default: return key;
	}
}
