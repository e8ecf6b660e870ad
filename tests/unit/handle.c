#include "tests/unit/unit.h"
#include "fs/kernel/handle.h"

static int released, freed;
static struct budget budget;

static void release(struct fs *fs, struct open_file *f)
{
	released++;
}

static void free_one(struct open_file *f)
{
	freed++;
}

static const struct file_ops dir_ops = {.free = free_one};
static const struct file_ops file_ops = {.release = release, .free = free_one};

static struct open_file a_file(const struct file_ops *ops)
{
	return (struct open_file){.ops = ops, .refs = 1};
}

static uint64_t opened(struct handles *hs, struct open_file *f)
{
	struct fuse_file_info fi = {0};

	assert_int_equal(handles_open(hs, f, &fi), 0);
	assert_true(fi.fh != 0);
	return fi.fh;
}

/* handles_get() that keeps no reference. */
static struct open_file *got(struct handles *hs, uint64_t fh,
			     const struct file_ops *ops)
{
	struct open_file *f = handles_get(hs, fh, ops);

	open_file_drop(f);
	return f;
}

static int begin(void **state)
{
	released = freed = 0;
	budget_init(&budget, 64 << 20);
	return handles_new(&budget, (struct handles **)state);
}

EACH_TEST_IN(begin, NULL);

TEST(a_number_of_one_type_is_refused_as_another)
{
	struct open_file dir = a_file(&dir_ops);
	struct handles *hs = *state;
	uint64_t fh = opened(hs, &dir);

	assert_ptr_equal(got(hs, fh, &dir_ops), &dir);
	assert_ptr_equal(got(hs, fh, NULL), &dir);
	assert_null(got(hs, fh, &file_ops));
	handles_release(hs, NULL, fh);
	assert_null(got(hs, fh, NULL));
	handles_free(hs, NULL);
}

TEST(a_number_is_not_used_twice)
{
	struct open_file a = a_file(&file_ops), b = a_file(&file_ops);
	struct handles *hs = *state;
	uint64_t old = opened(hs, &a), new;

	handles_release(hs, NULL, old);
	new = opened(hs, &b);
	assert_true(new != old);
	assert_null(got(hs, old, &file_ops));
	handles_release(hs, NULL, old);
	assert_int_equal(released, 1);
	assert_ptr_equal(got(hs, new, &file_ops), &b);
	handles_free(hs, NULL);
}

TEST(made_up_numbers_are_refused)
{
	struct open_file dir = a_file(&dir_ops);
	struct handles *hs = *state;
	uint64_t fh;

	assert_null(got(hs, 0, NULL));
	assert_null(got(hs, UINT64_MAX, NULL));
	fh = opened(hs, &dir);
	for (int bit = 0; bit < 64; bit++)
		assert_null(got(hs, fh ^ 1ull << bit, NULL));
	handles_free(hs, NULL);
}

TEST(who_uses_a_file_has_it_beyond_its_release)
{
	struct open_file f = a_file(&file_ops);
	struct handles *hs = *state;
	uint64_t fh = opened(hs, &f);

	assert_ptr_equal(handles_get(hs, fh, NULL), &f);
	handles_release(hs, NULL, fh);
	assert_int_equal(released, 1);
	assert_int_equal(freed, 0);
	open_file_drop(&f);
	assert_int_equal(freed, 1);
	handles_free(hs, NULL);
	assert_int_equal(freed, 1);
}

TEST(what_is_left_open_is_released_at_the_end)
{
	struct open_file dir = a_file(&dir_ops), f = a_file(&file_ops);
	struct handles *hs = *state;

	opened(hs, &dir);
	opened(hs, &f);
	handles_free(hs, NULL);
	assert_int_equal(released, 1);
	assert_int_equal(freed, 2);
}

static void count(void *arg, struct open_file *f)
{
	++*(int *)arg;
}

struct visit {
	struct handles *hs;
	uint64_t fh[2];
	int n;
};

/* Opens and releases as who gives memory back may, and goes on to the next. */
static void release_all(void *arg, struct open_file *f)
{
	struct visit *v = arg;

	assert_int_equal(handles_count(v->hs), v->n ? 0 : 2);
	handles_release(v->hs, NULL, v->fh[0]);
	handles_release(v->hs, NULL, v->fh[1]);
	assert_int_equal(f->refs, 1);
	v->n++;
}

TEST(who_looks_at_each_may_use_the_table)
{
	struct open_file a = a_file(&dir_ops), b = a_file(&dir_ops);
	struct visit v = {.hs = *state};

	v.fh[0] = opened(v.hs, &a);
	v.fh[1] = opened(v.hs, &b);
	handles_each(v.hs, &dir_ops, release_all, &v);
	assert_int_equal(v.n, 1);
	assert_int_equal(freed, 2);
	handles_free(v.hs, NULL);
}

TEST(thousands_can_be_open)
{
	enum {
		N = 5000
	};
	static struct open_file files[N];
	static uint64_t fh[N];
	struct handles *hs = *state;
	int n = 0;

	for (int i = 0; i < N; i++) {
		files[i] = a_file(i % 2 ? &dir_ops : &file_ops);
		fh[i] = opened(hs, &files[i]);
	}
	assert_int_equal(handles_count(hs), N);
	handles_each(hs, &dir_ops, count, &n);
	assert_int_equal(n, N / 2);
	for (int i = 0; i < N; i++) {
		assert_ptr_equal(got(hs, fh[i], files[i].ops), &files[i]);
		handles_release(hs, NULL, fh[i]);
	}
	assert_int_equal(handles_count(hs), 0);
	assert_int_equal(freed, N);
	handles_free(hs, NULL);
}

TEST(who_has_most_open_is_refused_and_others_are_not)
{
	enum {
		N = 5000
	};
	static struct open_file files[N];
	struct handles *hs = *state;
	struct fuse_file_info fi = {0};
	struct open_file other = a_file(&file_ops);
	int n = 0;

	budget_init(&budget, 1 << 20);
	budget_ask_as(1);
	for (; n < N; n++) {
		files[n] = a_file(&file_ops);
		if (handles_open(hs, &files[n], &fi) < 0)
			break;
	}
	/* Three times what is left free, of 1 KiB each. */
	assert_true(n > 700 && n < 800);
	assert_int_equal(handles_open(hs, &files[n], &fi), -ENFILE);
	budget_ask_as(2);
	assert_int_equal(handles_open(hs, &other, &fi), 0);
	handles_free(hs, NULL);
	assert_int_equal(budget.held, 0);
	budget_ask_as(0);
}
