/* The write-ahead log on a real directory. Crashes of it: wal_crash.c. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "store/lsm/wal/wal.h"
#include "store/lsm/wal/wal_live.h"
#include "store/lsm/wal/wal_replay.h"
#include "store/lsm/wal/wal_salvage.h"
#include "store/value/why.h"
#include "tests/sim/os_fault.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/wal_records.h"

struct place {
	char path[64];
	struct os_dir *dir;
	struct wal_options o;
};

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	snprintf(p->path, sizeof(p->path), "%s", "/tmp/cellfs-wal-XXXXXX");
	assert_non_null(mkdtemp(p->path));
	assert_int_equal(os_dir_open(os_posix(), p->path, false, &p->dir), 0);
	p->o = (struct wal_options){.segment_bytes = 16384, .ring_bytes = 4096};
	*state = p;
	return 0;
}

static int remove_one(void *dir, const char *name)
{
	return os_unlink(dir, name);
}

static void clear(struct place *p)
{
	assert_int_equal(os_dir_list(p->dir, remove_one, p->dir), 0);
}

static int tear_down(void **state)
{
	struct place *p = *state;

	clear(p);
	os_dir_close(p->dir);
	assert_int_equal(rmdir(p->path), 0);
	free(p);
	return 0;
}

static struct wal *open_wal(struct place *p, uint64_t first, struct seen *s)
{
	struct wal *w = NULL;
	int rc = wal_open(p->dir, &p->o, first, false, see, s, &w);

	if (rc)
		print_message("%s\n", store_why());
	assert_int_equal(rc, 0);
	assert_false(s->wrong);
	return w;
}

static void append(struct wal *w, uint32_t n, size_t len, uint64_t *lsn)
{
	assert_int_equal(append_record(w, n, len, lsn), 0);
}

/* What SIGKILL leaves: all that was stored to files, nothing closed. */
static struct place *kill_here(struct place *p)
{
	struct place *q = calloc(1, sizeof(*q));
	char cmd[256];

	snprintf(q->path, sizeof(q->path), "%s", "/tmp/cellfs-wal-XXXXXX");
	assert_non_null(mkdtemp(q->path));
	snprintf(cmd, sizeof(cmd), "cp %s/* %s/", p->path, q->path);
	assert_int_equal(system(cmd), 0);
	assert_int_equal(os_dir_open(os_posix(), q->path, false, &q->dir), 0);
	q->o = p->o;
	return q;
}

TEST_IN(all_appended_records_come_back_in_order, set_up, tear_down)
{
	struct place *p = *state;
	struct seen s = {0};
	struct wal *w = open_wal(p, 5, &s);
	uint64_t lsn, before = 0;

	assert_int_equal(s.next, 0);
	for (uint32_t n = 0; n < 500; n++) {
		append(w, n, length_of(n), &lsn);
		assert_true(lsn > before);
		before = lsn;
	}
	assert_int_equal(wal_end(w), lsn);
	assert_int_equal(wal_close(w), 0);
	/* And again, appending in between. */
	for (uint32_t round = 0; round < 5; round++) {
		s = (struct seen){0};
		w = open_wal(p, 5, &s);
		assert_int_equal(s.next, 500 + round);
		append(w, s.next, length_of(s.next), &lsn);
		assert_int_equal(wal_close(w), 0);
	}
}

TEST_IN(what_only_the_ring_holds_survives_the_process, set_up, tear_down)
{
	struct place *p = *state, *q;
	struct seen s = {0};
	struct wal *w = open_wal(p, 0, &s), *v;
	uint64_t lsn;

	for (uint32_t n = 0; n < 300; n++) {
		append(w, n, length_of(n), &lsn);
		if (n % 7 == 0)
			assert_int_equal(wal_sync(w, lsn), 0);
		if (n > 20 && n % 13)
			continue;
		q = kill_here(p);
		s = (struct seen){0};
		v = open_wal(q, 0, &s);
		assert_int_equal(s.next, n + 1);
		append(v, n + 1, length_of(n + 1), &lsn);
		assert_int_equal(wal_close(v), 0);
		s = (struct seen){0};
		v = open_wal(q, 0, &s);
		assert_int_equal(s.next, n + 2);
		assert_int_equal(wal_close(v), 0);
		tear_down((void **)&q);
	}
	assert_int_equal(wal_close(w), 0);
}

