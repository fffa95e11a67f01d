/* Histograms as rows of text with bars, or as a JSON list of buckets. Comes in: the value of a
 * hist() or lhist() map as it is in memory. Empty buckets before the first and after the last used
 * one are skipped. */
#ifndef NOPAL_REPORT_HISTOGRAM_H
#define NOPAL_REPORT_HISTOGRAM_H

#include "program/record.h"

/* Counts are divided by `div`, bars are not. */
void histogram_text(const struct value *v, int64_t div, struct buf *out);
void histogram_json(const struct value *v, int64_t div, struct buf *out);

#endif
