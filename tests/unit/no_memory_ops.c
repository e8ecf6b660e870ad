/*
 * A mount for which memory cannot be had: each request is sent again and again,
 * and its first allocation fails, its second, and so on until none is left to
 * fail. Its reply is ENOMEM or what it would have been; what was acknowledged
 * is in the store, nothing else is, and when the kernel has forgotten its nodes
 * there are none.
 *
 * $CELLFS_ALLOCATIONS failures, or 3,000.
 */
#include "tests/unit/alloc_fault.h"
#include "tests/unit/kernel.h"

static struct {
	bool on;
	uint64_t nth, more, failed, failures, refused;
} fault;

/* What the kernel of the test itself allocates is spared. */
void __real_fuse_session_process_buf(struct fuse_session *se,
				     const struct fuse_buf *buf);
void __wrap_fuse_session_process_buf(struct fuse_session *se,
				     const struct fuse_buf *buf);
void __wrap_fuse_session_process_buf(struct fuse_session *se,
				     const struct fuse_buf *buf)
{
	if (fault.on)
		alloc_arm(fault.nth, fault.more);
	__real_fuse_session_process_buf(se, buf);
	fault.failed = fault.on ? alloc_disarm() : 0;
}

static int dropped; /* tables that were made in vain */

int __real_store_table_drop(struct store *s, struct bytes name,
			    bool only_if_empty);
int __wrap_store_table_drop(struct store *s, struct bytes name,
			    bool only_if_empty);
/* What another has put into such a table meanwhile stays. */
int __wrap_store_table_drop(struct store *s, struct bytes name,
			    bool only_if_empty)
{
	assert_true(only_if_empty);
	dropped++;
	return __real_store_table_drop(s, name, only_if_empty);
}

static void no_notice(int code, const uint8_t *data, size_t len)
{
}

/* 0, or ENOMEM because of the @nth allocation, 0 = none of which fails. */
static int try(const char *what, uint64_t nth, uint32_t opcode, uint64_t node,
	       struct bytes args, struct bytes rest)
{
	int r;

	fault.on = nth > 0;
	fault.nth = nth;
	fault.more = nth % 3 == 2 ? nth : 0;
	r = ask(opcode, node, args, rest);
	fault.on = false;
	fault.failures += fault.failed > 0;
	fault.refused += r == -ENOMEM;
	/* A table or snapshot stays where there is no memory to take it back. */
	if (r == -EEXIST && nth > 1 && opcode == FUSE_MKDIR &&
	    (nth - 1) % 3 == 2)
		return r;
	if (r != 0 && (r != -ENOMEM || !fault.failed))
		fail_msg("%s without allocation %llu: %d, %s", what,
			 (unsigned long long)nth, r, store_why());
	return r;
}

/* A request, with each of its allocations failing in turn until it succeeds. */
static int want(const char *what, uint32_t opcode, uint64_t node,
		struct bytes args, struct bytes rest)
{
	uint64_t nth = 1;
	int r;

	while ((r = try(what, nth, opcode, node, args, rest)) == -ENOMEM)
		nth++;
	return r;
}

/* The same for one whose reply gives a node, which the caller forgets. */
static uint64_t want_node(const char *what, uint32_t opcode, uint64_t dir,
			  struct bytes args, struct bytes rest)
{
	uint64_t node;

	if (want(what, opcode, dir, args, rest) == -EEXIST)
		want(what, FUSE_LOOKUP, dir, NOTHING, rest);
	node = given();
	assert_int_not_equal(node, 0);
	return node;
}

static uint64_t find(uint64_t dir, const char *name)
{
	return want_node(name, FUSE_LOOKUP, dir, NOTHING, name_of(name));
}

static uint64_t make(uint64_t dir, const char *name)
{
	struct fuse_mkdir_in in = {.mode = 0755};

	return want_node(name, FUSE_MKDIR, dir, ARGS(in), name_of(name));
}

static uint64_t opened(uint32_t opcode, uint64_t node, uint32_t flags)
{
	struct fuse_open_in in = {.flags = flags};
	struct fuse_open_out out;

	want("open", opcode, node, ARGS(in), NOTHING);
	memcpy(&out, answer.data, sizeof(out));
	return out.fh;
}