static size_t big_length(uint32_t n)
{
	static const size_t of[] = {10,	   3000, 5000,	60,	70000, 8,
				    40000, 66,	 12000, 199000, 100};

	return of[n % 11];
}

struct salvaged {
	struct seen seen;
	int losses;
};

static int see_salvaged(void *arg, struct bytes record)
{
	struct salvaged *s = arg;

	return see(&s->seen, 0, record);
}

static void count_loss(void *arg, const struct wal_loss *loss)
{
	struct salvaged *s = arg;

	print_message("%s: %s\n", loss->file, loss->reason);
	s->losses++;
}

TEST_IN(what_only_the_ring_holds_is_salvaged, set_up, tear_down)
{
	struct place *p = *state;
	struct seen s = {0};
	struct wal *w = open_wal(p, 0, &s);
	uint64_t lsn;

	for (uint32_t n = 0; n < 300; n++) {
		struct salvaged k = {0};
		struct wal_salvage all = {.dir = p->dir,
					  .each = see_salvaged,
					  .lost = count_loss,
					  .arg = &k};

		append(w, n, length_of(n), &lsn);
		assert_int_equal(wal_salvage(&all), 0);
		assert_false(k.seen.wrong);
		assert_int_equal(k.seen.next, n + 1);
		assert_int_equal(k.losses, 0);
	}
	assert_int_equal(wal_close(w), 0);
}

TEST_IN(records_bigger_than_ring_and_segment_fit, set_up, tear_down)
{
	struct place *p = *state, *q;
	struct seen s = {.length = big_length};
	struct wal *w = open_wal(p, 0, &s), *v;
	uint64_t lsn;

	for (uint32_t n = 0; n < 44; n++) {
		append(w, n, big_length(n), &lsn);
		q = kill_here(p);
		s = (struct seen){.length = big_length};
		v = open_wal(q, 0, &s);
		assert_int_equal(s.next, n + 1);
		assert_int_equal(wal_close(v), 0);
		tear_down((void **)&q);
	}
	assert_int_equal(wal_close(w), 0);
	s = (struct seen){.length = big_length};
	w = open_wal(p, 0, &s);
	assert_int_equal(s.next, 44);
	assert_int_equal(wal_close(w), 0);
}

struct copying {
	struct place *from, *to;
	int files;
};

static int copy_part(void *arg, const struct wal_file *f)
{
	struct copying *c = arg;
	char cmd[512];

	snprintf(cmd, sizeof(cmd),
		 "head -c %llu %s/%s > %s/%s && truncate -s %llu %s/%s",
		 (unsigned long long)f->bytes, c->from->path, f->name,
		 c->to->path, f->name, (unsigned long long)f->size, c->to->path,
		 f->name);
	c->files++;
	return system(cmd) ? -EIO : 0;
}

