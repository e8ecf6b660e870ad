#include "tests/model/subject.h"

#include "store/lsm/admin/engine.h"
#include "tests/sim/os_sim.h"

static struct store_options options_of(const struct world *w)
{
	return (struct store_options){
		.create = true,
		.inline_background = !w->threads,
		.os = w->os,
		.cache_bytes = 64 << 10,
		.write_buffer_bytes = !w->tiny	  ? 1 << 20
				      : w->narrow ? 16 << 10
						  : 4 << 10,
		.wal_segment_bytes = w->narrow ? 8 << 10
				     : w->tiny ? 16 << 10
					       : 1 << 20,
		.wal_ring_bytes = 8 << 10,
		.table_file_bytes = w->tiny ? 1 << 10 : 1 << 20,
		/* Columns are short: who has walked a step asks others. */
		.patience = w->narrow ? 2 : 1,
	};
}

static int reopen(struct world *w, bool die)
{
	struct store_options o = options_of(w);
	struct store *s = w->store;
	int r = 0;

	w->store = NULL;
	if (die)
		lsm_abandon(s);
	else
		r = store_close(s);
	return r < 0 ? r : store_open("/store", &o, &w->store);
}

static void tell_now(struct world *w, int64_t now)
{
	sim_set_now_ms(w->disk, now);
}

int subject_lsm_open(struct os *os, struct os *disk, struct world *w)
{
	struct store_options o;

	w->os = os;
	w->disk = disk;
	w->reopen = reopen;
	w->set_now = tell_now;
	o = options_of(w);
	return store_open("/store", &o, &w->store);
}

int subject_lsm(const struct step_mode *mode, struct world *w)
{
	struct os *disk = sim_new(1);
	int r;

	w->tiny = mode->tiny;
	w->narrow = mode->narrow;
	r = subject_lsm_open(disk, disk, w);
	if (r < 0)
		sim_free(disk);
	return r;
}

void subject_lsm_free(struct world *w)
{
	if (w->store)
		store_close(w->store);
	sim_free(w->disk);
}
