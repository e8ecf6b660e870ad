#include "fs/text/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/*
 * The number of letters inserted, deleted, changed or swapped with the next; when
 * that is more than @most, any number that is.
 */
static unsigned distance(const char *a, const char *b, unsigned most)
{
	unsigned rows[3][NEAREST_LEN_MAX + 2], *now = rows[0], *prev = rows[1],
					       *old = rows[2], *next,
					       lowest = 0;
	size_t na = strlen(a), nb = strlen(b);

	if (na > nb + most || nb > na + most)
		return most + 1;
	for (size_t k = 0; k <= nb; k++)
		now[k] = (unsigned)k;
	/* No row behind has less than the least of this one. */
	for (size_t i = 1; i <= na && lowest <= most; i++) {
		next = old;
		old = prev;
		prev = now;
		now = next;
		now[0] = lowest = (unsigned)i;
		for (size_t k = 1; k <= nb; k++) {
			bool same = tolower((unsigned char)a[i - 1]) ==
				    tolower((unsigned char)b[k - 1]);

			now[k] = least(prev[k], now[k - 1]) + 1;
			now[k] = least(now[k], prev[k - 1] + !same);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] &&
			    a[i - 2] == b[k - 1])
				now[k] = least(now[k], old[k - 2] + 1);
			lowest = least(lowest, now[k]);
		}
	}
	return now[nb];
}

void nearest_init(struct nearest *n, const char *given)
{
	*n = (struct nearest){.given = given};
	/* A quarter of the letters may differ; in short words one. */
	n->distance = (unsigned)strlen(given) / 4 + 1;
}

void nearest_offer(struct nearest *n, const char *word)
{
	unsigned d;

	if (strlen(word) > NEAREST_LEN_MAX ||
	    strlen(n->given) > NEAREST_LEN_MAX)
		return;
	d = distance(n->given, word, n->distance);
	/* Otherwise every letter of a short word could be changed. */
	if (d > n->distance || d >= strlen(word) ||
	    (d == n->distance && n->word[0]))
		return;
	n->distance = d;
	strcpy(n->word, word);
}

void nearest_say(const struct nearest *n, const char *before)
{
	if (n->word[0])
		fprintf(stderr, "; did you mean %s%s?", before, n->word);
}
