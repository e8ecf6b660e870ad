/*
 * The mount takes any requests that a kernel may send: each has one reply, none
 * fails inside (EIO), and what the kernel was given is gone when it forgets it.
 *
 * Input: acts, a byte each, then what they take. A request is one of the table
 * below, with arguments as they come; nodes and open files are mostly such as the
 * mount gave before, names mostly such as mean something. Other acts put into
 * the table K and read it, about which requests know nothing. There a model says
 * what must be found. What a kernel believes by now (believed.h) is asked for again
 * now and then: it must be what the mount says at that moment. So must the names
 * of a directory that the mount lets the kernel keep when it is opened again.
 */
#include <sys/socket.h>

#include "store/value/codec.h"
#include "tests/fuzz/believed.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/kernel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ACTS_MAX 96
#define NODES_MAX 64
#define FILES_MAX 16
#define COLUMNS 3
#define VALUE_MAX 5000

/* A node that the mount gave, and how often. */
struct known {
	uint64_t id, lookups;
};

struct open {
	uint64_t node, fh;
	bool dir;
};

struct kernel {
	struct os *os;
	struct known nodes[NODES_MAX];
	size_t nnodes;
	struct open files[FILES_MAX];
	size_t nfiles;
	/* Table K: its row, and how long the values are, -1 = none. */
	struct known table, row;
	int lens[COLUMNS];
};

/* What Linux keeps of a directory's names, of the last ones that were listed. */
static struct kept {
	uint64_t node;
	struct buf names;
} kept[NODES_MAX];

static struct believed believed = {.lock = PTHREAD_MUTEX_INITIALIZER};
/* Notices so far: an answer that one has overtaken is not believed. */
static _Atomic unsigned noticed;

static void die(const char *what, uint64_t a, int64_t b)
{
	fprintf(stderr, "%s: %llu, %lld: %s\n", what, (unsigned long long)a,
		(long long)b, store_why());
	abort();
}

static void take_notice(int code, const uint8_t *data, size_t len)
{
	noticed++;
	believed_notice(&believed, code, data, len);
}

/* Notices that do not go by libfuse. */
static void take_own_notices(struct kernel *k)
{
	struct fuse_out_header h;

	while (recv(world.ends[0], &h, sizeof(h), MSG_DONTWAIT) > 0)
		take_notice(h.error, NULL, 0);
}

static void believe_node(uint64_t parent, const char *name, bool overtaken)
{
	struct fuse_entry_out e;

	memcpy(&e, answer.data, sizeof(e));
	believed_add_entry(&believed, parent, name, e.nodeid,
			   !overtaken && (e.entry_valid || e.entry_valid_nsec));
	/* Such a short time is over at once. */
	if (e.nodeid)
		believed_add_attr(&believed, e.nodeid, &e.attr,
				  !overtaken && e.attr_valid);
}

/* The entry at *@at of a listing; false at its end. */
static bool next_listed(struct bytes data, size_t *at,
			struct fuse_direntplus *d, char name[BELIEVED_NAME])
{
	if (*at + FUSE_NAME_OFFSET_DIRENTPLUS > data.len)
		return false;
	memcpy(d, data.data + *at, FUSE_NAME_OFFSET_DIRENTPLUS);
	if (d->dirent.namelen >= BELIEVED_NAME)
		die("a long name", d->entry_out.nodeid, d->dirent.namelen);
	memcpy(name, data.data + *at + FUSE_NAME_OFFSET_DIRENTPLUS,
	       d->dirent.namelen);
	name[d->dirent.namelen] = '\0';
	*at += FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS +
				 d->dirent.namelen);
	return true;
}

static void believe_listed(uint64_t parent, bool overtaken)
{
	struct fuse_direntplus d;
	char name[BELIEVED_NAME];
	size_t at = 0;

	while (next_listed(bytes_of(answer.data, answer.len), &at, &d, name)) {
		if (d.entry_out.nodeid == 0)
			continue;
		believed_add_entry(&believed, parent, name, d.entry_out.nodeid,
				   !overtaken && d.entry_out.entry_valid);
		believed_add_attr(&believed, d.entry_out.nodeid,
				  &d.entry_out.attr,
				  !overtaken && d.entry_out.attr_valid);
	}
}

