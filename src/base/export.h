/* Marks a function as part of the library's public face; everything else is hidden. */
#ifndef NOPAL_BASE_EXPORT_H
#define NOPAL_BASE_EXPORT_H

#define NOPAL_EXPORT __attribute__((visibility("default")))

#endif
