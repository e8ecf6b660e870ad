/*
 * null: a filesystem that keeps a tree in memory and does nothing else.
 *
 * usage: null [OPTION...] MOUNTPOINT	the options of fuse_session_new(3)
 *
 * What a request costs here is what FUSE itself costs, so bench-mount compares
 * cellfs with it. What the kernel is told is what cellfs tells it where it can:
 * names, absence and attributes are believed until they change, and so are the
 * pages of a file and the names in a directory. Nothing outlives the process.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/kernel/fuse.h"

enum {
	BUCKETS_MIN = 1024,
	BELIEVED_S = 365 * 24 * 3600,
	THREADS = 32, /* as cellfs has */
};

/*
 * A file or a directory. What @lock guards is changed with it held to write;
 * only @lookups is changed with it held to read.
 */
struct node {
	char *name; /* NULL: removed, or the root */
	struct node *parent;
	struct node *next_in_bucket;
	/* A directory's entries in the order they came in; NULL: a hole. */
	struct node **entries;
	size_t nentries, entries_cap, used;
	size_t index; /* in the entries of @parent */
	char *data;
	size_t size, data_cap;
	mode_t mode;
	struct timespec mtime;
	_Atomic uint64_t lookups;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct node root = {.mode = S_IFDIR | 0755};
/* All nodes with a name, by parent and name. */
static struct node **buckets;
static size_t nbuckets, nnodes;

static struct node *node_of(fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? &root : (struct node *)(uintptr_t)ino;
}

static fuse_ino_t ino_of(const struct node *n)
{
	return n == &root ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)n;
}

static bool is_dir(const struct node *n)
{
	return S_ISDIR(n->mode);
}

static void touch(struct node *n)
{
	clock_gettime(CLOCK_REALTIME_COARSE, &n->mtime);
}

/* FNV-1a. */
static size_t hash_of(const struct node *parent, const char *name)
{
	uint64_t h = 14695981039346656037u ^ (uintptr_t)parent >> 4;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 1099511628211u;
	return h ^ h >> 32;
}

static struct node **bucket(const struct node *parent, const char *name)
{
	return &buckets[hash_of(parent, name) & (nbuckets - 1)];
}

static struct node *find(const struct node *parent, const char *name)
{
	struct node *n = *bucket(parent, name);

	while (n && (n->parent != parent || strcmp(n->name, name) != 0))
		n = n->next_in_bucket;
	return n;
}

/* Doubles the table when it is full. */
static int make_bucket_room(void)
{
	size_t n = nbuckets ? 2 * nbuckets : BUCKETS_MIN, old = nbuckets;
	struct node **all = buckets, **more;

	if (nnodes < nbuckets)
		return 0;
	more = calloc(n, sizeof(*more));
	if (!more)
		return -ENOMEM;
	buckets = more;
	nbuckets = n;
	for (size_t i = 0; i < old; i++) {
		for (struct node *e = all[i], *next; e; e = next) {
			struct node **b = bucket(e->parent, e->name);

			next = e->next_in_bucket;
			e->next_in_bucket = *b;
			*b = e;
		}
	}
	free(all);
	return 0;
}

/* Gives @n a name in @parent that nobody has. */
static int link_node(struct node *n, struct node *parent, const char *name)
{
	char *copy = strdup(name);
	struct node **b;

	if (!copy || make_bucket_room())
		goto no_memory;
	if (parent->nentries == parent->entries_cap) {
		size_t cap = parent->entries_cap ? 2 * parent->entries_cap : 8;
		struct node **more =
			realloc(parent->entries, cap * sizeof(struct node *));

		if (!more)
			goto no_memory;
		parent->entries = more;
		parent->entries_cap = cap;
	}
	n->name = copy;
	n->parent = parent;
	n->index = parent->nentries;
	parent->entries[parent->nentries++] = n;
	parent->used++;
	b = bucket(parent, name);
	n->next_in_bucket = *b;
	*b = n;
	nnodes++;
	touch(parent);
	return 0;

no_memory:
	free(copy);
	return -ENOMEM;
}

static void unlink_node(struct node *n)
{
	struct node **b = bucket(n->parent, n->name);

	while (*b != n)
		b = &(*b)->next_in_bucket;
	*b = n->next_in_bucket;
	n->parent->entries[n->index] = NULL;
	n->parent->used--;
	touch(n->parent);
	free(n->name);
	n->name = NULL;
	nnodes--;
}

