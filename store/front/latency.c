#include "store/front/latency.h"

const struct latency_bound latency_bounds[LATENCY_BUCKETS - 1] = {
	{10000, "0.00001"},   {31600, "0.0000316"}, {100000, "0.0001"},
	{316000, "0.000316"}, {1000000, "0.001"},   {3160000, "0.00316"},
	{10000000, "0.01"},   {31600000, "0.0316"}, {100000000, "0.1"},
	{316000000, "0.316"}, {1000000000, "1"},    {10000000000, "10"},
};

void latency_add(struct latency *l, uint64_t ns)
{
	unsigned i = 0;

	while (i < LATENCY_BUCKETS - 1 && ns > latency_bounds[i].ns)
		i++;
	atomic_fetch_add_explicit(&l->buckets[i], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&l->ns, ns, memory_order_relaxed);
}

static void add(_Atomic uint64_t *to, const _Atomic uint64_t *from)
{
	uint64_t n = atomic_load_explicit(from, memory_order_relaxed);

	atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

void latency_sum(struct latency *to, const struct latency *from)
{
	for (unsigned i = 0; i < LATENCY_BUCKETS; i++)
		add(&to->buckets[i], &from->buckets[i]);
	add(&to->ns, &from->ns);
}