static struct kept *kept_of(uint64_t node)
{
	return &kept[node % NODES_MAX];
}

/* Nothing of it, as a request of the kernel's own changed it or said so. */
static void keep_no_names(uint64_t node)
{
	if (kept_of(node)->node == node)
		kept_of(node)->node = 0;
}

static void keep_names(uint32_t opcode, uint64_t node, struct bytes args)
{
	struct fuse_rename2_in move;
	struct fuse_open_out out;

	switch (opcode) {
	case FUSE_OPENDIR:
		memcpy(&out, answer.data, sizeof(out));
		if (!(out.open_flags & FOPEN_KEEP_CACHE))
			keep_no_names(node);
		break;
	case FUSE_RENAME2:
		memcpy(&move, args.data, sizeof(move));
		keep_no_names(move.newdir);
		keep_no_names(node);
		break;
	case FUSE_CREATE:
	case FUSE_MKDIR:
	case FUSE_MKNOD:
	case FUSE_SYMLINK:
	case FUSE_LINK:
	case FUSE_UNLINK:
	case FUSE_RMDIR:
		keep_no_names(node);
		break;
	default:
		break;
	}
}

/* What Linux believes of this reply, and no more because of it. */
static void believe(uint32_t opcode, uint64_t node, struct bytes args,
		    struct bytes rest, bool overtaken)
{
	const char *name = (const char *)rest.data, *second;
	const struct fuse_attr_out *attr = (const void *)answer.data;
	struct fuse_rename2_in move;

	switch (opcode) {
	case FUSE_CREATE:
	case FUSE_MKDIR:
	case FUSE_MKNOD:
		believed_drop_attr(&believed, node);
		believe_node(node, name, overtaken && opcode != FUSE_CREATE);
		break;
	case FUSE_LOOKUP:
		believe_node(node, name, overtaken);
		break;
	case FUSE_READDIRPLUS:
		believe_listed(node, overtaken);
		break;
	case FUSE_GETATTR:
		believed_add_attr(&believed, node, &attr->attr,
				  !overtaken && attr->attr_valid);
		break;
	case FUSE_SETATTR:
		believed_add_attr(&believed, node, &attr->attr,
				  attr->attr_valid);
		break;
	case FUSE_UNLINK:
	case FUSE_RMDIR:
		believed_gone(&believed, node, name);
		believed_drop_attr(&believed, node);
		break;
	case FUSE_RENAME2:
		memcpy(&move, args.data, sizeof(move));
		second = name + strlen(name) + 1;
		believed_drop_attr(&believed, node);
		believed_drop_attr(&believed, move.newdir);
		believed_gone(&believed, move.newdir, second);
		if (move.flags == 0)
			believed_move(&believed, node, name, move.newdir,
				      second);
		else
			believed_gone(&believed, node, name);
		break;
	case FUSE_SYMLINK:
	case FUSE_LINK:
	case FUSE_OPEN:
	case FUSE_WRITE:
	case FUSE_FALLOCATE:
		believed_drop_attr(&believed, node);
		break;
	default:
		break;
	}
}

/* As ask(); none fails inside, and what is answered is believed. */
static int request(struct kernel *k, uint32_t opcode, uint64_t node,
		   struct bytes args, struct bytes rest)
{
	unsigned before = noticed;
	int r = ask(opcode, node, args, rest);

	if (r == -EIO)
		die("a request failed inside", opcode, r);
	take_own_notices(k);
	if (r == 0 && opcode != FUSE_FORGET) {
		believe(opcode, node, args, rest, noticed != before);
		keep_names(opcode, node, args);
	}
	return r;
}

static const struct bytes nothing;

static void close_file(struct kernel *k, size_t i)
{
	struct open f = k->files[i];
	struct fuse_release_in in = {.fh = f.fh};

	k->files[i] = k->files[--k->nfiles];
	request(k, f.dir ? FUSE_RELEASEDIR : FUSE_RELEASE, f.node, ARGS(in),
		nothing);
}

/* Linux forgets no node of which a file is open. */
static void close_all(struct kernel *k, uint64_t node)
{
	for (size_t i = k->nfiles; i > 0; i--)
		if (k->files[i - 1].node == node)
			close_file(k, i - 1);
}

