#include "fs/fixed.h"

#include "fs/control_file.h"
#include "fs/fs.h"
#include "fs/info.h"
#include "fs/view.h"

/* In byte order; .cellfs is of the root, which has another list beside. */
static const char *const of_root[] = {".snapshot", NULL};
static const char *const of_table[] = {
	".after", ".at",       ".between", ".cells", ".first", ".info",
	".last",  ".prefix",   ".put",	   ".range", ".raw",   ".schema",
	".since", ".snapshot", ".stage",   NULL,
};
static const char *const of_row[] = {
	".at", ".between", ".cells", ".raw", ".since", NULL,
};
static const char *const of_family[] = {
	".after",  ".at",    ".between", ".cells", ".first",
	".prefix", ".range", ".raw",	 ".since", NULL,
};
static const char *const of_column[] = {"@-1", "counter", "latest", NULL};
static const char *const none[] = {NULL};

static const char *const *names_of(const struct place *dir)
{
	switch (place_level(dir)) {
	case NODE_ROOT:
		return of_root;
	case NODE_TABLE:
		return of_table;
	case NODE_ROW:
		return of_row;
	case NODE_FAMILY:
		return of_family;
	case NODE_COLUMN:
		return of_column;
	}
	return none;
}

/* The name that stands at @i if all are listed, "" for one left out. */
static const char *control_name(const struct place *dir, uint64_t i)
{
	const char *const *names = names_of(dir);

	if (dir->node == FUSE_ROOT_ID && i-- == 0)
		return CONTROL_DIR_NAME;
	for (; i && *names; i--)
		names++;
	if (*names && !strcmp(*names, ".raw") && dir->view && dir->view->raw)
		return "";
	return *names;
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