TEST_IN(what_is_held_is_the_log_of_that_moment, set_up, tear_down)
{
	struct place *p = *state, *q = NULL;
	struct seen s = {0};
	struct wal *w = open_wal(p, 0, &s), *v;
	uint64_t lsn, end, pos, segment, again;
	struct wal_stat st;

	for (uint32_t n = 0; n < 300; n++)
		append(w, n, length_of(n), &lsn);
	assert_int_equal(wal_hold(w, &end, &pos), 0);
	assert_int_equal(pos, lsn);
	/* Nothing that comes is in it, and what is in it stays. */
	for (uint32_t n = 300; n < 900; n++) {
		append(w, n, length_of(n), &lsn);
		if (n % 100)
			continue;
		assert_int_equal(wal_rotate(w, &segment), 0);
		assert_int_equal(wal_release(w, segment), 0);
	}
	wal_stat(w, &st);
	assert_int_equal(st.recycled, 0);
	set_up((void **)&q);
	assert_int_equal(wal_files(w, 0, end, pos, copy_part,
				   &(struct copying){p, q, 0}),
			 0);
	s = (struct seen){0};
	v = open_wal(q, 0, &s);
	assert_int_equal(s.next, 300);
	append(v, 300, length_of(300), &lsn);
	assert_int_equal(wal_close(v), 0);
	tear_down((void **)&q);
	/* Two hold it: it goes when the second one is gone. */
	assert_int_equal(wal_hold(w, &again, &pos), 0);
	wal_let_go(w);
	assert_int_equal(wal_release(w, segment), 0);
	wal_stat(w, &st);
	assert_int_equal(st.recycled, 0);
	wal_let_go(w);
	assert_int_equal(wal_release(w, segment), 0);
	wal_stat(w, &st);
	assert_true(st.recycled > 0);
	assert_int_equal(wal_close(w), 0);
}

TEST_IN(a_record_without_end_is_refused, set_up, tear_down)
{
	struct place *p = *state;
	struct seen s = {0};
	struct wal *w = open_wal(p, 0, &s);
	struct bytes huge[2] = {{(const uint8_t *)"", SIZE_MAX - 5},
				{(const uint8_t *)"", 9}};
	uint64_t lsn;

	assert_int_equal(wal_append(w, huge, 2, &lsn), -EFBIG);
	append(w, 0, length_of(0), &lsn);
	assert_int_equal(wal_close(w), 0);
}

TEST_IN(released_segments_are_recycled_and_hold_nothing_old, set_up, tear_down)
{
	struct place *p = *state, *q;
	struct seen s = {0};
	struct wal *w = open_wal(p, 1, &s), *v;
	uint64_t lsn, segment = 1, was = 1;
	struct wal_stat st;
	uint32_t first = 0;

	for (uint32_t n = 0; n < 1500; n++) {
		append(w, n, length_of(n), &lsn);
		if (n % 83 == 82) {
			was = segment;
			assert_int_equal(wal_rotate(w, &segment), 0);
			assert_true(segment > was);
			assert_int_equal(wal_release(w, segment), 0);
			first = n + 1;
		}
		if (n % 20 == 0) {
			q = kill_here(p);
			s = (struct seen){.next = first};
			v = open_wal(q, segment, &s);
			assert_int_equal(s.next, n + 1);
			assert_int_equal(wal_close(v), 0);
			tear_down((void **)&q);
		}
	}
	wal_stat(w, &st);
	assert_true(st.recycled > 5);
	assert_int_equal(st.records, 1500);
	assert_true(st.segments <= 3);
	assert_int_equal(wal_close(w), 0);
}

TEST_IN(an_empty_segment_is_not_rotated_again, set_up, tear_down)
{
	struct place *p = *state;
	struct seen s = {0};
	struct wal *w = open_wal(p, 3, &s);
	uint64_t a, b, lsn;

	assert_int_equal(wal_rotate(w, &a), 0);
	assert_int_equal(a, 3);
	append(w, 0, length_of(0), &lsn);
	assert_int_equal(wal_rotate(w, &a), 0);
	assert_int_equal(a, 4);
	assert_int_equal(wal_rotate(w, &b), 0);
	assert_int_equal(b, 4);
	assert_int_equal(wal_close(w), 0);
}