static void forget_node(struct kernel *k, struct known *n)
{
	struct fuse_forget_in in = {.nlookup = n->lookups};

	believed_drop_node(&believed, n->id);
	request(k, FUSE_FORGET, n->id, ARGS(in), nothing);
	n->lookups = 0;
}

/* Its index; k->nnodes if it is not known. */
static size_t known_at(const struct kernel *k, uint64_t id)
{
	size_t i = 0;

	while (i < k->nnodes && k->nodes[i].id != id)
		i++;
	return i;
}

static void unlook(struct kernel *k, uint64_t node)
{
	struct known once = {.id = node, .lookups = 1};

	if (!node)
		return;
	if (known_at(k, node) == k->nnodes)
		close_all(k, node);
	forget_node(k, &once);
}

static void forget_last(struct kernel *k)
{
	struct known *n = &k->nodes[--k->nnodes];

	close_all(k, n->id);
	forget_node(k, n);
}

static void know(struct kernel *k, uint64_t id)
{
	size_t i;

	if (id == 0 || id == FUSE_ROOT_ID)
		return;
	if (id == k->table.id || id == k->row.id) {
		(id == k->table.id ? &k->table : &k->row)->lookups++;
		return;
	}
	i = known_at(k, id);
	if (i == NODES_MAX) {
		unlook(k, id);
		return;
	}
	if (i == k->nnodes)
		k->nodes[k->nnodes++] = (struct known){.id = id};
	k->nodes[i].lookups++;
}

static void opened(struct kernel *k, uint64_t node, bool dir, size_t at)
{
	struct fuse_open_out out;

	if (answer.len < at + sizeof(out))
		die("a short reply to an open", node, (int64_t)answer.len);
	memcpy(&out, answer.data + at, sizeof(out));
	if (k->nfiles == FILES_MAX)
		close_file(k, 0);
	k->files[k->nfiles++] =
		(struct open){.node = node, .fh = out.fh, .dir = dir};
}

/* What a reply gives: nodes, and open files. */
static void learn(struct kernel *k, uint32_t opcode, uint64_t node)
{
	struct fuse_entry_out e = {0};
	struct fuse_direntplus d;
	char name[BELIEVED_NAME];
	struct buf list = {0};
	size_t at = 0;

	if (answer.len >= sizeof(e))
		memcpy(&e, answer.data, sizeof(e));
	switch (opcode) {
	case FUSE_CREATE:
		opened(k, e.nodeid, false, sizeof(e));
		know(k, e.nodeid);
		break;
	case FUSE_LOOKUP:
	case FUSE_MKDIR:
	case FUSE_MKNOD:
	case FUSE_SYMLINK:
	case FUSE_LINK:
		know(k, e.nodeid);
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		opened(k, node, opcode == FUSE_OPENDIR, 0);
		break;
	case FUSE_READDIRPLUS:
		/* What is asked next has a reply of its own. */
		if (buf_append(&list, answer.data, answer.len))
			abort();
		while (next_listed(buf_bytes(&list), &at, &d, name))
			know(k, d.entry_out.nodeid);
		buf_free(&list);
		break;
	default:
		break;
	}
}

/* Requests: the struct behind the header, names behind it, data behind them. */
#define BARE(op, names)                 \
	{                               \
		op, 0, names, false, -1 \
	}
#define WITH(op, args, names)                             \
	{                                                 \
		op, sizeof(struct args), names, false, -1 \
	}
#define OF_FILE(op, args, data)                                             \
	{                                                                   \
		op, sizeof(struct args), 0, data, offsetof(struct args, fh) \
	}
