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
#include "tests/unit/temp_store.h"

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

static void no_notice(int code, const uint8_t *data, size_t len)
{
}

/* 0, or ENOMEM because of the @nth allocation, 0 = none of which fails. */
static int try(struct world *w, const char *what, uint64_t nth, uint32_t opcode,
	       uint64_t node, struct bytes args, struct bytes rest)
{
	int r;

	fault.on = nth > 0;
	fault.nth = nth;
	fault.more = nth % 3 == 2 ? nth : 0;
	r = ask(w, opcode, node, args, rest);
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
static int want(struct world *w, const char *what, uint32_t opcode,
		uint64_t node, struct bytes args, struct bytes rest)
{
	uint64_t nth = 1;
	int r;

	while ((r = try(w, what, nth, opcode, node, args, rest)) == -ENOMEM)
		nth++;
	return r;
}

/* The same for one whose reply gives a node, which the caller forgets. */
static uint64_t want_node(struct world *w, const char *what, uint32_t opcode,
			  uint64_t dir, struct bytes args, struct bytes rest)
{
	uint64_t node;

	if (want(w, what, opcode, dir, args, rest) == -EEXIST)
		want(w, what, FUSE_LOOKUP, dir, bytes_of(NULL, 0), rest);
	node = given();
	assert_int_not_equal(node, 0);
	return node;
}

static uint64_t find(struct world *w, uint64_t dir, const char *name)
{
	return want_node(w, name, FUSE_LOOKUP, dir, bytes_of(NULL, 0),
			 name_of(name));
}

static uint64_t make(struct world *w, uint64_t dir, const char *name)
{
	struct fuse_mkdir_in in = {.mode = 0755};

	return want_node(w, name, FUSE_MKDIR, dir, ARGS(in), name_of(name));
}

static uint64_t opened(struct world *w, uint32_t opcode, uint64_t node,
		       uint32_t flags)
{
	struct fuse_open_in in = {.flags = flags};
	struct fuse_open_out out;

	want(w, "open", opcode, node, ARGS(in), bytes_of(NULL, 0));
	memcpy(&out, answer.data, sizeof(out));
	return out.fh;
}

static void flush(struct world *w, uint64_t node, uint64_t fh)
{
	struct fuse_flush_in in = {.fh = fh};

	want(w, "flush", FUSE_FLUSH, node, ARGS(in), bytes_of(NULL, 0));
}

static void released(struct world *w, uint32_t opcode, uint64_t node,
		     uint64_t fh)
{
	struct fuse_release_in in = {.fh = fh};

	want(w, "release", opcode, node, ARGS(in), bytes_of(NULL, 0));
}

/* A file of which a part could not be written is not published. */
static void put(struct world *w, uint64_t node, const char *text)
{
	struct fuse_write_in in = {.size = (uint32_t)strlen(text)};
	struct fuse_flush_in flush = {0};
	struct bytes none = bytes_of(NULL, 0);
	bool failed = true;
	int r;

	for (int stage = 0; stage < 2; stage++, failed = true)
		for (uint64_t nth = 1; failed; nth++) {
			in.fh = flush.fh =
				opened(w, FUSE_OPEN, node, O_WRONLY | O_TRUNC);
			r = try(w, "write", stage == 0 ? nth : 0, FUSE_WRITE,
				node, ARGS(in), bytes_str(text));
			failed = fault.failed > 0;
			if (r == 0)
				r = try(w, "flush", stage == 1 ? nth : 0,
					FUSE_FLUSH, node, ARGS(flush), none);
			failed = failed || fault.failed > 0;
			released(w, FUSE_RELEASE, node, in.fh);
			if (!failed)
				assert_int_equal(r, 0);
		}
}

/* A stream that could not go on repeats that: each time it is another one. */
static void reads(struct world *w, uint64_t node, const char *text)
{
	struct fuse_read_in in = {.size = 4096};
	struct bytes none = bytes_of(NULL, 0);
	bool failed = true;

	for (uint64_t nth = 1; failed; nth++) {
		in.fh = opened(w, FUSE_OPEN, node, O_RDONLY);
		if (try(w, "read", nth, FUSE_READ, node, ARGS(in), none) == 0 &&
		    text) {
			assert_int_equal(answer.len, strlen(text));
			assert_memory_equal(answer.data, text, answer.len);
		}
		failed = fault.failed > 0;
		flush(w, node, in.fh);
		released(w, FUSE_RELEASE, node, in.fh);
	}
}

static void forget_listed(struct world *w)
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
			forget(w, d.entry_out.nodeid);
	}
}

static void lists(struct world *w, uint64_t dir)
{
	struct fuse_read_in in = {.size = 8192};
	struct bytes none = bytes_of(NULL, 0);
	bool failed;

	for (unsigned plus = 0; plus < 2; plus++) {
		failed = true;
		for (uint64_t nth = 1; failed; nth++) {
			in.fh = opened(w, FUSE_OPENDIR, dir, O_RDONLY);
			if (try(w, "readdir", nth,
				plus ? FUSE_READDIRPLUS : FUSE_READDIR, dir,
				ARGS(in), none) == 0 &&
			    plus)
				forget_listed(w);
			failed = fault.failed > 0;
			released(w, FUSE_RELEASEDIR, dir, in.fh);
		}
	}
}

