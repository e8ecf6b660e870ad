/*
 * What the files of place have for each other and for the table of kinds.
 */
#ifndef CELLFS_FS_TREE_PLACE_INSIDE_H
#define CELLFS_FS_TREE_PLACE_INSIDE_H

#include "fs/tree/place.h"

/*
 * Goes one component down: @p becomes its child @name, which is of @kind.
 * Kinds of pieces and wholes are told apart by the name. @known: a node bears
 * the name, so that its spelling need not be judged again, which costs the
 * length of the whole key for each of its pieces.
 */
int place_descend(struct place *p, struct bytes name, uint8_t kind, bool known);
/* "@-2": two versions before the newest; "@TIME": the newest of then. */
bool place_parse_past(struct bytes name, int64_t *ts, uint64_t *back);
/*
 * The snapshot that a component of .snapshot/ names, of the table or, when that
 * is NULL, of the whole store. Release it.
 */
int place_snapshot_open(struct fs *fs, struct table *t, struct bytes name,
			struct snapshot **out);
/* -ENAMETOOLONG in words. */
int place_too_long(const char *what, size_t len, size_t max);

/* struct kind's child: @name is no fixed one of the directory. */
typedef int kind_child(const struct place *dir, struct bytes name);
kind_child child_any; /* whatever it is named */
kind_child child_key; /* a name with a dot is a scratch file's */
kind_child child_of_root, child_of_row, child_of_column, child_of_put;
kind_child child_of_snapshots; /* .snapshot */
kind_child child_of_snapshot;  /* .snapshot/NAME */

/* struct kind's decode: see place_descend(). */
typedef int kind_decode(struct place *p, struct bytes name, bool known);
kind_decode decode_row, decode_family, decode_qualifier, decode_alias,
	decode_version, decode_marker, decode_past, decode_view_name,
	decode_view, decode_control_dir, decode_control, decode_info,
	decode_put;

/* struct kind's stat: as place_stat(); -ENOENT is nothing there, too. */
typedef int kind_stat(struct fs *fs, const struct place *p, struct stat *st);
kind_stat stat_nothing, stat_table, stat_schema, stat_row, stat_family,
	stat_piece, stat_cell, stat_snapshot;

/* struct kind's list: the next entry behind @last. 1; 0 at the end; an error. */
typedef int kind_list(struct dir_scan *s, const struct dir_position *last);
kind_list list_tables, list_snapshots, list_cells;
kind_list list_shown; /* the tables of .snapshot/NAME */

#endif
