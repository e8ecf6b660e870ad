/*
 * A scratch file that is open: its content is in memory (scratch.h) and stays
 * there, so that nothing is gathered and nothing published.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "fs/files/writer_inside.h"

#define GROUPS_MAX 1024

/* Is who asks of that group, in any of the ways of credentials(7)? 1, 0 or an error. */
static int in_group(fuse_req_t req, gid_t group)
{
	gid_t groups[GROUPS_MAX];
	int n;

	if (fuse_req_ctx(req)->gid == group)
		return 1;
	n = fuse_req_getgroups(req, GROUPS_MAX, groups);
	for (int i = 0; i < n && i < GROUPS_MAX; i++)
		if (groups[i] == group)
			return 1;
	return n < 0 ? n : 0;
}

int writer_may_read(struct fs *fs, fuse_req_t req, uint64_t node)
{
	uid_t who = fuse_req_ctx(req)->uid;
	struct scratch_attr a;
	struct stat st = {0};
	mode_t others = S_IROTH;
	int member;

	/* Who made it is the owner, also where the mount shows another one. */
	if (who == 0 || !scratch_getattr(fs->writes->scratch, node, &a) ||
	    who == a.uid || !writer_stat_scratch(fs, node, &st) ||
	    who == st.st_uid)
		return 0;
	if (S_ISDIR(st.st_mode))
		others |= S_IXOTH;
	member = in_group(req, st.st_gid);
	others = member > 0 ? others << 3 : others;
	if ((st.st_mode & others) == others)
		return 0;
	return why(-EACCES,
		   "you may not read this %s of another user%s, so you "
		   "cannot make cells of it, which all who read the table read",
		   S_ISDIR(st.st_mode) ? "directory" : "file",
		   member < 0 ? " (your groups cannot be asked for)" : "");
}

static int scratch_file_read(struct fs *fs, struct open_file *f, fuse_req_t req,
			     size_t size, off_t off)
{
	char *out = malloc(size + 1);
	ssize_t n;

	if (!out)
		return -ENOMEM;
	n = scratch_read(fs->writes->scratch, writer_of(f)->place.node, out,
			 size, (uint64_t)off);
	if (n >= 0)
		fuse_reply_buf(req, out, (size_t)n);
	free(out);
	return n < 0 ? (int)n : 0;
}

static int scratch_file_write(struct fs *fs, struct open_file *f,
			      struct bytes data, off_t off, int flags)
{
	return scratch_write(fs->writes->scratch, writer_of(f)->place.node,
			     data, (uint64_t)off, flags & O_APPEND);
}

static int scratch_file_truncate(struct fs *fs, struct open_file *f, off_t size)
{
	struct scratch_attr a = {.size = (uint64_t)size}, now;

	return scratch_setattr(fs->writes->scratch, writer_of(f)->place.node,
			       SCRATCH_SET_SIZE, &a, &now);
}

static int scratch_file_extend(struct fs *fs, struct open_file *f, off_t size)
{
	struct scratch_attr a;

	if (!scratch_getattr(fs->writes->scratch, writer_of(f)->place.node, &a))
		return scratch_say_moved();
	return (uint64_t)size > a.size ? scratch_file_truncate(fs, f, size) : 0;
}

static void scratch_file_release(struct fs *fs, struct open_file *f)
{
	writer_unregister(writer_of(f));
}

const struct file_ops writer_scratch_ops = {
	.read = scratch_file_read,
	.write = scratch_file_write,
	.truncate = scratch_file_truncate,
	.extend = scratch_file_extend,
	.release = scratch_file_release,
	.free = writer_free,
};
