#include "tools/backup/carry.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#define PIECE ((size_t)1 << 20)

int carry_failed(const char *call, const char *name)
{
	int err = -errno;

	return why(err, "%s %s: %s", call, name, strerror(errno));
}

bool carry_went(const struct carry_watch *w, uint64_t bytes)
{
	return !w || w->went(w->arg, bytes);
}

bool carry_check_went(void *arg, uint64_t bytes)
{
	const struct carry_finding *k = arg;

	return carry_went(k->watch, bytes);
}

void carry_keep_first(void *arg, const char *sentence)
{
	struct carry_finding *k = arg;

	if (!k->first[0])
		snprintf(k->first, sizeof(k->first), "%s", sentence);
}

static int went(const struct carry_watch *w, uint64_t bytes)
{
	return carry_went(w, bytes) ? 0 : why(-ECANCELED, "stopped");
}

int carry_write(int fd, struct bytes b, const char *name)
{
	while (b.len) {
		ssize_t n = write(fd, b.data, b.len);

		if (n < 0 && errno != EINTR)
			return carry_failed("writing", name);
		b.data += n > 0 ? n : 0;
		b.len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

uint64_t carry_most(const struct hold_file *f)
{
	return f->bytes * (f->sum ? 3 : 2);
}

/* Opens a file and checks its size. */
static int open_source(int dir, const struct hold_file *f, int *fd)
{
	struct stat st;
	int r;

	*fd = openat(dir, f->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (*fd < 0 && errno == ENOENT)
		return why(-EUCLEAN, "%s is missing", f->name);
	if (*fd < 0)
		return carry_failed("opening", f->name);
	if (fstat(*fd, &st) < 0)
		r = carry_failed("looking at", f->name);
	else if ((uint64_t)st.st_size == f->size)
		return 0;
	else
		r = why(-EUCLEAN, "%s has %lld bytes instead of %llu", f->name,
			(long long)st.st_size, (unsigned long long)f->size);
	close(*fd);
	return r;
}

/* Hashes the first bytes of the file, and copies them unless @out is -1. */
static int read_pieces(int fd, const struct hold_file *f,
		       const struct carry_watch *w, int out, uint64_t *hash)
{
	XXH3_state_t *state = XXH3_createState();
	uint8_t *piece = malloc(PIECE);
	uint64_t at = 0;
	ssize_t n, put;
	int r = state && piece ? 0 : why(-ENOMEM, "out of memory");

	if (r == 0)
		XXH3_64bits_reset(state);
	while (r == 0 && at < f->bytes) {
		n = pread(fd, piece,
			  f->bytes - at < PIECE ? f->bytes - at : PIECE,
			  (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			r = n ? carry_failed("reading", f->name)
			      : why(-EUCLEAN, "%s became shorter", f->name);
			break;
		}
		XXH3_64bits_update(state, piece, (size_t)n);
		for (ssize_t done = 0; out >= 0 && r == 0 && done < n;
		     done += put) {
			put = pwrite(out, piece + done, (size_t)(n - done),
				     (off_t)at + done);
			if (put < 0 && errno != EINTR)
				r = carry_failed("writing", f->name);
			put = put < 0 ? 0 : put;
		}
		at += (uint64_t)n;
		if (r == 0)
			r = went(w, (uint64_t)n);
	}
	if (r == 0)
		*hash = XXH3_64bits_digest(state);
	free(piece);
	XXH3_freeState(state);
	return r;
}

int carry_hash(int dir, const struct hold_file *f, const struct carry_watch *w,
	       uint64_t *hash)
{
	int fd, r = open_source(dir, f, &fd);

	if (r < 0)
		return r;
	r = read_pieces(fd, f, w, -1, hash);
	close(fd);
	return r;
}

static void part_name(const struct hold_file *f, char out[HOLD_NAME_MAX + 8])
{
	snprintf(out, HOLD_NAME_MAX + 8, "%s.part", f->name);
}

static void drop_part(int to, const struct hold_file *f)
{
	char name[HOLD_NAME_MAX + 8];

	part_name(f, name);
	(void)unlinkat(to, name, 0);
}

static int open_part(int to, const struct hold_file *f, int *fd)
{
	char name[HOLD_NAME_MAX + 8];

	part_name(f, name);
	if (unlinkat(to, name, 0) < 0 && errno != ENOENT)
		return carry_failed("removing", name);
	*fd = openat(to, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return *fd < 0 ? carry_failed("making", name) : 0;
}

/*
 * Makes the file durable, and reads back what the disk has. @hash: what it should
 * have; NULL: not known, *got tells.
 */
static int finish(int fd, const struct hold_file *f,
		  const struct carry_watch *w, const uint64_t *hash,
		  uint64_t *got)
{
	char name[HOLD_NAME_MAX + 8];
	int r = 0;

	part_name(f, name);
	/* The first one drops what lay behind of a file that was cloned. */
	if (ftruncate(fd, (off_t)f->bytes) < 0 ||
	    ftruncate(fd, (off_t)f->size) < 0)
		return carry_failed("sizing", name);
	if (fsync(fd) < 0)
		return carry_failed("syncing", name);
	/* A hint; where it is not taken the page cache is compared. */
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	r = read_pieces(fd, f, w, -1, got);
	if (r == 0 && hash && *hash != *got)
		r = why(-EIO, "%s: what was written is not what is read back",
			f->name);
	return r;
}

/* Closes the file, and gives it its name unless it has failed by @r. */
static int give_name(int fd, int to, const struct hold_file *f, int r)
{
	char name[HOLD_NAME_MAX + 8];

	part_name(f, name);
	if (close(fd) < 0 && r == 0)
		r = carry_failed("closing", name);
	if (r == 0 && renameat(to, name, to, f->name) < 0)
		r = carry_failed("renaming", name);
	return r;
}

/* Gives a table file a second name, which the store takes of its owner alone. */
static bool link_source(int in, int from, int to, const struct hold_file *f)
{
	struct stat st;

	return f->sum && fstat(in, &st) == 0 && st.st_uid == geteuid() &&
	       linkat(from, f->name, to, f->name, 0) == 0;
}

int carry_file(int from, int to, const struct hold_file *f,
	       enum carry_share share, const struct carry_watch *w,
	       uint64_t *hash)
{
	uint64_t read = 0, got = 0;
	int in, out = -1, r = open_source(from, f, &in);
	bool cloned, linked;

	if (r < 0)
		return r;
	r = open_part(to, f, &out);
	cloned =
		r == 0 && share >= SHARE_BLOCKS && ioctl(out, FICLONE, in) == 0;
	linked = r == 0 && !cloned && share == SHARE_FILE &&
		 link_source(in, from, to, f);
	if (r == 0)
		r = cloned || linked ? went(w, f->bytes)
				     : read_pieces(in, f, w, out, &read);
	if (r == 0)
		r = linked ? read_pieces(in, f, w, -1, &got)
			   : finish(out, f, w, cloned ? NULL : &read, &got);
	if (out >= 0 && !linked)
		r = give_name(out, to, f, r);
	else if (out >= 0)
		close(out);
	if (r == 0)
		*hash = got;
	else if (linked)
		(void)unlinkat(to, f->name, 0);
	if (out >= 0 && (r < 0 || linked))
		drop_part(to, f);
	close(in);
	return r;
}

int carry_bytes(struct bytes b, int to, const struct hold_file *f,
		uint64_t *hash)
{
	uint64_t is = XXH3_64bits(b.data, b.len), got = 0;
	int fd = -1, r = open_part(to, f, &fd);

	if (r < 0)
		return r;
	r = carry_write(fd, b, f->name);
	if (r == 0)
		r = finish(fd, f, NULL, &is, &got);
	r = give_name(fd, to, f, r);
	if (r == 0)
		*hash = got;
	else
		drop_part(to, f);
	return r;
}
