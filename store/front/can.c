/* What a store can, and the words for what it cannot. */
#include <assert.h>

#include "store/front/backend.h"

/* clang-format off */
static const char *const words[STORE_ABILITIES] = {
	[CAN_SHOW_PAST] = "show a table as it was at a moment (.at, @TIME)",
	[CAN_VIEW_NOW] = "hold a view of all its tables as of now",
	[CAN_SNAPSHOT_ALL] = "take a snapshot of all: take one of a table",
	[CAN_RENAME_SNAPSHOT] = "rename a snapshot",
	[CAN_RENAME_TABLE] = "rename a table",
	[CAN_TELL_INFO] = "tell how much a table holds (.info)",
	[CAN_TELL_SPACE] = "tell how much room there is (df)",
	[CAN_KEEP] = "keep files beside its tables: it is no directory",
	[CAN_QUOTA] = "bound the bytes of a table (quota)",
	[CAN_TELL_SEQUENCE] =
		"tell a version from that of its time which it replaces",
};
/* clang-format on */

bool store_can(const struct store *s, enum store_ability a)
{
	return s->can & ABILITY(a);
}

const char *store_ability(enum store_ability a)
{
	assert(a < STORE_ABILITIES);
	return words[a];
}
