#include "fs/tree/fixed.h"

#include "fs/tree/control_file.h"
#include "fs/tree/fs.h"
#include "fs/tree/info.h"
#include "fs/tree/view.h"

#define IN(kind) (1ull << (kind))
#define ROOT IN(NODE_ROOT)
#define TABLE IN(NODE_TABLE)
#define ROW IN(NODE_ROW)
#define FAMILY IN(NODE_FAMILY)
#define COLUMN IN(NODE_COLUMN)
#define VIEWED (TABLE | ROW | FAMILY)

/* In which directories of their levels the names mean something. */
enum where {
	ANYWHERE,
	NOT_IN_VIEWS,
	NOT_IN_THE_PAST, /* neither in views nor in snapshots */
};

/* In byte order. .cellfs is of the mount's root. */
static const struct fixed {
	char name[12];
	uint8_t kind;	 /* enum node_kind */
	uint64_t in;	 /* the levels where it means something */
	uint64_t listed; /* those where show_control lists it */
	enum where where;
} names[] = {
	{".after", NODE_VIEW_NAME, VIEWED, TABLE | FAMILY, ANYWHERE},
	{".at", NODE_VIEW_NAME, VIEWED, VIEWED, ANYWHERE},
	{".between", NODE_VIEW_NAME, VIEWED, VIEWED, ANYWHERE},
	{CONTROL_DIR_NAME, NODE_CONTROL_DIR, 0, 0, ANYWHERE},
	{".cells", NODE_CELLS, VIEWED, VIEWED, ANYWHERE},
	{".first", NODE_VIEW_NAME, VIEWED, TABLE | FAMILY, ANYWHERE},
	{INFO_DIR_NAME, NODE_INFO_DIR, TABLE, TABLE, NOT_IN_THE_PAST},
	{".last", NODE_VIEW_NAME, VIEWED, TABLE, ANYWHERE},
	{".prefix", NODE_VIEW_NAME, VIEWED, TABLE | FAMILY, ANYWHERE},
	{PUT_DIR_NAME, NODE_PUT, TABLE, TABLE, NOT_IN_THE_PAST},
	{".range", NODE_VIEW_NAME, VIEWED, TABLE | FAMILY, ANYWHERE},
	{".raw", NODE_VIEW, VIEWED, VIEWED, ANYWHERE},
	{".schema", NODE_SCHEMA, TABLE, TABLE, NOT_IN_VIEWS},
	{".since", NODE_VIEW_NAME, VIEWED, VIEWED, ANYWHERE},
	{SNAPSHOT_DIR_NAME, NODE_SNAPSHOT_DIR, ROOT | TABLE, ROOT | TABLE,
	 NOT_IN_THE_PAST},
	{STAGE_DIR_NAME, NODE_STAGE, TABLE, TABLE, NOT_IN_THE_PAST},
	{"@-1", NODE_PAST, COLUMN, COLUMN, ANYWHERE},
	{"counter", NODE_COUNTER, COLUMN, COLUMN, ANYWHERE},
	{"latest", NODE_LATEST, COLUMN, COLUMN, ANYWHERE},
};

#define NAMES (sizeof(names) / sizeof(names[0]))

const char *fixed_word(unsigned i)
{
	return i < NAMES && names[i].name[0] == '.' ? names[i].name : NULL;
}

bool fixed_is_word(const char *name)
{
	const char *word;

	for (unsigned i = 0; (word = fixed_word(i)); i++)
		if (!strcmp(name, word))
			return true;
	return false;
}

static bool means_something(const struct fixed *f, const struct place *dir)
{
	bool past = dir->table && fstable_snapshot(dir->table);

	return (f->where == ANYWHERE || !dir->view) &&
	       (f->where != NOT_IN_THE_PAST || !past);
}

uint8_t fixed_kind(const struct place *dir, struct bytes name)
{
	uint64_t level = IN(place_level(dir));

	if (dir->node == FUSE_ROOT_ID &&
	    bytes_eq(name, bytes_str(CONTROL_DIR_NAME)))
		return NODE_CONTROL_DIR;
	if (name.len < 2 || name.len >= sizeof(names[0].name))
		return NODE_ROOT;
	/* Few names are one of these, so two bytes are compared before all. */
	for (size_t i = NAMES; i-- > 0;) {
		const struct fixed *f = &names[i];

		if ((uint8_t)f->name[0] < name.data[0])
			break;
		if ((uint8_t)f->name[1] == name.data[1] && f->in & level &&
		    !memcmp(f->name, name.data, name.len) && !f->name[name.len])
			return means_something(f, dir) ? f->kind : NODE_ROOT;
	}
	return NODE_ROOT;
}

/* The name that stands at @i if all are listed, "" for one left out. */
static const char *shown_name(const struct place *dir, uint64_t i)
{
	uint64_t level = IN(place_level(dir));

	if (dir->node == FUSE_ROOT_ID && i-- == 0)
		return CONTROL_DIR_NAME;
	for (size_t k = 0; k < NAMES; k++)
		if (names[k].listed & level && i-- == 0)
			return strcmp(names[k].name, ".raw") || !dir->view ||
					       !dir->view->raw
				       ? names[k].name
				       : "";
	return NULL;
}

const char *fixed_name(const struct fs *fs, const struct place *dir, uint64_t i)
{
	const struct kind *k = kind_of(dir->kind);

	if (k->names)
		return k->names(fs, i);
	if (fs->options->show_control)
		return shown_name(dir, i);
	return dir->kind == NODE_TABLE && i == 0 ? ".schema" : NULL;
}
