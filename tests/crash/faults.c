#include "tests/crash/faults.h"

#include <errno.h>

#include "store/value/why.h"
#include "tests/crash/verdict.h"
#include "tests/sim/os_fault.h"

/* LOCK and what opening looks at first fail with sentences of their own. */
static const struct fault_plan faults_list[] = {
	{.kinds = FAULT_ALL, .err = EIO},
	{.kinds = FAULT_ALL, .err = EIO, .forever = true},
	{.kinds = FAULT_PWRITE | FAULT_ALLOCATE | FAULT_OPEN | FAULT_RENAME,
	 .err = ENOSPC},
	{.kinds = FAULT_PWRITE | FAULT_ALLOCATE | FAULT_OPEN | FAULT_RENAME,
	 .err = ENOSPC,
	 .forever = true},
	{.kinds = FAULT_PWRITE, .err = EIO, .partial = true},
	{.kinds = FAULT_PWRITE, .err = ENOSPC, .partial = true},
	{.kinds = FAULT_FDATASYNC, .err = EIO, .lose = true},
	{.kinds = FAULT_FDATASYNC | FAULT_DIR_SYNC, .err = EIO},
	{.kinds = FAULT_ALL, .err = EROFS},
	{.kinds = FAULT_ALL, .err = EROFS, .forever = true},
	{.kinds = FAULT_PWRITE | FAULT_ALLOCATE | FAULT_OPEN | FAULT_FDATASYNC,
	 .err = EDQUOT},
	{.kinds = FAULT_OPEN | FAULT_DIR_LIST, .err = EMFILE},
	{.kinds = FAULT_OPEN | FAULT_DIR_LIST, .err = EMFILE, .forever = true},
	{.kinds = FAULT_PWRITE | FAULT_ALLOCATE | FAULT_OPEN | FAULT_FDATASYNC,
	 .err = EDQUOT,
	 .forever = true},
	/* Where an interrupted call is not made again: see os_posix.c. */
	{.kinds = FAULT_FDATASYNC | FAULT_DIR_SYNC, .err = EINTR},
	{.kinds = FAULT_FDATASYNC, .err = EIO, .lose = true, .forever = true},
};

#define NFAULTS (sizeof(faults_list) / sizeof(faults_list[0]))

static size_t state_after(const struct plan *p, size_t marked)
{
	return marked ? p->after[marked - 1] : 0;
}

static int judge(const struct plan *p, struct os *disk, bool killed,
		 uint64_t seed, struct buf *reason)
{
	struct os *os =
		killed ? sim_after_kill(disk) : sim_after_power_loss(disk);
	const struct verdict_options v = {
		.plan = p,
		.lowest = state_after(
			p, p->marked[killed ? MARK_DONE : MARK_PROMISED]),
		.highest = state_after(p, p->marked[MARK_BEGUN]),
		.thorough = seed % 4 == 0,
		.seed = seed,
	};
	int r = verdict(&v, os, reason);

	if (r)
		say(reason, "crash: after %s\n",
		    killed ? "the death of the process" : "a loss of power");
	sim_free(os);
	return r;
}

static void say_fault(const struct plan *p, size_t steps, unsigned kind,
		      uint64_t nth, struct buf *reason)
{
	const struct fault_plan *f = &faults_list[kind];

	say(reason,
	    "crash: seed %llu, call %llu failed with %s%s%s%s; again with:\n"
	    "crash: crash --faults --seed %llu --steps %zu --fault %u "
	    "--at %llu\n",
	    (unsigned long long)p->seed, (unsigned long long)nth,
	    why_name(f->err), f->forever ? " for ever" : "",
	    f->partial ? " in its middle" : "", f->lose ? " with loss" : "",
	    (unsigned long long)p->seed, steps, kind, (unsigned long long)nth);
}

/* *fired: whether the n-th call was reached. */
static int run_one(struct plan *p, size_t steps, unsigned kind, uint64_t nth,
		   bool *fired, struct faults_report *out)
{
	struct fault_plan fault = faults_list[kind];
	struct os *disk = sim_new(p->seed);
	struct os *os = fault_new(disk);
	uint64_t seed = p->seed * 1000003 + nth * NFAULTS + kind;
	int r;

	fault.nth = nth;
	fault_arm(os, &fault);
	out->failed_runs += plan_run(p, os, disk) < 0;
	*fired = fault_fired(os) > 0;
	fault_disarm(os);
	fault_free(os);
	out->runs++;
	out->fired += *fired;
	plan_states_left(p);
	r = judge(p, disk, true, seed, &out->reason);
	if (r == 0)
		r = judge(p, disk, false, seed + 1, &out->reason);
	if (r) {
		for (size_t i = 0; i < p->marked[MARK_BEGUN]; i++)
			step_format(&p->steps[i], &out->reason);
		say_fault(p, steps, kind, nth, &out->reason);
	}
	sim_free(disk);
	return r;
}

static uint64_t count_calls(struct plan *p, unsigned kind)
{
	struct fault_plan none = faults_list[kind];
	struct os *disk = sim_new(p->seed);
	struct os *os = fault_new(disk);
	uint64_t n;

	none.nth = UINT64_MAX;
	fault_arm(os, &none);
	plan_run(p, os, disk);
	n = fault_calls(os);
	fault_disarm(os);
	fault_free(os);
	sim_free(disk);
	return n;
}

int faults(uint64_t seed, size_t steps, uint64_t runs,
	   struct faults_report *out)
{
	struct plan p;
	int r = 0;

	plan_make(&p, seed, steps);
	p.early = out->plant;
	for (unsigned kind = 0; r == 0 && kind < NFAULTS; kind++) {
		uint64_t calls = count_calls(&p, kind);
		uint64_t stride = calls / (runs / NFAULTS + 1) + 1;
		bool fired;

		for (uint64_t n = 1 + seed % stride; r == 0 && n <= calls;
		     n += stride)
			r = run_one(&p, steps, kind, n, &fired, out);
	}
	plan_free(&p);
	return r;
}

int faults_one(uint64_t seed, size_t steps, unsigned kind, uint64_t nth,
	       struct faults_report *out)
{
	struct plan p;
	bool fired;
	int r;

	if (kind >= NFAULTS)
		return -EINVAL;
	plan_make(&p, seed, steps);
	p.early = out->plant;
	r = run_one(&p, steps, kind, nth, &fired, out);
	plan_free(&p);
	return r;
}