static void stats(struct world *w, uint64_t node)
{
	struct fuse_getattr_in in = {0};

	want(w, "getattr", FUSE_GETATTR, node, ARGS(in), bytes_of(NULL, 0));
}

static void removes(struct world *w, uint32_t opcode, uint64_t dir,
		    const char *name)
{
	want(w, name, opcode, dir, bytes_of(NULL, 0), name_of(name));
}

static void moves(struct world *w, uint64_t dir, const char *from,
		  const char *to)
{
	struct fuse_rename2_in in = {.newdir = dir};
	char names[64];
	int n = snprintf(names, sizeof(names), "%s%c%s", from, 0, to);

	want(w, "rename", FUSE_RENAME2, dir, ARGS(in),
	     bytes_of(names, (size_t)n + 1));
}

static uint64_t makes_file(struct world *w, uint64_t dir, const char *name)
{
	struct fuse_mknod_in in = {.mode = S_IFREG | 0644};

	return want_node(w, name, FUSE_MKNOD, dir, ARGS(in), name_of(name));
}

/* All that is asked of a row: it is made, put, read, listed and removed. */
static void live(struct world *w, uint64_t table, unsigned round)
{
	uint64_t row, family, column, file, scratch, version, other;
	char name[32], value[64];

	snprintf(name, sizeof(name), "r%u", round);
	snprintf(value, sizeof(value), "value of %u", round);
	row = make(w, table, name);
	family = make(w, row, "f");
	column = make(w, family, "v");
	file = makes_file(w, row, "f:q");
	put(w, file, value);
	reads(w, file, value);
	version = makes_file(w, column, "77");
	put(w, version, "seventy-seven");
	reads(w, version, "seventy-seven");
	scratch = makes_file(w, row, ".tmp");
	put(w, scratch, "moved");
	moves(w, row, ".tmp", "f:p");
	stats(w, row);
	stats(w, version);
	lists(w, FUSE_ROOT_ID);
	lists(w, table);
	lists(w, row);
	lists(w, family);
	lists(w, column);
	/* A directory that is emptied would stay. */
	other = makes_file(w, column, "78");
	put(w, other, "seventy-eight");
	removes(w, FUSE_UNLINK, column, "77");
	forget(w, other);
	for (const uint64_t *n = (uint64_t[]){file, version, scratch, column,
					      family, row, 0};
	     *n; n++)
		forget(w, *n);
}

static void special_files(struct world *w, uint64_t table)
{
	static const char *const names[] = {".cells", ".schema"};
	uint64_t dir, node;

	/* Who makes a table is told at first that it has no .schema. */
	w->pid = 11;
	for (unsigned i = 0; i < 2; i++) {
		node = find(w, table, names[i]);
		reads(w, node, NULL);
		forget(w, node);
	}
	node = find(w, table, ".cells");
	put(w, node, "s\tf:q\t5\tfive\n");
	forget(w, node);
	dir = find(w, table, ".snapshot");
	node = make(w, dir, "s");
	lists(w, node);
	removes(w, FUSE_RMDIR, dir, "s");
	forget(w, node);
	forget(w, dir);
	dir = find(w, table, ".info");
	lists(w, dir);
	forget(w, dir);
	dir = find(w, FUSE_ROOT_ID, ".cellfs");
	lists(w, dir);
	node = find(w, dir, "stats");
	reads(w, node, NULL);
	forget(w, node);
	forget(w, dir);
}

static void is_stored(struct temp_store *s, struct table *t, const char *row,
		      const char *qualifier, const char *value)
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

TEST(requests_without_memory_lose_nothing)
{
	const char *text = getenv("CELLFS_ALLOCATIONS");
	uint64_t left = text ? strtoull(text, NULL, 10) : 3000, table, nodes;
	struct temp_store s = {.options.create = true};
	char name[32], value[64];
	struct table *t;
	unsigned round = 0;
	struct world w;

	snprintf(s.path, sizeof(s.path), "/tmp/cellfs-test-XXXXXX");
	assert_non_null(mkdtemp(s.path));
	assert_int_equal(store_open(s.path, &s.options, &s.store), 0);
	on_notice = no_notice;
	world_begin_over(&w, s.store);
	nodes = world_nodes(&w);
	table = make(&w, FUSE_ROOT_ID, "T");
	do {
		live(&w, table, round++);
		special_files(&w, table);
	} while (fault.failures < left);
	assert_int_equal(table_open(s.store, bytes_str("T"), &t), 0);
	for (unsigned i = 0; i < round; i++) {
		snprintf(name, sizeof(name), "r%u", i);
		snprintf(value, sizeof(value), "value of %u", i);
		is_stored(&s, t, name, "q", value);
		is_stored(&s, t, name, "p", "moved");
	}
	is_stored(&s, t, "s", "q", "five");
	table_unref(t);
	forget(&w, table);
	assert_int_equal(world_nodes(&w), nodes);
	world_end(&w);
	s.store = NULL;
	assert_int_equal(temp_remove(&s), 0);
	print_message("%llu allocations failed, %llu requests were ENOMEM\n",
		      (unsigned long long)fault.failures,
		      (unsigned long long)fault.refused);
	assert_true(fault.refused > 0);
}
