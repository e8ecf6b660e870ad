/* The texts of .cellfs: each is whole, or an error. */
#include "tests/unit/kernel.h"

#include "fs/control/control.h"
#include "fs/tree/control_file.h"

EACH_TEST_IN(world_set_up, world_tear_down);

/* So many more times words are put into a buffer, then memory is out once. */
static unsigned prints;

int __wrap_buf_printf(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int __wrap_buf_printf(struct buf *b, const char *fmt, ...)
{
	static char text[16384];
	va_list ap;
	int n;

	if (prints-- == 0)
		return -ENOMEM;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	assert_in_range(n, 0, sizeof(text) - 1);
	return buf_append(b, text, (size_t)n);
}

/* How often words are put there for the text of that file. */
static unsigned prints_of(enum control_id id)
{
	struct buf out = {0};

	prints = UINT32_MAX;
	assert_int_equal(control_text(world.fs, id, &out), 0);
	buf_free(&out);
	return UINT32_MAX - prints;
}

TEST(a_text_is_whole_or_an_error)
{
	struct buf out = {0};
	char longest[TABLE_NAME_LEN_MAX + 1];
	uint64_t table;
	const char *name;

	prints = UINT32_MAX;
	a_row_with_a_cell(&table);
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	made_dir(FUSE_ROOT_ID, longest);
	assert_int_equal(make_dir(FUSE_ROOT_ID, "no table"), -EINVAL);
	for (unsigned i = 0; (name = control_name(world.fs, i)); i++) {
		enum control_id id = control_find(bytes_str(name))->id;
		unsigned n;

		if (id == CONTROL_TRACE)
			continue;
		n = prints_of(id);
		/* Without a sandbox there is nothing that was given up. */
		assert_true(n > 0 || id == CONTROL_STATUS);
		for (unsigned k = 0; k < n; k++) {
			prints = k;
			out.len = 0;
			if (control_text(world.fs, id, &out) != -ENOMEM)
				fail_msg("%s, of which %u of %u could be said",
					 name, k, n);
		}
	}
	prints = UINT32_MAX;
	buf_free(&out);
}
