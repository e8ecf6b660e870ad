#include "tests/unit/kernel.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fs/memory/write_state.h"
#include "tests/model/ref_store.h"
#include "tests/unit/held.h"
#include "tests/unit/temp_store.h"

struct world world;
/* Where the store of the world is, when it is on disk. */
static struct temp_store disk;
struct answer answer;
void (*on_notice)(int code, const uint8_t *data, size_t len);
bool notices_come_early;

static int64_t clock_ms(void)
{
	return 1700000000000;
}

/* What the kernel was told: any thread tells. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char told[4000];

static void put_in_words(int code, const uint8_t *data, size_t len)
{
	struct fuse_notify_inval_entry_out entry;
	struct fuse_notify_inval_inode_out inode;
	char words[450];

	if (code == FUSE_NOTIFY_INVAL_ENTRY) {
		memcpy(&entry, data, sizeof(entry));
		snprintf(words, sizeof(words), "entry %llu %s\n",
			 (unsigned long long)entry.parent,
			 (const char *)data + sizeof(entry));
	} else {
		assert_int_equal(code, FUSE_NOTIFY_INVAL_INODE);
		memcpy(&inode, data, sizeof(inode));
		snprintf(words, sizeof(words), "%s %llu\n",
			 inode.off < 0 ? "inode" : "pages",
			 (unsigned long long)inode.ino);
	}
	pthread_mutex_lock(&lock);
	assert_true(strlen(told) + strlen(words) < sizeof(told));
	strcat(told, words);
	pthread_mutex_unlock(&lock);
}

void world_hears(void)
{
	told[0] = '\0';
	assert_int_equal(
		invalidator_start(world.fs->invalidator, world.session, true),
		0);
}

const char *notices(void)
{
	static char taken[sizeof(told)];

	invalidate_wait(world.fs->invalidator, 0);
	pthread_mutex_lock(&lock);
	memcpy(taken, told, sizeof(taken));
	told[0] = '\0';
	pthread_mutex_unlock(&lock);
	return taken;
}

/* Gives the parts behind the header to @data, which has @size bytes. */
static size_t gather(const struct iovec *iov, int count, uint8_t *data,
		     size_t size)
{
	size_t len = 0;

	for (int i = 1; i < count; i++) {
		assert_true(iov[i].iov_len <= size - len);
		memcpy(data + len, iov[i].iov_base, iov[i].iov_len);
		len += iov[i].iov_len;
	}
	return len;
}

/* A reply, or a notice, which any thread may send. */
static ssize_t take_reply(int fd, struct iovec *iov, int count, void *userdata)
{
	struct fuse_out_header h;
	uint8_t notice[512] = {0};
	size_t len;

	memcpy(&h, iov[0].iov_base, sizeof(h));
	if (h.unique == 0) {
		len = gather(iov, count, notice, sizeof(notice) - 1);
		assert_int_equal(h.len, sizeof(h) + len);
		(on_notice ? on_notice : put_in_words)(h.error, notice, len);
		errno = ENOENT;
		return notices_come_early ? -1 : (ssize_t)h.len;
	}
	assert_int_equal(h.unique, answer.unique);
	assert_true(h.error <= 0 && h.error >= -511);
	answer.count++;
	answer.error = h.error;
	answer.len = gather(iov, count, answer.data, sizeof(answer.data));
	assert_int_equal(h.len, sizeof(h) + answer.len);
	if (!answer.refused)
		return h.len;
	/* Who asked has been interrupted. */
	errno = ENOENT;
	return -1;
}

static ssize_t no_request(int fd, void *buf, size_t len, void *userdata)
{
	return -1;
}

int ask(uint32_t opcode, uint64_t node, struct bytes args, struct bytes rest)
{
	struct fuse_in_header h = {
		.len = (uint32_t)(sizeof(h) + args.len + rest.len),
		.opcode = opcode,
		.unique = ++world.unique,
		.nodeid = node,
		.uid = getuid(),
		.gid = getgid(),
		.pid = world.pid,
	};
	struct buf request = {0};
	struct fuse_buf b;

	assert_int_equal(buf_append(&request, &h, sizeof(h)), 0);
	assert_int_equal(buf_append(&request, args.data, args.len), 0);
	assert_int_equal(buf_append(&request, rest.data, rest.len), 0);
	b = (struct fuse_buf){.mem = request.data, .size = request.len};
	answer.unique = h.unique;
	answer.count = 0;
	answer.error = 0;
	fuse_session_process_buf(world.session, &b);
	buf_free(&request);
	assert_int_equal(answer.count, opcode != FUSE_FORGET &&
					       opcode != FUSE_INTERRUPT &&
					       opcode != FUSE_BATCH_FORGET);
	assert_int_equal(held_count(), 0);
	return answer.error;
}

