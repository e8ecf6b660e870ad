#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "fs/look/listing.h"
#include "fs/look/lookup.h"
#include "fs/ops/ops.h"

/*
 * When more directories than that are open, those that nobody has read for a
 * while give back their scans.
 */
#define LISTINGS_BUSY 64
#define LISTING_REST_S 2
/* What a directory takes that is being listed: its scan. */
#define LISTING_BYTES (48u << 10)
/*
 * The first reply with attributes: 30 and some names, each of which costs a node.
 * Who wants but the first few does not wait for the 200 of a full one.
 */
#define FIRST_BYTES (6u << 10)

static void rest_one(void *arg, struct open_file *f)
{
	listing_rest(listing_of(f), *(int64_t *)arg);
}

static int do_opendir(struct fs *fs, uint64_t ino, struct fuse_file_info *fi)
{
	int64_t before = time(NULL) - LISTING_REST_S;
	struct listing *ls = NULL;
	struct place p;
	int r = place_of(fs, ino, &p);

	if (r == 0)
		r = listing_open(fs, &p, &ls);
	if (r == 0) {
		struct budget_share *share = &listing_file(ls)->share;

		listing_keep(ls, fi);
		budget_share_init(share, &fs->budget);
		r = budget_hold(share, LISTING_BYTES) < 0
			    ? budget_say(&fs->budget, -ENFILE)
			    : handles_open(fs->handles, listing_file(ls), fi);
		if (r < 0)
			open_file_drop(listing_file(ls));
	}
	if (r == 0 && handles_count(fs->handles) > LISTINGS_BUSY &&
	    fi->fh % LISTINGS_BUSY == 0)
		handles_each(fs->handles, &listing_ops, rest_one, &before);
	place_release(&p);
	return r;
}

void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_begin(req);
	int r = do_opendir(fs, ino, fi);

	if (r < 0)
		fs_reply_err(req, "opendir", ino, NULL, r);
	else if (fuse_reply_open(req, fi) != 0)
		handles_release(fs->handles, fs, fi->fh);
}

void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync,
		 struct fuse_file_info *fi)
{
	struct fs *fs = fs_begin(req);

	fs_reply(req, "fsyncdir", ino, NULL, fs_sync(fs));
}

/* Adds an entry to the buffer if it fits; returns its size. */
static size_t put_entry(fuse_req_t req, char *to, size_t room, bool plus,
			uint64_t parent, struct listing_entry *e)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param param = {0};
	size_t n;

	param.attr.st_ino = e->ino;
	param.attr.st_mode = kind_is(e->kind, KIND_DIR) ? S_IFDIR : S_IFREG;
	if (!plus)
		return fuse_add_direntry(req, to, room, e->name, &param.attr,
					 (off_t)e->offset);
	/*
	 * Without a node the kernel takes the name alone, and looks it up
	 * later.
	 */
	if (e->place && fs_entry(fs, parent, e->place, &e->st, &param) < 0) {
		param.ino = 0;
		param.attr.st_ino = e->ino;
	}
	n = fuse_add_direntry_plus(req, to, room, e->name, &param,
				   (off_t)e->offset);
	if (n > room && param.ino)
		nodes_forget(fs->nodes, param.ino, 1);
	return n;
}

/*
 * Fills a reply of at most @size bytes from offset @off. Returns its length or
 * an error.
 */
static ssize_t do_readdir(fuse_req_t req, struct listing *ls, uint64_t parent,
			  char *buf, size_t size, off_t off, bool plus)
{
	struct listing_entry e;
	size_t used = 0, n;
	int r = listing_seek(ls, (uint64_t)off);

	while (r == 0 && (r = listing_next(ls, plus, &e)) > 0) {
		n = put_entry(req, buf + used, size - used, plus, parent, &e);
		if (n > size - used)
			return (ssize_t)used;
		used += n;
		r = 0;
	}
	/* After the first entry an error waits for the next call. */
	return r < 0 && used == 0 ? r : (ssize_t)used;
}

static void readdir_any(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
			struct fuse_file_info *fi, bool plus)
{
	struct fs *fs = fs_begin(req);
	struct open_file *f = handles_get(fs->handles, fi->fh, &listing_ops);
	ssize_t n = -EBADF;
	char *buf = NULL;

	if (plus && off == 0 && size > FIRST_BYTES)
		size = FIRST_BYTES;
	if (f && off >= 0) {
		buf = malloc(size);
		n = buf ? do_readdir(req, listing_of(f), ino, buf, size, off,
				     plus)
			: -ENOMEM;
	}
	if (n < 0)
		fs_reply_err(req, "readdir", ino, NULL, (int)n);
	else
		fuse_reply_buf(req, buf, (size_t)n);
	free(buf);
	open_file_drop(f);
}

void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		struct fuse_file_info *fi)
{
	readdir_any(req, ino, size, off, fi, false);
}

void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	readdir_any(req, ino, size, off, fi, true);
}