static void free_if_gone(struct node *n)
{
	if (n->name || n == &root || n->lookups > 0)
		return;
	free(n->entries);
	free(n->data);
	free(n);
}

static void stat_of(const struct node *n, struct stat *st)
{
	*st = (struct stat){
		.st_ino = ino_of(n),
		.st_mode = n->mode,
		.st_nlink = is_dir(n) ? 2 : 1,
		.st_size = (off_t)n->size,
		.st_blocks = (blkcnt_t)(n->size + 511) / 512,
		.st_blksize = 4096,
		.st_uid = getuid(),
		.st_gid = getgid(),
		.st_mtim = n->mtime,
		.st_ctim = n->mtime,
		.st_atim = n->mtime,
	};
}

/* An entry that the kernel keeps: one look-up more. */
static struct fuse_entry_param entry_of(struct node *n)
{
	struct fuse_entry_param e = {
		.ino = ino_of(n),
		.attr_timeout = BELIEVED_S,
		.entry_timeout = BELIEVED_S,
	};

	n->lookups++;
	stat_of(n, &e.attr);
	return e;
}

static void null_init(void *data, struct fuse_conn_info *conn)
{
	conn->want &=
		~(unsigned)(FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_SPLICE_READ);
	conn->want |= conn->capable &
		      (FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_READDIRPLUS |
		       FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_PARALLEL_DIROPS |
		       FUSE_CAP_ASYNC_READ | FUSE_CAP_HANDLE_KILLPRIV);
}

static void null_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param e = {.entry_timeout = BELIEVED_S};
	struct node *n;

	pthread_rwlock_rdlock(&lock);
	n = find(node_of(parent), name);
	if (n)
		e = entry_of(n);
	pthread_rwlock_unlock(&lock);
	fuse_reply_entry(req, &e);
}

static void forget(fuse_ino_t ino, uint64_t times)
{
	struct node *n = node_of(ino);

	n->lookups -= times;
	free_if_gone(n);
}

static void null_forget(fuse_req_t req, fuse_ino_t ino, uint64_t times)
{
	pthread_rwlock_wrlock(&lock);
	forget(ino, times);
	pthread_rwlock_unlock(&lock);
	fuse_reply_none(req);
}

static void null_forget_multi(fuse_req_t req, size_t count,
			      struct fuse_forget_data *all)
{
	pthread_rwlock_wrlock(&lock);
	for (size_t i = 0; i < count; i++)
		forget(all[i].ino, all[i].nlookup);
	pthread_rwlock_unlock(&lock);
	fuse_reply_none(req);
}

static void null_getattr(fuse_req_t req, fuse_ino_t ino,
			 struct fuse_file_info *fi)
{
	struct stat st;

	pthread_rwlock_rdlock(&lock);
	stat_of(node_of(ino), &st);
	pthread_rwlock_unlock(&lock);
	fuse_reply_attr(req, &st, BELIEVED_S);
}

/* The data grows with zeros. */
static int resize(struct node *n, size_t size)
{
	if (size > n->data_cap) {
		size_t cap = size > 2 * n->data_cap ? size : 2 * n->data_cap;
		char *more = realloc(n->data, cap);

		if (!more)
			return -ENOMEM;
		n->data = more;
		n->data_cap = cap;
	}
	if (size > n->size)
		memset(n->data + n->size, 0, size - n->size);
	n->size = size;
	return 0;
}

static void null_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st,
			 int set, struct fuse_file_info *fi)
{
	struct node *n = node_of(ino);
	struct stat now;
	int err = 0;

	pthread_rwlock_wrlock(&lock);
	if (set & FUSE_SET_ATTR_MODE)
		n->mode = (n->mode & S_IFMT) | (st->st_mode & 07777);
	if (set & FUSE_SET_ATTR_SIZE)
		err = resize(n, (size_t)st->st_size);
	if (set & FUSE_SET_ATTR_MTIME_NOW || set & FUSE_SET_ATTR_SIZE)
		touch(n);
	else if (set & FUSE_SET_ATTR_MTIME)
		n->mtime = st->st_mtim;
	stat_of(n, &now);
	pthread_rwlock_unlock(&lock);
	if (err)
		fuse_reply_err(req, -err);
	else
		fuse_reply_attr(req, &now, BELIEVED_S);
}

/* Makes a node, or gives the one that has the name where @exist_ok. */
static int make(fuse_ino_t parent, const char *name, mode_t mode, bool exist_ok,
		struct fuse_entry_param *e)
{
	struct node *n;
	int err = 0;

