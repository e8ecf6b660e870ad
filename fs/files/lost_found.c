#include "fs/files/lost_found.h"

#include <errno.h>
#include <stdio.h>

#include "fs/change/moved.h"
#include "fs/memory/write_state.h"
#include "fs/report/log.h"
#include "fs/tree/fs.h"

/* Of so many a line is said each. */
#define SAID_MAX 20
#define NAMED_MAX 200
/* Of a path, so much in the file's name: its end. */
#define TAIL_MAX 200

struct found {
	struct fs *fs;
	int64_t now_ms;
	uint64_t tried, kept, kept_bytes, lost;
};

/* Where @tail, the end of a path, begins with a whole character. */
static const char *tail_of(const char *path)
{
	size_t len = strlen(path);

	if (len <= TAIL_MAX)
		return path;
	path += len - TAIL_MAX;
	while ((*path & 0xC0) == 0x80)
		path++;
	return path;
}

static void file_name(const struct found *f, const char *path, char *out,
		      size_t size)
{
	const char *tail = tail_of(path);

	snprintf(out, size, "%lld-%llu%s%s", (long long)f->now_ms,
		 (unsigned long long)f->tried, *tail == '/' ? "" : ",", tail);
	for (char *c = out; *c; c++) {
		if (*c == '/')
			*c = ',';
		else if ((unsigned char)*c < 0x20 || *c == 0x7F)
			*c = '_';
	}
}

static int keep(struct found *f, const char *path, struct bytes content,
		char *name, size_t size)
{
	int r;

	/* The clock may have been set back to an earlier unmount. */
	do {
		file_name(f, path, name, size);
		f->tried++;
		r = store_keep(f->fs->store, bytes_str(name), content);
	} while (r == -EEXIST);
	return r;
}

static void keep_one(struct found *f, uint64_t node, struct bytes content)
{
	struct buf path = {0};
	char name[NAME_LEN_MAX + 1];
	const char *text;
	int r;

	place_path(f->fs, node, NULL, &path);
	r = buf_append(&path, "", 1);
	text = r < 0 ? "?" : (const char *)path.data;
	r = keep(f, text, content, name, sizeof(name));
	if (r < 0) {
		f->lost++;
		if (f->lost <= SAID_MAX)
			log_tell(LOG_ERR, "%.*s (%zu bytes) is lost: %s",
				 NAMED_MAX, text, content.len, store_why());
	} else {
		f->kept++;
		f->kept_bytes += content.len;
		if (f->kept <= SAID_MAX)
			log_tell(LOG_WARNING, "%.*s is kept as %s", NAMED_MAX,
				 text, name);
	}
	buf_free(&path);
}

void lost_found_keep(struct fs *fs)
{
	struct scratch *scratch = fs->writes->scratch;
	struct found f = {.fs = fs, .now_ms = store_now_ms(fs->store)};
	struct buf content = {0};
	uint64_t node = 0;

	while (scratch_next_left(scratch, node, &node)) {
		if (scratch_content(scratch, node, SIZE_MAX, &content) < 0) {
			f.lost++;
			continue;
		}
		/* A version that was moved aside is one again. */
		if (!moved_holds(fs, node, buf_bytes(&content)))
			keep_one(&f, node, buf_bytes(&content));
	}
	buf_free(&content);
	if (f.kept)
		log_tell(LOG_WARNING,
			 "%s/lost+found keeps what was no cell at unmount: "
			 "%llu file%s, %llu bytes",
			 fs->options->store, (unsigned long long)f.kept,
			 f.kept == 1 ? "" : "s",
			 (unsigned long long)f.kept_bytes);
	if (f.lost)
		log_tell(LOG_ERR,
			 "what was no cell at unmount and could not be kept is "
			 "lost: %llu file%s",
			 (unsigned long long)f.lost, f.lost == 1 ? "" : "s");
}