static const struct request {
	uint32_t opcode;
	uint8_t args, names;
	bool data;
	int16_t fh; /* its offset in the struct, -1 = none */
} requests[] = {
	BARE(FUSE_LOOKUP, 1),
	OF_FILE(FUSE_GETATTR, fuse_getattr_in, false),
	OF_FILE(FUSE_SETATTR, fuse_setattr_in, false),
	BARE(FUSE_READLINK, 0),
	BARE(FUSE_SYMLINK, 2),
	WITH(FUSE_MKNOD, fuse_mknod_in, 1),
	WITH(FUSE_MKDIR, fuse_mkdir_in, 1),
	BARE(FUSE_UNLINK, 1),
	BARE(FUSE_RMDIR, 1),
	WITH(FUSE_RENAME2, fuse_rename2_in, 2),
	WITH(FUSE_LINK, fuse_link_in, 1),
	WITH(FUSE_OPEN, fuse_open_in, 0),
	OF_FILE(FUSE_READ, fuse_read_in, false),
	OF_FILE(FUSE_WRITE, fuse_write_in, true),
	BARE(FUSE_STATFS, 0),
	OF_FILE(FUSE_FSYNC, fuse_fsync_in, false),
	WITH(FUSE_GETXATTR, fuse_getxattr_in, 1),
	OF_FILE(FUSE_FLUSH, fuse_flush_in, false),
	WITH(FUSE_OPENDIR, fuse_open_in, 0),
	OF_FILE(FUSE_READDIR, fuse_read_in, false),
	OF_FILE(FUSE_READDIRPLUS, fuse_read_in, false),
	OF_FILE(FUSE_FSYNCDIR, fuse_fsync_in, false),
	WITH(FUSE_ACCESS, fuse_access_in, 0),
	WITH(FUSE_CREATE, fuse_create_in, 1),
	OF_FILE(FUSE_IOCTL, fuse_ioctl_in, false),
	OF_FILE(FUSE_FALLOCATE, fuse_fallocate_in, false),
	OF_FILE(FUSE_LSEEK, fuse_lseek_in, false),
};
#define REQUESTS (sizeof(requests) / sizeof(requests[0]))

/* Names that mean something, and none of them table K. */
static const char *const names[] = {
	"T",	    "U",	"R",	 "S",	     "f",	    "g",
	"q",	    "%",	"f:q",	 "f:",	     "g:q",	    "latest",
	"counter",  "@-1",	"1000",	 "2000",     "@1500",	    ".schema",
	".cells",   ".put",	".info", ".stage",   ".snapshot",   ".cellfs",
	".at",	    "now",	".raw",	 ".first",   ".last",	    "1",
	".since",   ".between", "0..9",	 ".range",   "A..Z",	    ".prefix",
	".after",   "rows",	"flush", "compact",  "errors",	    "metrics",
	"options",  "stats",	"help",	 ".x.tmp",   ".R.Xa1b2c",   "4913",
	"R%+",	    "a%2Fb",	"q~",	 "T.delete", ".~tmp~",	    "lost",
	"families", "first",	"sync",	 "status",   "1000.delete",
};
#define NAMES (sizeof(names) / sizeof(names[0]))

/* Lines that files of the mount take. */
static const char *const texts[] = {
	"hello",
	"R\tf:q\t1000\tvalue\n",
	"R\tf:q\t\t\tdelete-column\n",
	"R\tf:\t\t\tdelete-family\nS\tg:q\t5\tx\n",
	"R\t\t\t\tdelete-row\n",
	"family f\n\tversions 5\n",
	"families open\nfamily f\n\tttl 1d\nfamily g\n",
	"drop family f\n",
	"7\n",
	"-9223372036854775808\n",
};
#define TEXTS (sizeof(texts) / sizeof(texts[0]))

static int add_name(struct decoder *d, struct buf *out)
{
	unsigned i = take_u8(d);
	struct bytes raw;

	if (i < 4 * NAMES) {
		const char *name = names[i % NAMES];

		return buf_append(out, name, strlen(name) + 1);
	}
	raw = take_raw(d, i % 8 < decoder_left(d) ? i % 8 : 0);
	if (raw.len == 0 || memchr(raw.data, 0, raw.len) ||
	    memchr(raw.data, '/', raw.len) || raw.data[0] == 'K')
		return buf_append(out, "x", 2);
	return buf_append(out, raw.data, raw.len) || buf_append(out, "", 1);
}

static int add_data(struct decoder *d, struct fuse_write_in *in,
		    struct buf *out)
{
	unsigned i = take_u8(d);
	size_t len;