	pthread_rwlock_wrlock(&lock);
	n = find(node_of(parent), name);
	if (n) {
		err = exist_ok ? 0 : -EEXIST;
	} else if (!(n = calloc(1, sizeof(*n)))) {
		err = -ENOMEM;
	} else {
		n->mode = mode;
		touch(n);
		err = link_node(n, node_of(parent), name);
		if (err)
			free(n);
	}
	if (!err)
		*e = entry_of(n);
	pthread_rwlock_unlock(&lock);
	return err;
}

static void null_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name,
		       mode_t mode)
{
	struct fuse_entry_param e;
	int err = make(parent, name, S_IFDIR | mode, false, &e);

	if (err)
		fuse_reply_err(req, -err);
	else
		fuse_reply_entry(req, &e);
}

static void null_create(fuse_req_t req, fuse_ino_t parent, const char *name,
			mode_t mode, struct fuse_file_info *fi)
{
	struct fuse_entry_param e;
	int err = make(parent, name, S_IFREG | (mode & 07777),
		       !(fi->flags & O_EXCL), &e);

	fi->keep_cache = 1;
	if (err)
		fuse_reply_err(req, -err);
	else
		fuse_reply_create(req, &e, fi);
}

static void remove_name(fuse_req_t req, fuse_ino_t parent, const char *name,
			bool dir)
{
	struct node *n;
	int err = 0;

	pthread_rwlock_wrlock(&lock);
	n = find(node_of(parent), name);
	if (!n)
		err = ENOENT;
	else if (is_dir(n) != dir)
		err = dir ? ENOTDIR : EISDIR;
	else if (n->used > 0)
		err = ENOTEMPTY;
	if (!err) {
		unlink_node(n);
		free_if_gone(n);
	}
	pthread_rwlock_unlock(&lock);
	fuse_reply_err(req, err);
}

static void null_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	remove_name(req, parent, name, false);
}

static void null_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	remove_name(req, parent, name, true);
}

static int move(struct node *from, const char *name, struct node *to,
		const char *new_name, unsigned flags)
{
	struct node *n = find(from, name), *old = find(to, new_name);
	char *kept;
	int err;

	if (!n)
		return ENOENT;
	if (flags & ~RENAME_NOREPLACE)
		return EINVAL;
	if (old && flags & RENAME_NOREPLACE)
		return EEXIST;
	if (old && old->used > 0)
		return ENOTEMPTY;
	if (old == n)
		return 0;
	kept = strdup(name);
	if (!kept)
		return ENOMEM;
	if (old) {
		unlink_node(old);
		free_if_gone(old);
	}
	unlink_node(n);
	err = -link_node(n, to, new_name);
	if (err && link_node(n, from, kept))
		abort(); /* an entry was given back just now */
	free(kept);
	return err;
}

static void null_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
			fuse_ino_t to, const char *new_name, unsigned flags)
{
	int err;

	pthread_rwlock_wrlock(&lock);
	err = move(node_of(parent), name, node_of(to), new_name, flags);
	pthread_rwlock_unlock(&lock);
	fuse_reply_err(req, err);
}

static void null_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	if (fi->flags & O_TRUNC) {
		pthread_rwlock_wrlock(&lock);
		node_of(ino)->size = 0;
		touch(node_of(ino));
		pthread_rwlock_unlock(&lock);
	}
	fi->keep_cache = 1;
	fuse_reply_open(req, fi);
}

static void null_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		      struct fuse_file_info *fi)
{
	struct node *n = node_of(ino);
	size_t at = (size_t)off;

	pthread_rwlock_rdlock(&lock);
	if (at >= n->size)
		fuse_reply_buf(req, NULL, 0);
	else
		fuse_reply_buf(req, n->data + at,
			       size < n->size - at ? size : n->size - at);
	pthread_rwlock_unlock(&lock);
}

static void null_write(fuse_req_t req, fuse_ino_t ino, const char *data,
		       size_t size, off_t off, struct fuse_file_info *fi)
{
	struct node *n = node_of(ino);
	size_t end = (size_t)off + size;
	int err = 0;

	pthread_rwlock_wrlock(&lock);
	if (fi->flags & O_APPEND) {
		off = (off_t)n->size;
		end = n->size + size;
	}
	if (end > n->size)
		err = resize(n, end);
	if (!err)
		memcpy(n->data + off, data, size);
	touch(n);
	pthread_rwlock_unlock(&lock);
	if (err)
		fuse_reply_err(req, -err);
	else
		fuse_reply_write(req, size);
}

