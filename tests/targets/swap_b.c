// flags: -shared -fPIC -fomit-frame-pointer
/* The other library of `swap`. */
#define SWAP  swap_b
#define BYTES 4000
#include "swap_a.c"