	in->offset &= 0xffff;
	if (i < 128) {
		len = strlen(texts[i % TEXTS]);
		in->size = (uint32_t)len;
		if (i & 64)
			in->offset = 0;
		return buf_append(out, texts[i % TEXTS], len);
	}
	len = decoder_left(d) < i ? decoder_left(d) : i;
	in->size = (uint32_t)len;
	return buf_append(out, take_raw(d, len).data, len);
}

static uint64_t pick_node(struct kernel *k, struct decoder *d)
{
	unsigned i = take_u8(d);

	if (i == 255)
		return take_u64(d);
	i %= k->nnodes + 1;
	return i ? k->nodes[i - 1].id : FUSE_ROOT_ID;
}

/* Some arguments would only ask for much memory or time. */
static void tame(uint32_t opcode, void *args)
{
	struct fuse_read_in *read = args;
	struct fuse_setattr_in *set = args;
	struct fuse_fallocate_in *fall = args;

	if (opcode == FUSE_READ || opcode == FUSE_READDIR ||
	    opcode == FUSE_READDIRPLUS) {
		read->size &= 0x3fff;
		read->offset &= opcode == FUSE_READ ? 0xffff : 0xf;
	}
	if (opcode == FUSE_SETATTR)
		set->size &= 0xffff;
	if (opcode == FUSE_FALLOCATE) {
		fall->offset &= 0xffff;
		fall->length &= 0xffff;
	}
}

static void any_request(struct kernel *k, struct decoder *d)
{
	const struct request *q = &requests[take_u8(d) % REQUESTS];
	uint64_t node = pick_node(k, d);
	unsigned len = take_u8(d) % (q->args + 1u), file = take_u8(d);
	union {
		uint8_t bytes[UINT8_MAX];
		struct fuse_write_in write;
		uint64_t aligned;
	} args = {0};
	struct buf rest = {0};
	int r = 0;

	/* What is not given is 0, as it mostly is. */
	if (len > decoder_left(d))
		len = (unsigned)decoder_left(d);
	if (len)
		memcpy(args.bytes, take_raw(d, len).data, len);
	if (q->fh >= 0 && k->nfiles && file < 240) {
		const struct open *f = &k->files[file % k->nfiles];

		memcpy(args.bytes + q->fh, &f->fh, sizeof(f->fh));
		node = f->node;
	}
	if (q->opcode == FUSE_RENAME2 || q->opcode == FUSE_LINK) {
		uint64_t to = file % 2 ? node : pick_node(k, d);

		memcpy(args.bytes, &to, sizeof(to));
	}
	tame(q->opcode, args.bytes);
	for (unsigned i = 0; r == 0 && i < q->names; i++)
		r = add_name(d, &rest);
	if (r == 0 && q->data)
		r = add_data(d, &args.write, &rest);
	if (r)
		abort();
	if (request(k, q->opcode, node, bytes_of(args.bytes, q->args),
		    buf_bytes(&rest)) == 0)
		learn(k, q->opcode, node);
	buf_free(&rest);
}

/* A name in table K: its node, 0 if there is none. */
static uint64_t lookup(struct kernel *k, uint64_t parent, const char *name)
{
	struct fuse_entry_out e;
	int r = request(k, FUSE_LOOKUP, parent, nothing, name_of(name));

	/* Linux looks once more. */
	if (r == -ESTALE)
		r = request(k, FUSE_LOOKUP, parent, nothing, name_of(name));
	if (r < 0)
		return 0;
	memcpy(&e, answer.data, sizeof(e));
	return e.nodeid;
}

static void make_known(struct kernel *k, uint64_t parent, const char *name,
		       struct known *out)
{
	struct fuse_mkdir_in in = {.mode = 0755};

	if (request(k, FUSE_MKDIR, parent, ARGS(in), name_of(name)))
		die("mkdir", parent, answer.error);
	out->id = ((struct fuse_entry_out *)answer.data)->nodeid;
	out->lookups = 1;
}

static void alias(unsigned column, char out[8])
{
	snprintf(out, 8, "f:%c", 'a' + (char)column);
}

