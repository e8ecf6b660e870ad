#include "tests/unit/backups.h"

#include "store/lsm/admin/engine.h"
#include "store/os/os.h"
#include "tests/unit/unit.h"

static struct os_ops ops;
struct os backups_os = {&ops};
int64_t backups_now;

static int64_t the_time(struct os *o)
{
	return backups_now;
}

BEFORE_MAIN(take_the_clock)
{
	ops = *os_posix()->ops;
	ops.now_ms = the_time;
	backups_now = 1700000000000;
}

void backups_end(struct temp_store *t, bool dies)
{
	if (dies) {
		table_unref(t->table);
		lsm_abandon(t->store);
	} else {
		assert_int_equal(temp_close(t), 0);
	}
}

static bool went(void *arg, uint64_t bytes)
{
	return true;
}

const struct carry_watch backups_watch = {went, NULL, NULL};

void backups_carry(const char *folder, struct store *s, const char *path)
{
	struct backup_done done;
	struct folder f;
	struct hold *h;

	assert_int_equal(folder_open(folder, FOLDER_MAKE, &f), 0);
	assert_int_equal(store_hold(s, &h), 0);
	if (backup_make(&f, path, h, SHARE_NOTHING, &backups_watch, &done) < 0)
		fail_msg("%s", store_why());
	hold_release(h);
	folder_close(&f);
}

void backups_carry_at_rest(const char *folder, struct temp_store *t, bool dies)
{
	struct store_options o = t->options;
	struct store *s;

	o.read_only = true;
	o.create = false;
	backups_end(t, dies);
	assert_int_equal(store_open(t->path, &o, &s), 0);
	backups_carry(folder, s, t->path);
	assert_int_equal(store_close(s), 0);
	assert_int_equal(temp_open(t), 0);
}

uint64_t backups_before(const struct folder *f, int64_t at, int64_t *taken)
{
	for (size_t i = f->n; i-- > 0;) {
		struct inventory r;

		assert_int_equal(folder_inventory(f, f->numbers[i], &r), 0);
		*taken = r.taken_ms;
		inventory_free(&r);
		if (*taken <= at)
			return f->numbers[i];
	}
	fail();
	return 0;
}