static void flush(uint64_t node, uint64_t fh)
{
	struct fuse_flush_in in = {.fh = fh};

	want("flush", FUSE_FLUSH, node, ARGS(in), NOTHING);
}

static void released(uint32_t opcode, uint64_t node, uint64_t fh)
{
	struct fuse_release_in in = {.fh = fh};

	want("release", opcode, node, ARGS(in), NOTHING);
}

/* A file of which a part could not be written is not published. */
static void put(uint64_t node, const char *text)
{
	struct fuse_write_in in = {.size = (uint32_t)strlen(text)};
	struct fuse_flush_in flush = {0};
	struct bytes none = NOTHING;
	bool failed = true;
	int r;

	for (int stage = 0; stage < 2; stage++, failed = true)
		for (uint64_t nth = 1; failed; nth++) {
			in.fh = flush.fh =
				opened(FUSE_OPEN, node, O_WRONLY | O_TRUNC);
			r = try("write", stage == 0 ? nth : 0, FUSE_WRITE, node,
				ARGS(in), bytes_str(text));
			failed = fault.failed > 0;
			if (r == 0)
				r = try("flush", stage == 1 ? nth : 0,
					FUSE_FLUSH, node, ARGS(flush), none);
			failed = failed || fault.failed > 0;
			released(FUSE_RELEASE, node, in.fh);
			if (!failed)
				assert_int_equal(r, 0);
		}
}

static void is_read(const char *text)
{
	assert_int_equal(answer.len, strlen(text));
	assert_memory_equal(answer.data, text, answer.len);
}

/* A stream that could not go on repeats that: each time it is another one. */
static void reads(uint64_t node, const char *text)
{
	struct fuse_read_in in = {.size = 4096};
	struct bytes none = NOTHING;
	bool failed = true;

	for (uint64_t nth = 1; failed; nth++) {
		in.fh = opened(FUSE_OPEN, node, O_RDONLY);
		if (try("read", nth, FUSE_READ, node, ARGS(in), none) == 0 &&
		    text)
			is_read(text);
		failed = fault.failed > 0;
		flush(node, in.fh);
		released(FUSE_RELEASE, node, in.fh);
	}
}

/* The steps of alters() from the @first on, which is the one without memory. */
static bool alter_from(unsigned first, uint64_t nth, uint64_t node,
		       const char *text)
{
	uint64_t fh = opened(FUSE_OPEN, node, O_RDWR);
	struct fuse_write_in in = {.fh = fh, .size = 1};
	struct fuse_setattr_in cut = {
		.valid = FATTR_SIZE | FATTR_FH, .fh = fh, .size = strlen(text)};
	struct fuse_read_in back = {.fh = fh, .size = 4096};
	bool failed = false;
	int r = 0;

	for (unsigned i = first; r == 0 && i < 3; i++) {
		nth = i == first ? nth : 0;
		if (i == 0)
			r = try("write a part", nth, FUSE_WRITE, node, ARGS(in),
				bytes_of(text, 1));
		else if (i == 1)
			r = try("ftruncate", nth, FUSE_SETATTR, node, ARGS(cut),
				NOTHING);
		else
			r = try("read back", nth, FUSE_READ, node, ARGS(back),
				NOTHING);
		failed = failed || fault.failed > 0;
	}
	if (r == 0) {
		is_read(text);
		assert_int_equal(flush_file(node, fh), 0);
	}
	released(FUSE_RELEASE, node, fh);
	return failed;
}

/*
 * The file, a byte too long and of another first byte, becomes @text. What cannot
 * be had of it is not taken for nothing.
 */
static void alters(uint64_t node, const char *text)
{
	for (unsigned first = 0; first < 3; first++)
		for (uint64_t nth = 1; alter_from(first, nth, node, text);)
			nth++;
	reads(node, text);
}