/* Opens or makes the column's F:Q: its node, referenced once, and handle. */
static int open_alias(struct kernel *k, unsigned column, uint32_t flags,
		      uint64_t *node, uint64_t *fh)
{
	struct fuse_create_in make = {.flags = flags, .mode = S_IFREG | 0644};
	struct fuse_open_in in = {.flags = flags};
	char name[8];
	size_t at = 0;
	int r;

	alias(column, name);
	*node = lookup(k, k->row.id, name);
	if (*node) {
		r = request(k, FUSE_OPEN, *node, ARGS(in), nothing);
	} else if ((flags & O_ACCMODE) == O_RDONLY) {
		return -ENOENT;
	} else {
		r = request(k, FUSE_CREATE, k->row.id, ARGS(make),
			    name_of(name));
		at = sizeof(struct fuse_entry_out);
	}
	if (r < 0) {
		unlook(k, *node);
		return r;
	}
	if (at)
		memcpy(node, answer.data, sizeof(*node));
	memcpy(fh, answer.data + at, sizeof(*fh));
	return 0;
}

static void put(struct kernel *k, unsigned column, int len, bool append)
{
	struct fuse_write_in in = {.size = (uint32_t)len};
	struct fuse_flush_in flush = {0};
	struct fuse_release_in release = {0};
	uint32_t how = append ? O_APPEND : O_TRUNC;
	char value[VALUE_MAX];
	uint64_t node;
	int r;

	memset(value, 'a' + (int)column, sizeof(value));
	in.flags = O_WRONLY | how;
	r = open_alias(k, column, in.flags, &node, &in.fh);
	if (r < 0)
		die("no open of a file to put", column, r);
	flush.fh = release.fh = in.fh;
	release.flags = in.flags;
	r = request(k, FUSE_WRITE, node, ARGS(in),
		    bytes_of(value, (size_t)len));
	if (r == 0)
		r = request(k, FUSE_FLUSH, node, ARGS(flush), nothing);
	if (r < 0)
		die("no put", column, r);
	request(k, FUSE_RELEASE, node, ARGS(release), nothing);
	unlook(k, node);
	if (!append || k->lens[column] < 0)
		k->lens[column] = 0;
	k->lens[column] += len;
}

static void get(struct kernel *k, unsigned column)
{
	struct fuse_read_in in = {.size = 1 << 16};
	struct fuse_release_in release = {0};
	int want = k->lens[column];
	uint64_t node;
	int r = open_alias(k, column, O_RDONLY, &node, &in.fh);

	if (want < 0 && r == -ENOENT)
		return;
	if (r < 0 || want < 0)
		die("a column is there and not to be found, or the opposite",
		    column, want);
	release.fh = in.fh;
	if (request(k, FUSE_READ, node, ARGS(in), nothing))
		die("no read", column, answer.error);
	if (answer.len != (size_t)want)
		die("a value of another length", answer.len, want);
	for (size_t i = 0; i < answer.len; i++)
		if (answer.data[i] != 'a' + (int)column)
			die("another value", i, column);
	request(k, FUSE_RELEASE, node, ARGS(release), nothing);
	unlook(k, node);
}

static void delete (struct kernel *k, unsigned column)
{
	int want = k->lens[column] < 0 ? -ENOENT : 0, r;
	char name[8];

	alias(column, name);
	r = request(k, FUSE_UNLINK, k->row.id, nothing, name_of(name));
	if (r != want)
		die("an unlink", column, r);
	k->lens[column] = -1;
}

/* Does a path of believed entries lead there? */
static bool is_reached(const struct believed *b, uint64_t node)
{
	for (int depth = 0; node != FUSE_ROOT_ID; depth++) {
		size_t i = 0;

		while (i < b->nentries && b->entries[i].node != node)
			i++;
		if (i == b->nentries || depth == BELIEVED_MAX)
			return false;
		node = b->entries[i].parent;
	}
	return true;
}

/*
 * Linux asks for attributes that it does not believe at each use of a name. Of an
 * F:Q that has gone it is told so, and looks the name up again (gone.h).
 */
static bool is_looked_up_again(struct kernel *k, const struct believed *b,
			       const struct believed_entry *e)
{
	struct fuse_getattr_in in = {0};
	size_t i = 0;

	while (i < b->nattrs && b->attrs[i].node != e->node)
		i++;
	return i == b->nattrs && strchr(e->name, ':') &&
	       request(k, FUSE_GETATTR, e->node, ARGS(in), nothing) == -ESTALE;
}

