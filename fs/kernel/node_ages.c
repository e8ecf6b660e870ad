#include "fs/kernel/node_ages.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

void node_ages_free(struct node_ages *ages)
{
	if (ages)
		free(ages->at);
	free(ages);
}

int node_ages_reserve(struct node *column)
{
	struct node_ages *ages = column->ages;
	struct node_age *at;
	uint32_t cap;

	if (!ages) {
		ages = column->ages = calloc(1, sizeof(*ages));
		if (!ages)
			return -ENOMEM;
		ages->shown = INT64_MIN;
	}
	if (ages->n < ages->cap)
		return 0;
	cap = ages->cap ? 2 * ages->cap : 4;
	at = reallocarray(ages->at, cap, sizeof(*at));
	if (!at)
		return -ENOMEM;
	ages->at = at;
	ages->cap = cap;
	return 0;
}

static void place(struct node_table *t, struct node_ages *ages, uint32_t i,
		  struct node_age age)
{
	assert(i < ages->n);
	ages->at[i] = age;
	node_table_at(t, age.index)->age = i + 1;
}

/* Index @i is free: puts @age there, or further up the heap. */
static void rise(struct node_table *t, struct node_ages *ages, uint32_t i,
		 struct node_age age)
{
	while (i && age.ts < ages->at[(i - 1) / 2].ts) {
		place(t, ages, i, ages->at[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	place(t, ages, i, age);
}

/* Index @i is free: puts @age there, or further down the heap. */
static void sink(struct node_table *t, struct node_ages *ages, uint32_t i,
		 struct node_age age)
{
	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child + 1 < ages->n &&
		    ages->at[child + 1].ts < ages->at[child].ts)
			child++;
		if (child >= ages->n || ages->at[child].ts >= age.ts)
			break;
		place(t, ages, i, ages->at[child]);
		i = child;
	}
	place(t, ages, i, age);
}

void node_ages_add(struct node_table *t, struct node *column, uint32_t index,
		   int64_t ts)
{
	struct node_ages *ages = column->ages;

	/* node_ages_reserve() made room. */
	assert(ages && ages->n < ages->cap);
	rise(t, ages, ages->n++, (struct node_age){.ts = ts, .index = index});
}

void node_ages_remove(struct node_table *t, uint32_t index)
{
	struct node *n = node_table_at(t, index);
	struct node_ages *ages = node_table_at(t, n->parent)->ages;
	struct node_age last;
	uint32_t i;

	if (!n->age)
		return;
	i = n->age - 1;
	assert(i < ages->n && ages->at[i].index == index);
	n->age = 0;
	last = ages->at[--ages->n];
	if (i == ages->n)
		return;
	if (i && last.ts < ages->at[(i - 1) / 2].ts)
		rise(t, ages, i, last);
	else
		sink(t, ages, i, last);
}
