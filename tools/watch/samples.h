/*
 * A text of metrics (Prometheus's format), read.
 *
 *	name{label="value",le="0.1"} 12.5	one sample a line
 *	# HELP, # TYPE				left out
 *
 * Samples stay in the order of the text. What is no sample is passed over: the
 * text comes from a mount that may be newer. Strings borrow from the text, which
 * is cut up for it.
 */
#ifndef CELLFS_TOOLS_WATCH_SAMPLES_H
#define CELLFS_TOOLS_WATCH_SAMPLES_H

#include <stddef.h>

struct sample {
	const char *name;
	const char *label; /* the value of the first label; "" = it has none */
	const char *bound; /* the value of le; "" = it has none */
	double value;
};

struct samples {
	struct sample *all;
	size_t n;
};

/* @text is changed and stays in use. 0 or -ENOMEM. */
int samples_read(char *text, struct samples *out);
void samples_free(struct samples *s);
/* The value of the sample, 0 when it is absent. @label may be "". */
double samples_get(const struct samples *s, const char *name,
		   const char *label);
/*
 * The buckets of a histogram, each without those before it, in @out; how many,
 * at most @max. *bounds: the upper bound of each in words.
 */
size_t samples_buckets(const struct samples *s, const char *name,
		       const char *label, double *out, const char **bounds,
		       size_t max);

#endif