static void check_entry(struct kernel *k, const struct believed *b,
			const struct believed_entry *e)
{
	uint64_t node;

	if (is_looked_up_again(k, b, e))
		return;
	node = lookup(k, e->parent, e->name);
	if (node != e->node) {
		fprintf(stderr, "%s in %llx\n", e->name,
			(unsigned long long)e->parent);
		die("a believed name is another node", e->node, (int64_t)node);
	}
	unlook(k, node);
}

/*
 * A directory whose time of change has given way to another's (dir_times.h) shows
 * its own again, that of the mount.
 */
static bool gave_way(const struct kernel *k, const struct believed_attr *a,
		     const struct fuse_attr *now)
{
	return S_ISDIR(a->attr.mode) &&
	       now->mtime == (uint64_t)world.fs->start_ms / 1000;
}

static void check_attr(struct kernel *k, const struct believed_attr *a)
{
	struct fuse_getattr_in in = {0};
	const struct fuse_attr *now;

	if (request(k, FUSE_GETATTR, a->node, ARGS(in), nothing))
		die("attributes of nothing are believed", a->node,
		    answer.error);
	now = &((const struct fuse_attr_out *)answer.data)->attr;
	if (now->size != a->attr.size || now->mode != a->attr.mode ||
	    now->uid != a->attr.uid || now->nlink != a->attr.nlink ||
	    ((now->mtime != a->attr.mtime ||
	      now->mtimensec != a->attr.mtimensec) &&
	     !gave_way(k, a, now))) {
		fprintf(stderr,
			"mode %o size %llu, now %llu, time %llu, now %llu\n",
			a->attr.mode, (unsigned long long)a->attr.size,
			(unsigned long long)now->size,
			(unsigned long long)a->attr.mtime,
			(unsigned long long)now->mtime);
		die("old attributes are believed", a->node, 0);
	}
}

/* Appends the names that the open directory has. */
static void list(struct kernel *k, uint64_t node, uint64_t fh, struct buf *out)
{
	struct fuse_read_in in = {.fh = fh, .size = 1 << 16};
	struct fuse_dirent d;
	size_t at;

	do {
		if (request(k, FUSE_READDIR, node, ARGS(in), nothing))
			die("no listing", node, answer.error);
		for (at = 0; at < answer.len;
		     at += FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + d.namelen)) {
			memcpy(&d, answer.data + at, FUSE_NAME_OFFSET);
			in.offset = d.off;
			if (buf_append(out, answer.data + at + FUSE_NAME_OFFSET,
				       d.namelen) ||
			    buf_append(out, "/", 1))
				abort();
		}
	} while (at);
}

/* Lists a directory, of which Linux may have kept the names. */
static void check_names(struct kernel *k, uint64_t node)
{
	struct kept *had = kept_of(node);
	struct fuse_open_in in = {.flags = O_RDONLY | O_DIRECTORY};
	struct fuse_release_in release = {0};
	struct buf now = {0};
	struct fuse_open_out out;
	bool uses;

	if (request(k, FUSE_OPENDIR, node, ARGS(in), nothing))
		return;
	memcpy(&out, answer.data, sizeof(out));
	uses = out.open_flags & FOPEN_CACHE_DIR;
	list(k, node, out.fh, &now);
	/* request() has dropped what is not kept. */
	if (uses && had->node == node &&
	    !bytes_eq(buf_bytes(&had->names), buf_bytes(&now))) {
		fprintf(stderr, "kept %.*s\nnow %.*s\n", (int)had->names.len,
			(char *)had->names.data, (int)now.len,
			(char *)now.data);
		die("old names are kept", node, 0);
	}
	if (uses) {
		buf_free(&had->names);
		had->names = now;
		had->node = node;
	} else {
		buf_free(&now);
	}
	release.fh = out.fh;
	request(k, FUSE_RELEASEDIR, node, ARGS(release), nothing);
}

