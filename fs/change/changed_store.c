/*
 * What follows a change of tables, schemas and snapshots.
 */
#include "fs/change/changed.h"
#include "fs/change/moved.h"
#include "fs/memory/write_state.h"

/* What is only in memory beneath a table goes: directories, scratch files. */
static void forget_below(struct fs *fs, uint64_t table)
{
	struct overlay_entry e;
	struct buf key = {0};
	struct node_place dir = {.id = table};
	uint64_t cursor = 0;

	do {
		while (overlay_next(fs->overlay, dir.id, NULL, &e, &key) > 0 &&
		       overlay_remove(fs->overlay, dir.id, bytes_str(e.name))) {
			moved_forget(fs, e.node);
			scratch_unname(fs->writes->scratch, e.node);
			/* The kernel may know it for long: it unlinks nothing. */
			scratch_forget(fs->writes->scratch, e.node);
		}
	} while (overlay_count(fs->overlay) &&
		 nodes_below(fs->nodes, table, &cursor, &dir) > 0);
	nodes_below_end(fs->nodes, &cursor);
	buf_free(&key);
}

/* A program made or took a name in the root. */
static void tell_root(struct fs *fs, struct bytes name)
{
	if (fs->root.kind != NODE_ROOT)
		return;
	changed_entries(fs, FUSE_ROOT_ID);
	invalidate_inode(fs->invalidator, FUSE_ROOT_ID, false);
	invalidate_entry(fs->invalidator, FUSE_ROOT_ID, name);
}

/* The table that the kernel knows by this name: a reference, or NULL. */
static struct fstable *known_table(struct fs *fs, struct bytes name,
				   uint64_t *node)
{
	return fs->root.kind == NODE_ROOT
		       ? place_held_table(fs, FUSE_ROOT_ID, name, node)
		       : NULL;
}

bool changer_program(struct fs *fs, struct table *t, struct changer *w)
{
	char name[TABLE_NAME_LEN_MAX + 1];

	*w = (struct changer){.fs = fs, .program = true};
	if (fs->root.kind == NODE_TABLE && !fstable_snapshot(fs->root.table)) {
		w->node = FUSE_ROOT_ID;
		w->table = fs->root.table;
		fstable_ref(w->table);
	} else if (table_name(t, name) == 0) {
		w->table = known_table(fs, bytes_str(name), &w->node);
	}
	if (w->table && fstable_id(w->table) == table_id(t))
		return true;
	fstable_unref(w->table);
	return false;
}

void changed_table_dropped(struct fs *fs, struct bytes name)
{
	uint64_t node;
	struct fstable *ft = known_table(fs, name, &node);

	if (ft) {
		forget_below(fs, node);
		changed_below(fs, node);
		nodes_detach(fs->nodes, FUSE_ROOT_ID, name);
	}
	fstable_unref(ft);
	changes_all(&fs->changes);
}

void changed_table_renamed(struct fs *fs, struct bytes from, struct bytes to)
{
	uint64_t node;
	struct fstable *ft = known_table(fs, from, &node);

	if (ft)
		nodes_rename(fs->nodes, FUSE_ROOT_ID, from, FUSE_ROOT_ID, to,
			     NODE_TABLE, place_table_ino(ft));
	fstable_unref(ft);
	changes_all(&fs->changes);
}

void changed_schema(struct fs *fs, uint64_t node)
{
	struct bytes snapshots = bytes_str(SNAPSHOT_DIR_NAME);

	changes_all(&fs->changes);
	changed_below(fs, node);
	/* The table's past has its mode, and stands elsewhere. */
	if (nodes_find(fs->nodes, FUSE_ROOT_ID, snapshots, &node))
		invalidate_below(fs->invalidator, node);
}

/* All cells beneath the table may be gone. */
static void tell_emptied(struct fs *fs, struct bytes table)
{
	struct node_place n;
	uint64_t cursor = 0, node;

	node = FUSE_ROOT_ID;
	if (fs->root.kind != NODE_ROOT ||
	    nodes_find(fs->nodes, FUSE_ROOT_ID, table, &node))
		invalidate_below(fs->invalidator, node);
	changed_aliases_gone(fs);
	/* The root itself has no name: all beneath it is asked again. */
	if (fs->root.kind == NODE_TABLE)
		while (nodes_below(fs->nodes, FUSE_ROOT_ID, &cursor, &n) > 0)
			invalidate_inode(fs->invalidator, n.id, true);
	else if (fs->root.kind == NODE_ROOT)
		invalidate_entry(fs->invalidator, FUSE_ROOT_ID, table);
}

static void altered(struct fs *fs, const struct served_act *act)
{
	char name[TABLE_NAME_LEN_MAX + 1];
	struct changer w;

	/* Also where the kernel has forgotten the table. */
	if (act->alter)
		schema_absent_written(&fs->schema_absent, table_id(act->table));
	if (!changer_program(fs, act->table, &w))
		return;
	changed_schema(fs, w.node);
	/* A snapshot was restored. */
	if (act->deletes && !act->alter) {
		moved_forget_table(fs, w.table);
		fstable_ask_again(w.table);
	}
	fstable_unref(w.table);
	if (act->deletes && table_name(act->table, name) == 0)
		tell_emptied(fs, bytes_str(name));
}

/* A snapshot of @t, or of the store when that is NULL. */
static void snapshot(struct fs *fs, struct table *t, struct bytes name,
		     bool gone)
{
	struct changer w = {.node = FUSE_ROOT_ID};
	struct name_part part;
	uint64_t dir;

	if (t) {
		if (!changer_program(fs, t, &w))
			return;
		fstable_unref(w.table);
	} else if (fs->root.kind != NODE_ROOT) {
		return;
	}
	name_part(name, 0, &part);
	name = bytes_of(part.text, part.len);
	if (!nodes_find(fs->nodes, w.node, bytes_str(SNAPSHOT_DIR_NAME), &dir))
		return;
	if (gone)
		nodes_detach(fs->nodes, dir, name);
	invalidate_entry(fs->invalidator, dir, name);
}

static void tell(struct fs *fs, const struct served_act *act, bool done)
{
	/* These can have happened in part. */
	if (act->what == SERVED_ALTERED)
		altered(fs, act);
	else if (act->what == SERVED_SNAPSHOT_TAKEN)
		snapshot(fs, act->table, act->name, false);
	switch (done ? act->what : SERVED_CARE) {
	case SERVED_MADE:
		tell_root(fs, act->name);
		break;
	case SERVED_DROPPED:
		changed_table_dropped(fs, act->name);
		tell_root(fs, act->name);
		break;
	case SERVED_TRUNCATED:
		tell_emptied(fs, act->name);
		break;
	case SERVED_RENAMED:
		changed_table_renamed(fs, act->name, act->to);
		tell_root(fs, act->name);
		tell_root(fs, act->to);
		break;
	case SERVED_SNAPSHOT_RENAMED:
		snapshot(fs, act->table, act->to, false);
		snapshot(fs, act->table, act->name, true);
		break;
	case SERVED_SNAPSHOT_DROPPED:
		snapshot(fs, act->table, act->name, true);
		break;
	default:
		break;
	}
}

void changed_by_program_before(struct fs *fs, const struct served_act *act)
{
	if (act->what == SERVED_ALTERED)
		changes_begin_all(&fs->changes);
}

void changed_by_program(struct fs *fs, const struct served_act *act, int result)
{
	changes_all(&fs->changes);
	tell(fs, act, result >= 0);
	invalidate_wait(fs->invalidator, 0);
	if (act->what == SERVED_ALTERED)
		changes_end_all(&fs->changes);
}
