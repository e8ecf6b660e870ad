#include "fs/tree/fixed.h"

#include "fs/tree/control_file.h"
#include "fs/tree/fs.h"
#include "fs/tree/info.h"
#include "fs/tree/view.h"

enum {
	ROOT = 1,
	TABLE = 2,
	ROW = 4,
	FAMILY = 8,
	COLUMN = 16,
};

/* In byte order, and in which directories. .cellfs is of the mount's root. */
static const struct fixed {
	const char *name;
	unsigned in;
} names[] = {
	{".after", TABLE | FAMILY},
	{".at", TABLE | ROW | FAMILY},
	{".between", TABLE | ROW | FAMILY},
	{CONTROL_DIR_NAME, 0},
	{".cells", TABLE | ROW | FAMILY},
	{".first", TABLE | FAMILY},
	{INFO_DIR_NAME, TABLE},
	{".last", TABLE},
	{".prefix", TABLE | FAMILY},
	{PUT_DIR_NAME, TABLE},
	{".range", TABLE | FAMILY},
	{".raw", TABLE | ROW | FAMILY},
	{".schema", TABLE},
	{".since", TABLE | ROW | FAMILY},
	{SNAPSHOT_DIR_NAME, ROOT | TABLE},
	{STAGE_DIR_NAME, TABLE},
	{"@-1", COLUMN},
	{"counter", COLUMN},
	{"latest", COLUMN},
};

#define NAMES (sizeof(names) / sizeof(names[0]))

const char *fixed_word(unsigned i)
{
	return i < NAMES && names[i].name[0] == '.' ? names[i].name : NULL;
}

bool fixed_is_word(const char *name)
{
	for (unsigned i = 0; fixed_word(i); i++)
		if (!strcmp(name, fixed_word(i)))
			return true;
	return false;
}

static unsigned level_of(const struct place *dir)
{
	switch (place_level(dir)) {
	case NODE_ROOT:
		return ROOT;
	case NODE_TABLE:
		return TABLE;
	case NODE_ROW:
		return ROW;
	case NODE_FAMILY:
		return FAMILY;
	case NODE_COLUMN:
		return COLUMN;
	}
	return 0;
}

/* The name that stands at @i if all are listed, "" for one left out. */
static const char *control_name(const struct place *dir, uint64_t i)
{
	unsigned level = level_of(dir);

	if (dir->node == FUSE_ROOT_ID && i-- == 0)
		return CONTROL_DIR_NAME;
	for (size_t k = 0; k < NAMES; k++)
		if (names[k].in & level && i-- == 0)
			return strcmp(names[k].name, ".raw") || !dir->view ||
					       !dir->view->raw
				       ? names[k].name
				       : "";
	return NULL;
}

const char *fixed_name(const struct fs *fs, const struct place *dir, uint64_t i)
{
	const struct control_file *control;
	const struct info_file *info;

	if (dir->kind == NODE_INFO_DIR) {
		info = info_at((unsigned)i);
		return info ? info->name : NULL;
	}
	if (dir->kind == NODE_CONTROL_DIR) {
		control = control_at((unsigned)i);
		return control ? control->name : NULL;
	}
	if (fs->options->show_control)
		return control_name(dir, i);
	return dir->kind == NODE_TABLE && i == 0 ? ".schema" : NULL;
}
