/* What others may ask the native engine without opening it. */
#ifndef NOPAL_ENGINE_NATIVE_NATIVE_H
#define NOPAL_ENGINE_NATIVE_NATIVE_H

/* Why there is no user mode on this machine; NULL: there is. */
const char *native_problem(void);

#endif
