#include "fs/tree/root.h"

#include <errno.h>

#include "fs/tree/fs.h"

/* One component down: @at becomes its child @name. */
static int enter(struct fs *fs, struct place *at, struct bytes name)
{
	struct place child;
	struct stat st;
	int r;

	why_clear();
	r = place_child(fs, at, name, &child);
	if (r == -ENOTDIR)
		why(r, "%s is a file", at->name);
	if (r == 0)
		r = place_stat(fs, &child, &st);
	if (r == 0)
		r = -ENOENT;
	place_release(r > 0 ? at : &child);
	if (r > 0)
		*at = child;
	return r > 0 ? 0 : r;
}

/* Only what has one shape all the time it is mounted. */
static int check_kind(const struct place *p)
{
	if (place_is(p, KIND_ROOT))
		return 0;
	if (p->kind == NODE_VIEW_NAME)
		return why(-EINVAL, "%s wants an argument behind it", p->name);
	return why(-EINVAL, "the root is a table, a view or a snapshot");
}

static int walk(struct fs *fs, const char *path, struct place *at)
{
	size_t n;
	int r = 0;

	for (const char *p = path; r == 0 && *p; p += n) {
		n = strcspn(p, "/");
		if (n == 0) {
			n = 1;
			continue;
		}
		r = enter(fs, at, bytes_of(p, n));
		if (r < 0)
			why(r, "%.*s: %s", (int)n, p,
			    *store_why() ? store_why() : strerror(-r));
	}
	if (r == 0)
		r = check_kind(at);
	return r < 0 ? why(r, "-o root=%s: %s", path, store_why()) : 0;
}

int root_open(struct fs *fs, const char *path)
{
	struct place at;
	int r = place_copy(&at, &fs->root);

	if (r == 0)
		r = walk(fs, path, &at);
	if (r < 0) {
		place_release(&at);
		return r;
	}
	place_release(&fs->root);
	fs->root = at;
	fs->root.node = fs->root.parent = FUSE_ROOT_ID;
	return 0;
}
