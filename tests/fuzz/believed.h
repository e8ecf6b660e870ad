/*
 * What a kernel believes of a mount: entries (a name in a directory, there or
 * absent) and attributes, each until its timeout, a notice, or what Linux forgets
 * itself after a request of its own (fs/fuse/dir.c).
 *
 * One thread asks and another may bring notices; one lock guards all. A table that
 * is full forgets its oldest.
 */
#ifndef CELLFS_TESTS_FUZZ_BELIEVED_H
#define CELLFS_TESTS_FUZZ_BELIEVED_H

#include <linux/fuse.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define BELIEVED_MAX 64
#define BELIEVED_NAME 256

struct believed_entry {
	uint64_t parent, node; /* node 0: the name is absent */
	char name[BELIEVED_NAME];
};

struct believed_attr {
	uint64_t node;
	struct fuse_attr attr;
};

struct believed {
	pthread_mutex_t lock;
	struct believed_entry entries[BELIEVED_MAX];
	size_t nentries;
	struct believed_attr attrs[BELIEVED_MAX];
	size_t nattrs;
};

static void believed_drop_attr(struct believed *b, uint64_t node)
{
	pthread_mutex_lock(&b->lock);
	for (size_t i = 0; i < b->nattrs; i++)
		if (b->attrs[i].node == node) {
			b->attrs[i] = b->attrs[--b->nattrs];
			break;
		}
	pthread_mutex_unlock(&b->lock);
}

static struct believed_entry *believed_find(struct believed *b, uint64_t parent,
					    const char *name)
{
	for (size_t i = 0; i < b->nentries; i++)
		if (b->entries[i].parent == parent &&
		    !strcmp(b->entries[i].name, name))
			return &b->entries[i];
	return NULL;
}

/* The entry is believed no longer; the node that it led to, 0 = none. */
static uint64_t believed_drop_entry(struct believed *b, uint64_t parent,
				    const char *name)
{
	struct believed_entry *e;
	uint64_t node = 0;

	pthread_mutex_lock(&b->lock);
	e = believed_find(b, parent, name);
	if (e) {
		node = e->node;
		*e = b->entries[--b->nentries];
	}
	pthread_mutex_unlock(&b->lock);
	return node;
}

static void believed_drop_names(struct believed *b)
{
	pthread_mutex_lock(&b->lock);
	b->nentries = 0;
	pthread_mutex_unlock(&b->lock);
}

/* The kernel has forgotten the node. */
static void believed_drop_node(struct believed *b, uint64_t node)
{
	size_t kept = 0;

	believed_drop_attr(b, node);
	pthread_mutex_lock(&b->lock);
	for (size_t i = 0; i < b->nentries; i++)
		if (b->entries[i].node != node && b->entries[i].parent != node)
			b->entries[kept++] = b->entries[i];
	b->nentries = kept;
	pthread_mutex_unlock(&b->lock);
}

/* A reply brought them; a timeout of 0 is no belief. */
static void believed_add_attr(struct believed *b, uint64_t node,
			      const struct fuse_attr *attr, bool valid)
{
	believed_drop_attr(b, node);
	if (!valid)
		return;
	pthread_mutex_lock(&b->lock);
	if (b->nattrs == BELIEVED_MAX)
		b->attrs[0] = b->attrs[--b->nattrs];
	b->attrs[b->nattrs++] =
		(struct believed_attr){.node = node, .attr = *attr};
	pthread_mutex_unlock(&b->lock);
}

static void believed_add_entry(struct believed *b, uint64_t parent,
			       const char *name, uint64_t node, bool valid)
{
	struct believed_entry e = {.parent = parent, .node = node};

	believed_drop_entry(b, parent, name);
	if (!valid || strlen(name) >= sizeof(e.name))
		return;
	memcpy(e.name, name, strlen(name) + 1);
	pthread_mutex_lock(&b->lock);
	if (b->nentries == BELIEVED_MAX)
		b->entries[0] = b->entries[--b->nentries];
	b->entries[b->nentries++] = e;
	pthread_mutex_unlock(&b->lock);
}

/* The name is another's, or nobody's, by a request of the kernel's own. */
static void believed_gone(struct believed *b, uint64_t parent, const char *name)
{
	uint64_t node = believed_drop_entry(b, parent, name);

	if (node)
		believed_drop_attr(b, node);
}

/* A renamed entry is believed by its new name for what it has left. */
static void believed_move(struct believed *b, uint64_t parent, const char *name,
			  uint64_t to, const char *to_name)
{
	uint64_t node = believed_drop_entry(b, parent, name);

	if (!node)
		return;
	believed_drop_attr(b, node);
	believed_add_entry(b, to, to_name, node, true);
}

/* A notice of the mount's, whole. */
static void believed_notice(struct believed *b, int code, const void *data,
			    size_t len)
{
	struct fuse_notify_inval_inode_out inode;
	struct fuse_notify_inval_entry_out entry;
	struct fuse_notify_delete_out gone;
	char name[BELIEVED_NAME] = "";
	uint64_t parent = 0;
	size_t at = 0;

	if (code == FUSE_NOTIFY_INVAL_INODE && len >= sizeof(inode)) {
		memcpy(&inode, data, sizeof(inode));
		believed_drop_attr(b, inode.ino);
	} else if (code == FUSE_NOTIFY_INVAL_ENTRY && len > sizeof(entry)) {
		memcpy(&entry, data, sizeof(entry));
		parent = entry.parent;
		at = sizeof(entry);
	} else if (code == FUSE_NOTIFY_DELETE && len > sizeof(gone)) {
		memcpy(&gone, data, sizeof(gone));
		parent = gone.parent;
		at = sizeof(gone);
	} else if (code == 8 /* FUSE_NOTIFY_INC_EPOCH */) {
		believed_drop_names(b);
	}
	if (at && len - at <= sizeof(name)) {
		memcpy(name, (const char *)data + at, len - at);
		believed_drop_entry(b, parent, name);
		/* The directory has changed, as Linux sees it. */
		believed_drop_attr(b, parent);
	}
}

#endif