/* All that is believed is true, once all notices are there. */
static void check_beliefs(struct kernel *k)
{
	static struct believed now;

	invalidate_wait(world.fs->invalidator, 0);
	take_own_notices(k);
	pthread_mutex_lock(&believed.lock);
	now = believed;
	pthread_mutex_unlock(&believed.lock);
	for (size_t i = 0; i < now.nentries; i++)
		if (is_reached(&now, now.entries[i].parent))
			check_entry(k, &now, &now.entries[i]);
	for (size_t i = 0; i < now.nattrs; i++)
		if (is_reached(&now, now.attrs[i].node))
			check_attr(k, &now.attrs[i]);
	for (size_t i = 0; i < k->nnodes; i++)
		check_names(k, k->nodes[i].id);
	check_names(k, k->row.id);
}

static void act(struct kernel *k, struct decoder *d)
{
	unsigned what = take_u8(d), column = what % COLUMNS;
	int len;

	if (what < 200) {
		any_request(k, d);
		return;
	}
	len = what % 5 ? take_u8(d) : VALUE_MAX - 1000;
	if (what < 220)
		put(k, column, len, false);
	else if (what < 228 && k->lens[column] < 10 * VALUE_MAX)
		put(k, column, len, true);
	else if (what < 240)
		get(k, column);
	else if (what < 246)
		delete (k, column);
	else if (what < 249 && k->nfiles)
		close_file(k, (unsigned)len % k->nfiles);
	else if (what < 254)
		check_beliefs(k);
	else if (k->nnodes)
		forget_last(k);
}

/* What the mount wants of a kernel that can do all. */
static void check_wants(void)
{
	/* All that this libfuse hands on. */
	const uint32_t wanted = FUSE_ATOMIC_O_TRUNC | FUSE_DO_READDIRPLUS |
				FUSE_READDIRPLUS_AUTO | FUSE_ASYNC_READ;
	struct fuse_init_out out;

	if (answer.len < sizeof(out))
		die("a short answer to INIT", answer.len, 0);
	memcpy(&out, answer.data, sizeof(out));
	if ((out.flags & wanted) != wanted || out.flags & FUSE_WRITEBACK_CACHE)
		die("the mount wants other things", out.flags, 0);
	if (out.max_background != 64 || out.congestion_threshold != 48)
		die("requests in the background", out.max_background,
		    out.congestion_threshold);
}

static void start(struct kernel *k)
{
	struct store_options o = {.create = true,
				  .inline_background = true,
				  .cache_bytes = 1 << 20,
				  .wal_segment_bytes = 256 << 10,
				  .write_buffer_bytes = 1 << 20};
	struct store *s;

	/* What kernel.c asserts aborts, with its words. */
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	o.os = k->os = sim_new(1);
	if (store_open("/store", &o, &s))
		die("no start", 0, 0);
	on_notice = take_notice;
	world_begin(s);
	check_wants();
	world_hears();
	make_known(k, FUSE_ROOT_ID, "K", &k->table);
	make_known(k, k->table.id, "R", &k->row);
	for (unsigned i = 0; i < COLUMNS; i++)
		k->lens[i] = -1;
}

static void say(void *arg, const char *sentence)
{
	die(sentence, 0, 0);
}

static void end(struct kernel *k)
{
	uint64_t live, pinned;

	for (unsigned i = 0; i < COLUMNS; i++)
		get(k, i);
	check_beliefs(k);
	while (k->nfiles)
		close_file(k, 0);
	while (k->nnodes)
		forget_last(k);
	forget_node(k, &k->row);
	forget_node(k, &k->table);
	nodes_count(world.fs->nodes, &live, &pinned);
	if (pinned == 0 && live != 1)
		die("nodes are left that the kernel has forgotten", live, 1);
	invalidator_stop(world.fs->invalidator);
	world_end();
	if (store_check("/store", k->os, say, NULL))
		die("the store is damaged", 0, 0);
	believed.nentries = believed.nattrs = 0;
	for (size_t i = 0; i < NODES_MAX; i++) {
		buf_free(&kept[i].names);
		kept[i].node = 0;
	}
	sim_free(k->os);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct decoder d = decoder_of(bytes_of(data, size));
	struct kernel k = {0};

	start(&k);
	for (unsigned i = 0; i < ACTS_MAX && decoder_left(&d); i++)
		act(&k, &d);
	end(&k);
	return 0;
}
