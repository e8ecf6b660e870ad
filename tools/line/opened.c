#include "tools/line/opened.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fs/host/mountpoint.h"
#include "store/keys.h"
#include "store/served.h"
#include "tools/line/fail.h"
#include "tools/progress/progress.h"

static bool insecure;

void open_insecure(void)
{
	insecure = true;
}

/* A mounted store is used through its mount, since it has one owner. */
static int open_any(const char *path, const struct store_options *o,
		    struct store **store)
{
	char *mountpoint = NULL, *file = NULL;
	int r = mountpoint_find(path, &mountpoint);

	if (r == 0) {
		store_hide_keys(path);
		r = store_open(path, o, store);
		/*
		 * The owner may be a daemon that mounted the store meanwhile.
		 */
		if (r != -EBUSY || mountpoint_find(path, &mountpoint) <= 0)
			return r;
		r = 1;
	}
	if (r > 0 && asprintf(&file, "%s/.cellfs/store", mountpoint) < 0)
		r = why(-ENOMEM, "out of memory");
	if (r > 0)
		r = store_open_served(file, o, store);
	if (r == 0 && file)
		progress_mounted(mountpoint);
	free(file);
	free(mountpoint);
	return r;
}

int is_mounted(const char *path, bool *yes)
{
	char *mountpoint = NULL;
	int r = mountpoint_find(path, &mountpoint);

	free(mountpoint);
	*yes = r > 0;
	return r < 0 ? fail_store(path) : EXIT_DONE;
}

int need_rest(const char *path)
{
	char *mountpoint = NULL;
	int r = mountpoint_find(path, &mountpoint);

	if (r > 0)
		fprintf(stderr,
			"cellctl: %s is mounted at %s: %s needs a store at "
			"rest\n  unmount it first: fusermount3 -u %s\n",
			path, mountpoint, fail_command(), why_word(mountpoint));
	else if (r < 0)
		fail_store(path);
	free(mountpoint);
	return r ? EXIT_STORE : EXIT_DONE;
}

static bool is_pipe(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

int open_store(const char *path, bool create, bool read_only,
	       struct store **store)
{
	const struct store_options o = {.create = create,
					.read_only = read_only,
					.insecure = insecure,
					.wait_ms = STORE_WAIT_MS};
	int r = open_any(path, &o, store);

	if (r == 0)
		return EXIT_DONE;
	fail_store(path);
	if (r == -EBUSY)
		fputs("  it is in use, and no mount of it can be seen: wait "
		      "for that process to end\n",
		      stderr);
	if (r == -EBUSY && (is_pipe(0) || is_pipe(1)))
		fputs("  if it is the other end of this pipe: cellctl copy "
		      "takes a table to another\n  of the same store\n",
		      stderr);
	if (r == -ENOENT && !create)
		fprintf(stderr, "  to make a store: cellctl init %s\n",
			why_word(path));
	return EXIT_STORE;
}

int open_quietly(const char *path, struct store **store)
{
	const struct store_options o = {
		.read_only = true, .insecure = insecure, .timeout_ms = 1000};

	return open_any(path, &o, store);
}

int open_table(const char *path, const char *table, bool read_only,
	       struct store **store, struct table **t)
{
	int r, code = open_store(path, false, read_only, store);

	if (code)
		return code;
	r = table_open(*store, bytes_str(table), t);
	if (r == 0)
		return EXIT_DONE;
	code = fail_absent_table(*store, path, table, r);
	return close_store(*store, NULL, code);
}

int close_store(struct store *store, struct table *t, int code)
{
	int r;

	table_unref(t);
	r = store_close(store);
	if (r < 0 && code == EXIT_DONE)
		return fail_store("closing the store");
	return code;
}