struct bytes name_of(const char *name)
{
	return bytes_of(name, strlen(name) + 1);
}

uint64_t given(void)
{
	struct fuse_entry_out e = {0};

	if (answer.len >= sizeof(e))
		memcpy(&e, answer.data, sizeof(e));
	return e.nodeid;
}

int look(uint64_t dir, const char *name)
{
	return ask(FUSE_LOOKUP, dir, NOTHING, name_of(name));
}

int make_dir(uint64_t dir, const char *name)
{
	struct fuse_mkdir_in in = {.mode = 0755};

	return ask(FUSE_MKDIR, dir, ARGS(in), name_of(name));
}

int make_file(uint64_t dir, const char *name)
{
	struct fuse_mknod_in in = {.mode = S_IFREG | 0644};

	return ask(FUSE_MKNOD, dir, ARGS(in), name_of(name));
}

int create(uint64_t dir, const char *name)
{
	struct fuse_create_in in = {.flags = O_WRONLY | O_CREAT,
				    .mode = S_IFREG | 0644};

	return ask(FUSE_CREATE, dir, ARGS(in), name_of(name));
}

int rename_in(uint64_t dir, const char *from, const char *to)
{
	struct fuse_rename2_in in = {.newdir = dir};
	char names[64];

	return ask(FUSE_RENAME2, dir, ARGS(in),
		   bytes_of(names, (size_t)snprintf(names, sizeof(names),
						    "%s%c%s", from, 0, to) +
					   1));
}

void forget(uint64_t node)
{
	struct fuse_forget_in in = {.nlookup = 1};

	ask(FUSE_FORGET, node, ARGS(in), NOTHING);
}

uint64_t made_dir(uint64_t dir, const char *name)
{
	assert_int_equal(make_dir(dir, name), 0);
	return given();
}

uint64_t a_row_with_a_cell(uint64_t *table)
{
	uint64_t made = made_dir(FUSE_ROOT_ID, "T"), row = made_dir(made, "P");

	assert_int_equal(make_file(row, "f:q"), 0);
	forget(given());
	assert_int_equal(overlay_count(world.fs->overlay), 0);
	if (table)
		*table = made;
	return row;
}

uint64_t a_column_with_a_cell(void)
{
	return looked_up(looked_up(a_row_with_a_cell(NULL), "f"), "q");
}

void world_begin(struct store *s)
{
	static const struct fuse_custom_io io = {.writev = take_reply,
						 .read = no_request};
	static char words[][16] = {"cellfs", "/store", "/mnt", "-omemory=64m"};
	char *argv[] = {words[0], words[1], words[2], words[3]};
	struct fuse_args args = FUSE_ARGS_INIT(1, argv);
	struct fuse_init_in init = {.major = FUSE_KERNEL_VERSION,
				    .minor = 44,
				    .max_readahead = 1 << 16,
				    .flags = ~(uint32_t)FUSE_INIT_EXT};

	world = (struct world){.store = s, .pid = 10};
	answer.refused = false;
	assert_int_equal(options_parse(4, argv, &world.options), 0);
	assert_int_equal(fs_new(world.store, &world.options, &world.fs), 0);
	world.session = fuse_session_new(
		&args, fs_ops(), sizeof(struct fuse_lowlevel_ops), world.fs);
	assert_non_null(world.session);
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, world.ends), 0);
	assert_int_equal(
		fuse_session_custom_io(world.session, &io, world.ends[1]), 0);
	fuse_opt_free_args(&args);
	world.fs->session = world.session;
	assert_int_equal(ask(FUSE_INIT, 0, ARGS(init), NOTHING), 0);
}

void world_end(void)
{
	fs_free(world.fs);
	assert_int_equal(store_close(world.store), 0);
	fuse_session_destroy(world.session);
	close(world.ends[0]);
	options_free(&world.options);
}

int world_set_up(void **state)
{
	struct store *s;

	assert_int_equal(ref_store_open(clock_ms, true, &s), 0);
	world_begin(s);
	return 0;
}

int world_set_up_on_disk(void **state)
{
	disk = (struct temp_store){.path = "/tmp/cellfs-test-XXXXXX",
				   .options.create = true};
	assert_non_null(mkdtemp(disk.path));
	assert_int_equal(store_open(disk.path, &disk.options, &disk.store), 0);
	world_begin(disk.store);
	return 0;
}

int world_tear_down(void **state)
{
	struct temp_store made = disk;

	world_end();
	disk = (struct temp_store){.store = NULL};
	made.store = NULL;
	return made.path[0] ? temp_remove(&made) : 0;
}

