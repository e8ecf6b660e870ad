/* Who makes the log durable: one thread syncs for all that wait. */
#include "store/lsm/wal/wal_live.h"
#include "store/os/clock.h"

#include <assert.h>

/* How long to wait for others: this part of a sync's time, at most 1 ms. */
#define CROWD_WAIT_PART 3
#define CROWD_WAIT_NS 1000000
#define CROWD_IMPATIENCE 16

/* Do as many threads wait as are likely to want a sync soon? */
static bool crowd_is_there(const struct wal_crowd *c)
{
	return c->waiting - c->leaving >= c->size;
}

/*
 * Sleeps until a thread that came later leads, or until the time is over and
 * the caller has to lead. Under lock, by the first thread of the crowd.
 */
static void gather_crowd(struct wal *w)
{
	struct wal_crowd *c = &w->crowd;
	uint64_t own = ++c->clocks, ns;

	ns = c->sync_ns / CROWD_WAIT_PART;
	if (ns > CROWD_WAIT_NS)
		ns = CROWD_WAIT_NS;
	ns += monotonic_ns();
	c->clock = own;
	while (c->clock == own && !atomic_load(&w->failed))
		if (!clock_cond_wait(&w->synced_cond, &w->lock, ns))
			break;
	/*
	 * Otherwise another thread led, and the clock may be the next crowd's.
	 */
	if (c->clock == own) {
		c->clock = 0;
		c->impatient = CROWD_IMPATIENCE;
	}
}

/*
 * Makes all records up to @target, the end, durable, and maybe more. Called and
 * returns under lock, which it releases while the disk works.
 */
static int make_durable(struct wal *w, uint64_t target)
{
	bool direct = wal_direct_fits(w, target);
	struct os_file *file = w->file;
	uint64_t begin;
	int rc = 0;

	if (!direct) {
		rc = wal_drain(w);
		target = atomic_load(&w->drained);
	}
	if (rc < 0)
		return rc;
	assert(!w->direct.busy);
	w->direct.busy = direct;
	begin = os_monotonic_ns(w->dir->os);
	pthread_mutex_unlock(&w->lock);
	rc = direct ? wal_direct_write(w, target) : os_fdatasync(file);
	pthread_mutex_lock(&w->lock);
	w->direct.busy = false;
	w->crowd.sync_ns = os_monotonic_ns(w->dir->os) - begin;
	if (rc < 0)
		return wal_fail_locked(w, rc);
	assert(atomic_load(&w->synced) <= target && target <= wal_end(w));
	if (direct)
		atomic_store_explicit(&w->drained, target,
				      memory_order_release);
	atomic_store_explicit(&w->synced, target, memory_order_release);
	return 0;
}

/*
 * Syncs for all threads that wait, up to the present end of the log. Called and
 * returns under lock; the caller wakes the others after releasing it. Without
 * @of_crowd the caller is not expected to sync again soon.
 */
static int lead(struct wal *w, bool of_crowd)
{
	struct wal_crowd *c = &w->crowd;
	/* All threads that wait have appended before. */
	unsigned served = c->waiting - c->leaving;
	uint64_t target = wal_end(w);
	int rc = 0;

	assert(!w->syncing);
	assert(c->leaving <= c->waiting);
	w->syncing = true;
	c->clock = 0;
	if (of_crowd && c->impatient)
		c->impatient--;
	if (target != atomic_load(&w->synced)) {
		rc = make_durable(w, target);
		if (rc == 0) {
			w->syncs++;
			if (of_crowd)
				c->size = c->waiting - c->leaving;
			/* Some of the served may have left by now. */
			c->leaving += served;
			if (c->leaving > c->waiting)
				c->leaving = c->waiting;
		}
	}
	w->syncing = false;
	return rc;
}

int wal_sync(struct wal *w, uint64_t lsn)
{
	struct wal_crowd *c = &w->crowd;
	bool led = false;
	uint64_t end;
	int rc = 0;

	if (atomic_load_explicit(&w->synced, memory_order_acquire) >= lsn)
		return 0;
	end = wal_end(w);
	if (lsn > end)
		lsn = end;
	pthread_mutex_lock(&w->lock);
	if (atomic_load(&w->synced) >= lsn)
		goto out;
	c->waiting++;
	while (atomic_load(&w->synced) < lsn && rc == 0) {
		if (atomic_load(&w->failed) || w->read_only) {
			rc = wal_refused(w);
		} else if (w->syncing) {
			pthread_cond_wait(&w->synced_cond, &w->lock);
		} else if (crowd_is_there(c) || c->impatient) {
			rc = lead(w, true);
			led = true;
		} else if (c->clock) {
			pthread_cond_wait(&w->synced_cond, &w->lock);
		} else {
			gather_crowd(w);
		}
	}
	assert(c->waiting > 0);
	c->waiting--;
	if (c->leaving)
		c->leaving--;
out:
	pthread_mutex_unlock(&w->lock);
	/* After the unlock, so that woken threads find the lock free. */
	if (led)
		pthread_cond_broadcast(&w->synced_cond);
	return rc;
}

/* Syncs everything, for a caller that no crowd should wait for. */
static int sync_aside(struct wal *w)
{
	uint64_t lsn = wal_end(w);
	bool led = false;
	int rc = 0;

	pthread_mutex_lock(&w->lock);
	while (atomic_load(&w->synced) < lsn && rc == 0) {
		if (atomic_load(&w->failed)) {
			rc = wal_refused(w);
		} else if (w->syncing) {
			pthread_cond_wait(&w->synced_cond, &w->lock);
		} else {
			rc = lead(w, false);
			led = true;
		}
	}
	pthread_mutex_unlock(&w->lock);
	if (led)
		pthread_cond_broadcast(&w->synced_cond);
	return rc;
}

int wal_tick(struct wal *w)
{
	bool active;
	int rc;

	if (w->read_only)
		return 0;
	if (atomic_load(&w->failed))
		return wal_refused(w);
	rc = sync_aside(w);
	if (rc < 0)
		return rc;
	pthread_mutex_lock(&w->lock);
	rc = wal_await_cache(w);
	active = w->file != NULL;
	if (rc == 0 && active && w->marked < atomic_load(&w->synced))
		rc = wal_write_mark(w);
	pthread_mutex_unlock(&w->lock);
	if (rc < 0 || (!active && !w->keeps_reserve))
		return rc;
	return wal_prepare(w);
}
