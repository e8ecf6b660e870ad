#include "fs/tree/control_file.h"

#include "fs/tree/kind.h"

static const struct control_file files[] = {
	{.name = "compact", .id = CONTROL_COMPACT, .writable = true},
	{.name = "errors", .id = CONTROL_ERRORS, .private = 0400},
	{.name = "flush", .id = CONTROL_FLUSH, .writable = true},
	{.name = "help", .id = CONTROL_HELP},
	{.name = "metrics", .id = CONTROL_METRICS},
	{.name = "options", .id = CONTROL_OPTIONS},
	{.name = "stats", .id = CONTROL_STATS},
	{.name = "status", .id = CONTROL_STATUS},
	{.name = "sync", .id = CONTROL_SYNC, .writable = true},
	{.name = CONTROL_TRACE_NAME,
	 .id = CONTROL_TRACE,
	 .writable = true,
	 .open = OPENS_TRACE,
	 .private = 0600},
	{.name = "version", .id = CONTROL_VERSION},
};

static const struct control_file store_file = {.name = CONTROL_STORE_NAME,
					       .id = CONTROL_FILES,
					       .writable = true,
					       .open = OPENS_SESSION,
					       .private = 0600};

#define FILES (sizeof(files) / sizeof(files[0]))

const char *control_name(const struct fs *fs, uint64_t i)
{
	return i < FILES ? files[i].name : NULL;
}

const struct control_file *control_find(struct bytes name)
{
	for (size_t i = 0; i < FILES; i++)
		if (bytes_eq(name, bytes_str(files[i].name)))
			return &files[i];
	if (bytes_eq(name, bytes_str(store_file.name)))
		return &store_file;
	return NULL;
}
