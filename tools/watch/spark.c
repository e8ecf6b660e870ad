#include "tools/watch/spark.h"

#include <string.h>

void spark_line(const double *numbers, size_t n, char *out)
{
	static const char *const bars[] = {"▁", "▂", "▃", "▄",
					   "▅", "▆", "▇", "█"};
	double most = 0;

	for (size_t i = 0; i < n; i++)
		if (numbers[i] > most)
			most = numbers[i];
	out[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		if (numbers[i] > 0)
			out = stpcpy(out,
				     bars[(size_t)(numbers[i] / most * 7)]);
		else
			out = stpcpy(out, " ");
	}
}

size_t spark_quantile(const double *buckets, size_t n, double q)
{
	double all = 0, sum = 0;

	for (size_t i = 0; i < n; i++)
		all += buckets[i];
	if (all <= 0)
		return n;
	for (size_t i = 0; i < n; i++) {
		sum += buckets[i];
		if (sum >= q * all)
			return i;
	}
	return n - 1;
}
