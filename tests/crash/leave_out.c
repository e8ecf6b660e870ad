#include "tests/crash/leave_out.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/crash/search.h"
#include "tests/crash/sites.h"

#define SITES_MAX 64
#define TRIES_MAX 12

struct site_found {
	struct site_sync example;
	unsigned syncs, tries;
	uint64_t images;
	bool found;
	struct buf reason;
};

struct leaving_out {
	const struct options *o;
	struct site_found sites[SITES_MAX];
	size_t nsites;
};

static struct site_found *site_of(struct leaving_out *l,
				  const struct site_sync *s)
{
	for (size_t i = 0; i < l->nsites; i++)
		if (l->sites[i].example.site == s->site)
			return &l->sites[i];
	if (l->nsites == SITES_MAX)
		return NULL;
	l->sites[l->nsites] = (struct site_found){.example = *s};
	return &l->sites[l->nsites++];
}

/* Runs the plan without its @nth sync and looks for a bad image after it. */
static void leave_out(struct leaving_out *l, const struct plan *base,
		      size_t nth, const struct site_sync *sync,
		      struct site_found *site)
{
	struct os *os = sim_new(base->seed);
	struct totals t = {0};
	struct seen seen = {0};
	struct plan p = *base;
	struct search s = {
		.o = l->o,
		.plan = &p,
		.totals = &t,
		.seen = &seen,
		.again = "--leave-out",
		.from = sync->at,
		.limit = 4000,
		.reason = &site->reason,
	};

	site->reason.len = 0;
	sim_ignore(os, SIM_FDATASYNC | SIM_DIR_SYNC, NULL, nth);
	if (plan_run(&p, os, os) < 0)
		say(&site->reason, "the workload fails: %s\n", store_why());
	else
		site->found = search(&s, os);
	site->tries++;
	site->images += t.images;
	seen_free(&seen);
	sim_free(os);
}

static void leave_out_of(struct leaving_out *l, uint64_t seed)
{
	struct os *os = sim_new(seed);
	struct sites sites = {0};
	struct plan p;

	plan_make(&p, seed, l->o->steps);
	sites_begin(os, &sites);
	if (plan_run(&p, os, os) < 0) {
		fprintf(stderr, "crash: seed %llu: the workload fails: %s\n",
			(unsigned long long)seed, store_why());
		exit(2);
	}
	sites_end(os);
	plan_states(&p);
	for (size_t i = 0; i < sites.n; i++) {
		struct site_found *f = site_of(l, &sites.syncs[i]);

		if (!f)
			continue;
		f->syncs++;
		if (!f->found && f->tries < TRIES_MAX)
			leave_out(l, &p, i + 1, &sites.syncs[i], f);
	}
	sites_free(&sites);
	plan_free(&p);
	sim_free(os);
}

int leave_out_all(const struct options *o)
{
	struct leaving_out l = {.o = o};
	int missed = 0;

	for (unsigned i = 0; i < (o->workloads ? o->workloads : 4); i++)
		leave_out_of(&l, o->seed + i);
	for (size_t i = 0; i < l.nsites; i++) {
		struct site_found *f = &l.sites[i];

		printf("crash: %s sync from",
		       f->example.dir ? "directory" : "file");
		for (int k = 0; k < SITE_FRAMES; k++)
			printf(" %#zx", (size_t)f->example.frames[k]);
		printf(", %u of them: %s after %u left out, %llu disks\n",
		       f->syncs, f->found ? "found" : "NOT FOUND", f->tries,
		       (unsigned long long)f->images);
		missed += !f->found;
		buf_free(&f->reason);
	}
	return missed ? 1 : 0;
}