uint64_t world_nodes(void)
{
	uint64_t live, pinned;

	nodes_count(world.fs->nodes, &live, &pinned);
	return live;
}

void assert_told(const char *text)
{
	struct buf out = {0};
	const char *last = "";

	assert_int_equal(errors_format(world.fs->errors, &out), 0);
	assert_int_equal(buf_append(&out, "", 1), 0);
	for (char *at = (char *)out.data, *line; (line = strsep(&at, "\n"));)
		if (*line)
			last = line;
	if (!strstr(last, text))
		fail_msg("'%s' is not in '%s'", text, last);
	buf_free(&out);
}

uint64_t looked_up(uint64_t dir, const char *name)
{
	assert_int_equal(look(dir, name), 0);
	assert_int_not_equal(given(), 0);
	return given();
}

void assert_nothing_is_left(uint64_t dir, const char *name, uint64_t entries,
			    uint64_t live)
{
	assert_int_equal(overlay_count(world.fs->overlay), entries);
	assert_int_equal(world_nodes(), live);
	assert_false(scratch_any(world.fs->writes->scratch));
	look(dir, name);
	assert_int_equal(given(), 0);
	assert_int_equal(world_nodes(), live);
}

void assert_absent(uint64_t dir, const char *name, uint64_t seconds)
{
	struct fuse_entry_out e = {0};
	uint64_t live = world_nodes();

	assert_int_equal(look(dir, name), seconds ? 0 : -ENOENT);
	if (seconds) {
		assert_int_equal(answer.len, sizeof(e));
		memcpy(&e, answer.data, sizeof(e));
	}
	assert_int_equal(e.nodeid, 0);
	assert_int_equal(e.entry_valid, seconds);
	assert_int_equal(fs_replied, -ENOENT);
	assert_int_equal(world_nodes(), live);
}

void assert_given_once(uint64_t node)
{
	assert_true(nodes_known(world.fs->nodes, node, false));
	forget(node);
	assert_false(nodes_known(world.fs->nodes, node, false));
}

void empty_row(const char *row)
{
	struct change c = {.op = CHANGE_DELETE_ROW, .ts = TS_AUTO};
	struct mutation m = change_of(row, &c);
	struct table *t;

	assert_int_equal(table_open(world.store, bytes_str("T"), &t), 0);
	assert_int_equal(table_mutate(t, &m, 0), 1);
	table_unref(t);
}

uint64_t opened_file(uint64_t node, uint32_t flags)
{
	struct fuse_open_in in = {.flags = flags};
	struct fuse_open_out out;

	assert_int_equal(ask(FUSE_OPEN, node, ARGS(in), NOTHING), 0);
	memcpy(&out, answer.data, sizeof(out));
	return out.fh;
}

bool is_read_past_cache(uint64_t node)
{
	uint64_t handle = opened_file(node, O_RDONLY);
	struct fuse_open_out out;

	memcpy(&out, answer.data, sizeof(out));
	closed_file(node, handle);
	return out.open_flags & FOPEN_DIRECT_IO;
}

void closed_file(uint64_t node, uint64_t handle)
{
	struct fuse_release_in in = {.fh = handle};

	assert_int_equal(ask(FUSE_RELEASE, node, ARGS(in), NOTHING), 0);
}

int flush_file(uint64_t node, uint64_t handle)
{
	struct fuse_flush_in in = {.fh = handle};

	return ask(FUSE_FLUSH, node, ARGS(in), NOTHING);
}

uint64_t size_of(uint64_t dir, const char *name)
{
	struct fuse_entry_out e;

	looked_up(dir, name);
	memcpy(&e, answer.data, sizeof(e));
	return e.attr.size;
}

static int write_with(uint64_t node, uint64_t handle, uint32_t flags)
{
	struct fuse_write_in in = {.fh = handle, .size = 1, .flags = flags};

	return ask(FUSE_WRITE, node, ARGS(in), bytes_of("x", 1));
}

int write_byte(uint64_t node, uint64_t handle)
{
	return write_with(node, handle, 0);
}

int append_byte(uint64_t node, uint64_t handle)
{
	return write_with(node, handle, O_APPEND);
}

int set_attr(uint64_t node, uint32_t valid)
{
	struct fuse_setattr_in in = {.valid = valid};

	return ask(FUSE_SETATTR, node, ARGS(in), NOTHING);
}

void assert_reads(uint64_t node, uint64_t handle, uint64_t off,
		  const char *want)
{
	struct fuse_read_in in = {.fh = handle, .offset = off, .size = 3};

	assert_int_equal(ask(FUSE_READ, node, ARGS(in), NOTHING), 0);
	assert_int_equal(answer.len, strlen(want));
	assert_memory_equal(answer.data, want, answer.len);
}
