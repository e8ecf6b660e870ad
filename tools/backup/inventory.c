#include "tools/backup/inventory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "tools/backup/carry.h"

/* A larger file is no inventory: some 120 bytes a file. */
#define INVENTORY_MAX ((off_t)1 << 30)

void inventory_free(struct inventory *r)
{
	free(r->files);
	*r = (struct inventory){0};
}

const struct inventory_file *inventory_find(const struct inventory *r,
					    const char *name)
{
	for (size_t i = 0; i < r->nfiles; i++)
		if (!strcmp(r->files[i].is.name, name))
			return &r->files[i];
	return NULL;
}

int inventory_format(const struct inventory *r, struct buf *out)
{
	size_t at = out->len;
	int rc = buf_printf(out,
			    "cellfs backup 1\nstore %016" PRIx64
			    "\ntaken %" PRId64 "\n",
			    r->store_id, r->taken_ms);

	for (size_t i = 0; rc == 0 && i < r->nfiles; i++) {
		const struct hold_file *f = &r->files[i].is;

		rc = buf_printf(out,
				"file %s %" PRIu64 " %" PRIu64 " %016" PRIx64
				" %016" PRIx64 "\n",
				f->name, f->bytes, f->size, f->sum,
				r->files[i].hash);
	}
	if (rc == 0)
		rc = buf_printf(out, "end %016" PRIx64 "\n",
				XXH3_64bits(out->data + at, out->len - at));
	return rc;
}

static int damaged(void)
{
	return why(-EUCLEAN, "its file " INVENTORY_NAME " is damaged");
}

/* Reads the lines into @r, which has room for as many files as there are. */
static bool scan_lines(char *text, struct inventory *r)
{
	char *line = strtok_r(text, "\n", &text);
	int n = 0;

	if (!line || strcmp(line, "cellfs backup 1") != 0)
		return false;
	line = strtok_r(NULL, "\n", &text);
	if (!line || sscanf(line, "store %16" SCNx64, &r->store_id) != 1)
		return false;
	line = strtok_r(NULL, "\n", &text);
	if (!line || sscanf(line, "taken %20" SCNd64, &r->taken_ms) != 1)
		return false;
	while ((line = strtok_r(NULL, "\n", &text)) &&
	       strncmp(line, "end ", 4) != 0) {
		struct inventory_file *f = &r->files[r->nfiles];

		n = sscanf(line,
			   "file %47s %20" SCNu64 " %20" SCNu64 " %16" SCNx64
			   " %16" SCNx64,
			   f->is.name, &f->is.bytes, &f->is.size, &f->is.sum,
			   &f->hash);
		if (n != 5 || strchr(f->is.name, '/') || f->is.name[0] == '.' ||
		    f->is.bytes > f->is.size)
			return false;
		r->nfiles++;
	}
	return line != NULL && r->nfiles > 0;
}

/* What is written of it again must be what was read. */
static int same_again(const struct inventory *r, struct bytes text)
{
	struct buf again = {0};
	int rc = inventory_format(r, &again);

	if (rc == 0 && !bytes_eq(buf_bytes(&again), text))
		rc = damaged();
	buf_free(&again);
	return rc == -ENOMEM ? why(rc, "out of memory") : rc;
}

int inventory_parse(struct bytes text, struct inventory *out)
{
	struct inventory r = {0};
	size_t lines = 0;
	char *copy;
	int rc = 0;

	for (size_t i = 0; i < text.len; i++) {
		lines += text.data[i] == '\n';
		if (!text.data[i])
			return damaged();
	}
	copy = strndup((const char *)text.data, text.len);
	r.files = calloc(lines + 1, sizeof(*r.files));
	if (!copy || !r.files)
		rc = why(-ENOMEM, "out of memory");
	else if (!text.len || !scan_lines(copy, &r))
		rc = damaged();
	else
		rc = same_again(&r, text);
	free(copy);
	if (rc < 0)
		inventory_free(&r);
	else
		*out = r;
	return rc;
}

int inventory_write(int dir, const struct inventory *r)
{
	struct buf text = {0};
	int rc = inventory_format(r, &text), fd;

	if (rc < 0) {
		buf_free(&text);
		return why(rc, "out of memory");
	}
	fd = openat(dir, INVENTORY_NAME,
		    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		rc = carry_failed("making", INVENTORY_NAME);
	if (rc == 0)
		rc = carry_write(fd, buf_bytes(&text), INVENTORY_NAME);
	if (rc == 0 && fsync(fd) < 0)
		rc = carry_failed("syncing", INVENTORY_NAME);
	if (fd >= 0 && close(fd) < 0 && rc == 0)
		rc = carry_failed("closing", INVENTORY_NAME);
	buf_free(&text);
	return rc;
}

int inventory_read(int dir, struct inventory *out)
{
	struct buf text = {0};
	struct stat st;
	ssize_t n = 1;
	int rc = 0,
	    fd = openat(dir, INVENTORY_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return why(-ENOENT, "it has no file " INVENTORY_NAME);
	if (fd < 0)
		return carry_failed("opening", INVENTORY_NAME);
	if (fstat(fd, &st) < 0)
		rc = carry_failed("reading", INVENTORY_NAME);
	else if (!S_ISREG(st.st_mode) || st.st_size > INVENTORY_MAX)
		rc = damaged();
	else if (buf_reserve(&text, (size_t)st.st_size + 1) < 0)
		rc = why(-ENOMEM, "out of memory");
	while (rc == 0 && n > 0 && text.len < (size_t)st.st_size) {
		n = read(fd, text.data + text.len,
			 (size_t)st.st_size - text.len);
		if (n < 0)
			rc = carry_failed("reading", INVENTORY_NAME);
		else
			text.len += (size_t)n;
	}
	close(fd);
	if (rc == 0)
		rc = inventory_parse(buf_bytes(&text), out);
	buf_free(&text);
	return rc;
}