/* The empty file has each byte that was appended, and no other. */
static void appends(uint64_t node)
{
	struct fuse_write_in in = {.size = 1, .flags = O_APPEND};
	struct fuse_read_in back = {.size = 4096};
	struct bytes none = NOTHING;
	char text[256] = "";
	bool failed = true;
	int r;

	for (int stage = 0; stage < 2; stage++, failed = true)
		for (uint64_t nth = 1; failed; nth++) {
			in.fh = back.fh =
				opened(FUSE_OPEN, node, O_RDWR | O_APPEND);
			r = try("append", stage == 0 ? nth : 0, FUSE_WRITE,
				node, ARGS(in), bytes_str("+"));
			failed = fault.failed > 0;
			if (r == 0) {
				assert_true(strlen(text) < sizeof(text) - 1);
				strcat(text, "+");
				r = try("read back", stage == 1 ? nth : 0,
					FUSE_READ, node, ARGS(back), none);
				failed = failed || fault.failed > 0;
				if (r == 0)
					is_read(text);
				assert_int_equal(flush_file(node, in.fh), 0);
			}
			released(FUSE_RELEASE, node, in.fh);
		}
	reads(node, text);
}

static void forget_listed(void)
{
	static uint8_t data[sizeof(answer.data)];
	size_t len = answer.len;
	struct fuse_direntplus d;

	memcpy(data, answer.data, len);
	for (size_t at = 0; at + FUSE_NAME_OFFSET_DIRENTPLUS <= len;
	     at += FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS +
				     d.dirent.namelen)) {
		memcpy(&d, data + at, FUSE_NAME_OFFSET_DIRENTPLUS);
		if (d.entry_out.nodeid)
			forget(d.entry_out.nodeid);
	}
}

static void lists(uint64_t dir)
{
	struct fuse_read_in in = {.size = 8192};
	struct bytes none = NOTHING;
	bool failed;

	for (unsigned plus = 0; plus < 2; plus++) {
		failed = true;
		for (uint64_t nth = 1; failed; nth++) {
			in.fh = opened(FUSE_OPENDIR, dir, O_RDONLY);
			if (try("readdir", nth,
				plus ? FUSE_READDIRPLUS : FUSE_READDIR, dir,
				ARGS(in), none) == 0 &&
			    plus)
				forget_listed();
			failed = fault.failed > 0;
			released(FUSE_RELEASEDIR, dir, in.fh);
		}
	}
}

static void stats(uint64_t node)
{
	struct fuse_getattr_in in = {0};

	want("getattr", FUSE_GETATTR, node, ARGS(in), NOTHING);
}

static void removes(uint32_t opcode, uint64_t dir, const char *name)
{
	want(name, opcode, dir, NOTHING, name_of(name));
}

static void moves(uint64_t dir, const char *from, const char *to)
{
	struct fuse_rename2_in in = {.newdir = dir};
	char names[64];
	int n = snprintf(names, sizeof(names), "%s%c%s", from, 0, to);

	want("rename", FUSE_RENAME2, dir, ARGS(in),
	     bytes_of(names, (size_t)n + 1));
}

static uint64_t makes_file(uint64_t dir, const char *name)
{
	struct fuse_mknod_in in = {.mode = S_IFREG | 0644};

	return want_node(name, FUSE_MKNOD, dir, ARGS(in), name_of(name));
}

/* A file that could not be opened is not there: the next try makes it. */
static void creates(uint64_t dir, const char *name)
{
	struct fuse_create_in in = {.flags = O_CREAT | O_EXCL | O_WRONLY,
				    .mode = 0644};
	struct fuse_open_out out;
	bool failed = true;
	uint64_t node;

	for (uint64_t nth = 1; failed; nth++) {
		int r = try(name, nth, FUSE_CREATE, dir, ARGS(in),
			    name_of(name));

		failed = fault.failed > 0;
		if (r < 0)
			continue;
		node = given();
		memcpy(&out, answer.data + sizeof(struct fuse_entry_out),
		       sizeof(out));
		flush(node, out.fh);
		released(FUSE_RELEASE, node, out.fh);
		removes(FUSE_UNLINK, dir, name);
		forget(node);
	}
}