/* Calls that have nothing to do. */
static void null_done(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	fuse_reply_err(req, 0);
}

static void null_fsync(fuse_req_t req, fuse_ino_t ino, int data_only,
		       struct fuse_file_info *fi)
{
	null_done(req, ino, fi);
}

static void null_opendir(fuse_req_t req, fuse_ino_t ino,
			 struct fuse_file_info *fi)
{
	struct node *n = node_of(ino), *parent;

	pthread_rwlock_rdlock(&lock);
	parent = n->parent;
	pthread_rwlock_unlock(&lock);
	/* As cellfs: below tables, which may have any number of rows. */
	fi->cache_readdir = fi->keep_cache = parent && parent != &root;
	fuse_reply_open(req, fi);
}

/* Entry @off of @dir as bytes of a reply; 0 if there is no room for it. */
static size_t add_entry(fuse_req_t req, struct node *n, off_t off, bool plus,
			char *at, size_t room)
{
	struct fuse_entry_param e = {.ino = ino_of(n)};
	size_t took;

	if (!plus) {
		stat_of(n, &e.attr);
		return fuse_add_direntry(req, at, room, n->name, &e.attr, off);
	}
	e = entry_of(n);
	took = fuse_add_direntry_plus(req, at, room, n->name, &e, off);
	if (took > room)
		n->lookups--;
	return took;
}

static void list(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		 bool plus)
{
	struct node *dir = node_of(ino);
	char *reply = malloc(size);
	size_t used = 0;

	if (!reply) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	pthread_rwlock_rdlock(&lock);
	for (size_t i = (size_t)off; i < dir->nentries; i++) {
		size_t took;

		if (!dir->entries[i])
			continue;
		took = add_entry(req, dir->entries[i], (off_t)i + 1, plus,
				 reply + used, size - used);
		if (took > size - used)
			break;
		used += took;
	}
	pthread_rwlock_unlock(&lock);
	fuse_reply_buf(req, reply, used);
	free(reply);
}

static void null_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
			 struct fuse_file_info *fi)
{
	list(req, ino, size, off, false);
}

static void null_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size,
			     off_t off, struct fuse_file_info *fi)
{
	list(req, ino, size, off, true);
}

static const struct fuse_lowlevel_ops ops = {
	.init = null_init,
	.lookup = null_lookup,
	.forget = null_forget,
	.forget_multi = null_forget_multi,
	.getattr = null_getattr,
	.setattr = null_setattr,
	.mkdir = null_mkdir,
	.create = null_create,
	.unlink = null_unlink,
	.rmdir = null_rmdir,
	.rename = null_rename,
	.open = null_open,
	.read = null_read,
	.write = null_write,
	.flush = null_done,
	.release = null_done,
	.fsync = null_fsync,
	.opendir = null_opendir,
	.readdir = null_readdir,
	.readdirplus = null_readdirplus,
	.releasedir = null_done,
	.fsyncdir = null_fsync,
};

static int serve(struct fuse_session *se, const struct fuse_cmdline_opts *opts)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int r;

	if (!config)
		return 1;
	fuse_loop_cfg_set_clone_fd(config, 0);
	fuse_loop_cfg_set_max_threads(config, THREADS);
	fuse_loop_cfg_set_idle_threads(config, THREADS);
	fuse_daemonize(opts->foreground);
	r = fuse_session_loop_mt(se, config);
	fuse_loop_cfg_destroy(config);
	return r ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
	struct fuse_cmdline_opts opts;
	struct fuse_session *se;
	int r = 1;

	if (fuse_parse_cmdline(&args, &opts) || !opts.mountpoint) {
		fputs("usage: null [OPTION...] MOUNTPOINT\n", stderr);
		return 2;
	}
	touch(&root);
	if (make_bucket_room())
		return 1;
	se = fuse_session_new(&args, &ops, sizeof(ops), NULL);
	if (!se)
		return 1;
	if (fuse_set_signal_handlers(se) == 0 &&
	    fuse_session_mount(se, opts.mountpoint) == 0) {
		r = fuse_parallel_dirops(se) < 0 ? 1 : serve(se, &opts);
		fuse_session_unmount(se);
	}
	fuse_session_destroy(se);
	free(opts.mountpoint);
	fuse_opt_free_args(&args);
	return r;
}