TEST_IN(reading_only_changes_nothing, set_up, tear_down)
{
	struct place *p = *state, *q;
	struct seen s = {0};
	struct wal *w = open_wal(p, 0, &s), *v;
	struct bytes part = bytes_str("x");
	char cmd[256];
	uint64_t lsn;

	for (uint32_t n = 0; n < 100; n++)
		append(w, n, length_of(n), &lsn);
	q = kill_here(p);
	s = (struct seen){0};
	assert_int_equal(wal_open(q->dir, &q->o, 0, true, see, &s, &v), 0);
	assert_int_equal(s.next, 100);
	assert_int_equal(wal_append(v, &part, 1, &lsn), -EROFS);
	assert_int_equal(wal_tick(v), 0);
	assert_int_equal(wal_close(v), 0);
	snprintf(cmd, sizeof(cmd), "diff -r %s %s", p->path, q->path);
	assert_int_equal(system(cmd), 0);
	tear_down((void **)&q);
	assert_int_equal(wal_close(w), 0);
}

/* Puts there what a log keeps ready, as a process that died left it. */
static void leave_files(struct place *p)
{
	static const char *const names[] = {WAL_SPARE_NAME, WAL_RESERVE_NAME,
					    WAL_NEW_NAME};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct os_file *f = NULL;

		assert_int_equal(os_open(p->dir, names[i], OS_CREATE, &f), 0);
		os_close(f);
	}
}

static int count_left(void *n, const char *name)
{
	*(int *)n += !strcmp(name, WAL_SPARE_NAME) ||
		     !strcmp(name, WAL_RESERVE_NAME) ||
		     !strcmp(name, WAL_NEW_NAME);
	return 0;
}

static int files_left(struct place *p)
{
	int n = 0;

	assert_int_equal(os_dir_list(p->dir, count_left, &n), 0);
	return n;
}

TEST_IN(what_a_dead_process_kept_ready_goes, set_up, tear_down)
{
	struct place *p = *state;
	struct os *os = fault_new(os_posix());
	struct seen s = {0};
	struct wal *w;

	leave_files(p);
	os_dir_close(p->dir);
	assert_int_equal(os_dir_open(os, p->path, false, &p->dir), 0);
	/* Whichever of them cannot be removed, the opening fails. */
	for (uint64_t nth = 1; nth <= 3; nth++) {
		leave_files(p);
		fault_arm(os, &(struct fault_plan){.kinds = FAULT_UNLINK,
						   .err = EIO,
						   .nth = nth});
		assert_int_equal(wal_open(p->dir, &p->o, 0, false, see, &s, &w),
				 -EIO);
		assert_int_equal(fault_fired(os), 1);
		fault_disarm(os);
		assert_int_equal(files_left(p), 4 - (int)nth);
	}
	leave_files(p);
	w = open_wal(p, 0, &s);
	assert_int_equal(files_left(p), 0);
	assert_int_equal(wal_close(w), 0);
	clear(p);
	os_dir_close(p->dir);
	fault_free(os);
	assert_int_equal(os_dir_open(os_posix(), p->path, false, &p->dir), 0);
}

TEST_IN(a_tick_is_none_of_the_crowd, set_up, tear_down)
{
	struct place *p = *state;
	struct seen s = {0};
	struct wal *w = open_wal(p, 0, &s);
	uint64_t lsn;

	append(w, 0, length_of(0), &lsn);
	assert_int_equal(wal_tick(w), 0);
	assert_true(atomic_load(&w->synced) >= lsn);
	/* Nobody is waited for because of it. */
	assert_int_equal(w->crowd.size, 0);
	append(w, 1, length_of(1), &lsn);
	assert_int_equal(wal_sync(w, lsn), 0);
	assert_int_equal(w->crowd.size, 1);
	append(w, 2, length_of(2), &lsn);
	assert_int_equal(wal_tick(w), 0);
	assert_true(atomic_load(&w->synced) >= lsn);
	assert_int_equal(w->crowd.size, 1);
	assert_int_equal(wal_close(w), 0);
}

