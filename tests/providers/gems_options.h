#define COLLECT_DETAILS 1
typedef unsigned long gem_value;
