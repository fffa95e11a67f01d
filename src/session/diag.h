/* The public face of struct diag. */
#ifndef NOPAL_SESSION_DIAG_H
#define NOPAL_SESSION_DIAG_H

#include "base/public.h"

#endif