TEST_IN(a_missing_segment_is_named, set_up, tear_down)
{
	struct place *p = *state;
	struct seen s = {0};
	struct wal *w = open_wal(p, 0, &s);
	uint64_t lsn;

	for (uint32_t n = 0; n < 300; n++)
		append(w, n, length_of(n), &lsn);
	assert_int_equal(wal_close(w), 0);
	assert_int_equal(os_unlink(p->dir, "wal-0000000000000001.log"), 0);
	assert_int_equal(wal_open(p->dir, &p->o, 0, false, see, &s, &w),
			 -EUCLEAN);
	assert_non_null(strstr(store_why(), "wal-0000000000000001.log"));
	assert_int_equal(wal_open(p->dir, &p->o, 1, false, see, &s, &w),
			 -EUCLEAN);
}

struct crowd {
	struct wal *w;
	pthread_mutex_t commit;
	uint32_t next;		 /* under commit */
	uint64_t segment;	 /* under commit */
	uint32_t floor;		 /* under commit */
	_Atomic uint32_t synced; /* records below it are on disk */
	atomic_bool over;
};

#define EACH 400

static void *member(void *arg)
{
	struct crowd *c = arg;

	for (int i = 0; i < EACH; i++) {
		uint32_t n, was;
		uint64_t lsn;

		pthread_mutex_lock(&c->commit);
		n = c->next++;
		if (append_record(c->w, n, length_of(n), &lsn))
			abort();
		if (n % 200 == 199) {
			if (wal_rotate(c->w, &c->segment) ||
			    wal_release(c->w, c->segment))
				abort();
			c->floor = n + 1;
		}
		pthread_mutex_unlock(&c->commit);
		if (n % 3)
			continue;
		if (wal_sync(c->w, lsn))
			abort();
		was = atomic_load(&c->synced);
		while (was < n + 1 &&
		       !atomic_compare_exchange_weak(&c->synced, &was, n + 1))
			;
	}
	return NULL;
}

static void *ticker(void *arg)
{
	struct crowd *c = arg;
	struct wal_stat st;

	while (!atomic_load(&c->over)) {
		if (wal_tick(c->w))
			abort();
		wal_stat(c->w, &st);
		usleep(500);
	}
	return NULL;
}

TEST_IN(many_threads_append_sync_and_rotate, set_up, tear_down)
{
	struct place *p = *state, *q;
	struct seen s = {0};
	struct crowd c = {.w = open_wal(p, 0, &s),
			  .commit = PTHREAD_MUTEX_INITIALIZER};
	pthread_t t[9];
	struct wal_stat st;
	struct wal *v;

	assert_int_equal(pthread_create(&t[8], NULL, ticker, &c), 0);
	for (int i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&t[i], NULL, member, &c), 0);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	atomic_store(&c.over, true);
	pthread_join(t[8], NULL);
	assert_int_equal(c.next, 8 * EACH);
	assert_true(c.synced <= c.next && c.synced > 0);
	q = kill_here(p);
	s = (struct seen){.next = c.floor};
	v = open_wal(q, c.segment, &s);
	assert_int_equal(s.next, c.next);
	assert_int_equal(wal_close(v), 0);
	tear_down((void **)&q);
	wal_stat(c.w, &st);
	/* Those who wait share syncs. */
	assert_true(st.syncs < 8 * EACH);
	assert_int_equal(wal_close(c.w), 0);
}

/* What the log had the disk begin with: of each file in order, no gap. */
static struct begun {
	char file[48];
	uint64_t to;	/* in the file */
	uint64_t bytes; /* in all */
	bool wrong;
} begun;

static void note_write_out(struct os_file *f, uint64_t off, uint64_t n)
{
	uint64_t size = 0;

	if (strcmp(begun.file, f->name)) {
		memcpy(begun.file, f->name, sizeof(begun.file));
		begun.to = WAL_BLOCK_BYTES;
	}
	if (off != begun.to || os_size(f, &size) < 0 || off + n > size)
		begun.wrong = true;
	begun.to = off + n;
	begun.bytes += n;
}