/* All that is asked of a row: it is made, put, read, listed and removed. */
static void live(uint64_t table, unsigned round)
{
	uint64_t row, family, column, file, scratch, version, other;
	char name[32], value[64], altered[64];

	snprintf(name, sizeof(name), "r%u", round);
	snprintf(value, sizeof(value), "value of %u", round);
	snprintf(altered, sizeof(altered), "Value of %u!", round);
	row = make(table, name);
	family = make(row, "f");
	column = make(family, "v");
	file = makes_file(row, "f:q");
	put(file, altered);
	reads(file, altered);
	alters(file, value);
	other = makes_file(row, "f:a");
	appends(other);
	forget(other);
	version = makes_file(column, "77");
	put(version, "seventy-seven");
	reads(version, "seventy-seven");
	scratch = makes_file(row, ".tmp");
	put(scratch, "moved");
	moves(row, ".tmp", "f:p");
	creates(row, ".new");
	creates(row, "f:new");
	removes(FUSE_RMDIR, family, "new");
	stats(row);
	stats(version);
	lists(FUSE_ROOT_ID);
	lists(table);
	lists(row);
	lists(family);
	lists(column);
	/* A directory that is emptied would stay. */
	other = makes_file(column, "78");
	put(other, "seventy-eight");
	removes(FUSE_UNLINK, column, "77");
	/* A version that was moved aside does not bear its name. */
	moves(column, "78", "78~");
	assert_true(look(column, "78") == -ENOENT || !given());
	assert_int_equal(rename_in(column, "78~", "78"), 0);
	reads(other, "seventy-eight");
	forget(other);
	for (const uint64_t *n = (uint64_t[]){file, version, scratch, column,
					      family, row, 0};
	     *n; n++)
		forget(*n);
}

static void special_files(uint64_t table)
{
	static const char *const names[] = {".cells", ".schema"};
	uint64_t dir, node;

	/* Who makes a table is told at first that it has no .schema. */
	world.pid = 11;
	for (unsigned i = 0; i < 2; i++) {
		node = find(table, names[i]);
		reads(node, NULL);
		forget(node);
	}
	node = find(table, ".cells");
	put(node, "s\tf:q\t5\tfive\n");
	forget(node);
	dir = find(table, ".snapshot");
	node = make(dir, "s");
	lists(node);
	removes(FUSE_RMDIR, dir, "s");
	forget(node);
	forget(dir);
	dir = find(table, ".info");
	lists(dir);
	forget(dir);
	dir = find(FUSE_ROOT_ID, ".cellfs");
	lists(dir);
	node = find(dir, "stats");
	reads(node, NULL);
	forget(node);
	forget(dir);
}

/* Readers of a value so large share it. */
static void put_large(struct table *t)
{
	static char value[1 << 16];
	struct change c = a_put("f", "q", 7, "");
	struct mutation m = change_of("large", &c);

	c.value = bytes_of(value, sizeof(value));
	assert_int_equal(table_add_family(t, bytes_str("f")), 0);
	assert_int_equal(table_mutate(t, &m, 0), 1);
}

static void read_large(uint64_t table)
{
	uint64_t row = find(table, "large"), node = find(row, "f:q");

	reads(node, NULL);
	forget(node);
	forget(row);
}

static void is_stored(struct table *t, const char *row, const char *qualifier,
		      const char *value)
{
	struct buf hold = {0};
	struct cell c;

	assert_int_equal(table_get(t, bytes_str(row), bytes_str("f"),
				   bytes_str(qualifier), TS_MAX, NULL, &c,
				   &hold),
			 1);
	assert_true(bytes_eq(c.value, bytes_str(value)));
	buf_free(&hold);
}

TEST_IN(requests_without_memory_lose_nothing, world_set_up_on_disk,
	world_tear_down)
{
	const char *text = getenv("CELLFS_ALLOCATIONS");
	uint64_t left = text ? strtoull(text, NULL, 10) : 3000, table, nodes;
	char name[32], value[64];
	struct table *t;
	unsigned round = 0;

	on_notice = no_notice;
	nodes = world_nodes();
	table = make(FUSE_ROOT_ID, "T");
	assert_true(dropped > 0);
	assert_int_equal(table_open(world.store, bytes_str("T"), &t), 0);
	put_large(t);
	do {
		live(table, round++);
		special_files(table);
		read_large(table);
	} while (fault.failures < left);
	for (unsigned i = 0; i < round; i++) {
		snprintf(name, sizeof(name), "r%u", i);
		snprintf(value, sizeof(value), "value of %u", i);
		is_stored(t, name, "q", value);
		is_stored(t, name, "p", "moved");
	}
	is_stored(t, "s", "q", "five");
	table_unref(t);
	forget(table);
	assert_int_equal(world_nodes(), nodes);
	print_message("%llu allocations failed, %llu requests were ENOMEM\n",
		      (unsigned long long)fault.failures,
		      (unsigned long long)fault.refused);
	assert_true(fault.refused > 0);
}