TEST_IN(the_disk_begins_before_a_segment_ends, set_up, tear_down)
{
	enum {
		LEN = 30000,
		MIB = 1 << 20
	};
	struct place *p = *state;
	const struct os_ops *real = os_posix()->ops;
	struct os_ops ops = *real;
	struct seen s = {0};
	uint64_t lsn, segment;
	struct wal_stat st;
	struct wal *w;

	p->o = (struct wal_options){.segment_bytes = 8 * MIB,
				    .ring_bytes = MIB};
	w = open_wal(p, 0, &s);
	ops.write_out = note_write_out;
	os_posix()->ops = &ops;
	memset(&begun, 0, sizeof(begun));
	/* Now through the ring, now past it; two segments end by themselves. */
	for (uint32_t n = 0; n < 800; n++) {
		append(w, n, n % 3 ? LEN / 100 : LEN, &lsn);
		if (n % 3 == 0)
			append(w, n, 3 * LEN, &lsn);
		if (n % 97 == 0)
			assert_int_equal(wal_sync(w, lsn), 0);
		if (n == 700)
			assert_int_equal(wal_rotate(w, &segment), 0);
	}
	os_posix()->ops = real;
	assert_false(begun.wrong);
	wal_stat(w, &st);
	assert_true(st.segments >= 4);
	/* Of each segment all but the last two MiB and a drain. */
	assert_true(begun.bytes <= lsn);
	assert_true(begun.bytes + st.segments * 3 * MIB >= lsn);
	assert_true(begun.bytes >= 8 * MIB);
	assert_int_equal(wal_close(w), 0);
}

/* What it is to open a log of which the ring cannot be mapped. */
static int open_without_map(int err, uint64_t *ring_bytes)
{
	struct wal_options o = {.segment_bytes = 16384, .ring_bytes = 4096};
	struct os *sim = sim_new(1), *os = fault_new(sim);
	struct seen s = {0};
	struct wal *w = NULL;
	struct os_dir *d;
	uint64_t lsn;
	int r;

	assert_int_equal(os_dir_open(os, "/s", true, &d), 0);
	fault_arm(os, &(struct fault_plan){.kinds = FAULT_MAP,
					   .err = err,
					   .nth = 1,
					   .forever = true});
	r = wal_open(d, &o, 1, false, see, &s, &w);
	if (r == 0) {
		*ring_bytes = w->ring_bytes;
		append(w, 0, 100, &lsn);
		assert_int_equal(wal_sync(w, lsn), 0);
		assert_int_equal(wal_close(w), 0);
	}
	os_dir_close(d);
	fault_free(os);
	sim_free(sim);
	return r;
}

TEST(without_space_or_mmap_the_log_works_without_a_ring)
{
	const int without[] = {ENOSPC, EDQUOT, ENODEV, EOPNOTSUPP};
	uint64_t ring;

	for (int i = 0; i < 4; i++) {
		assert_int_equal(open_without_map(without[i], &ring), 0);
		assert_int_equal(ring, 0);
	}
	assert_int_equal(open_without_map(EIO, &ring), -EIO);
}

TEST(what_is_kept_ready_is_a_small_part_of_the_disk)
{
	enum {
		MIB = 1 << 20
	};
	struct os *os = sim_new(1);
	struct os_dir *d;

	assert_int_equal(os_dir_open(os, "/s", true, &d), 0);
	assert_int_equal(wal_fit(d, 64 * MIB, MIB), 64 * MIB);
	sim_set_space(os, 64 * 32 * (uint64_t)MIB);
	assert_int_equal(wal_fit(d, 64 * MIB, MIB), 64 * MIB);
	sim_set_space(os, 64 * 32 * (uint64_t)MIB - 4096);
	assert_int_equal(wal_fit(d, 64 * MIB, MIB), 32 * MIB);
	sim_set_space(os, MIB);
	assert_int_equal(wal_fit(d, 64 * MIB, MIB), MIB);
	os_dir_close(d);
	sim_free(os);
}
