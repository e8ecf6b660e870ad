#include "store/lsm/compaction/compaction_write.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "store/lsm/table/sst_format.h"
#include "store/value/array.h"
#include "store/value/why.h"

struct sst_options
compaction_options(uint32_t tree, const struct family_attrs *attrs, int level)
{
	return (struct sst_options){
		.tree = tree,
		.block_size = attrs->block_size,
		/* Files of level 0 are soon rewritten. */
		.compression = level ? attrs->compression : COMPRESSION_NONE,
		.bloom = attrs->bloom,
		.block_cache = attrs->block_cache,
		.in_memory = attrs->in_memory,
	};
}

int compaction_write(struct compaction_writer *w, struct bytes row,
		     const struct entry *e)
{
	int r;

	if (!w->file) {
		w->file_number = w->number(w->arg);
		r = sst_writer_new(w->dir, w->file_number, &w->options,
				   &w->file);
		if (r < 0)
			return r;
	}
	return sst_writer_add(w->file, row, e);
}

static int end_file(struct compaction_writer *w)
{
	struct sst_info info = {0};
	struct sstable *t;
	char name[SST_NAME_LEN];
	int r;

	assert(w->file);
	if (ARRAY_ONE_MORE(w->tables, w->ntables) < 0)
		return why(-ENOMEM, "out of memory ending a table");
	r = sst_writer_finish(w->file, &info);
	if (r < 0)
		goto out;
	sst_writer_free(w->file);
	w->file = NULL;
	r = sst_open(w->dir, &info, &w->options, w->cache, &t);
	if (r < 0) {
		sst_name(w->file_number, name);
		os_discard(w->dir, name);
		goto out;
	}
	w->tables[w->ntables++] = t;
	w->ended_bytes += info.file_bytes;
out:
	sst_info_free(&info);
	return r;
}

int compaction_write_row_end(struct compaction_writer *w)
{
	if (!w->file || sst_writer_bytes(w->file) < w->file_bytes)
		return 0;
	return end_file(w);
}

int compaction_write_cut(struct compaction_writer *w)
{
	return w->file ? end_file(w) : 0;
}

uint64_t compaction_written(const struct compaction_writer *w)
{
	return w->ended_bytes + (w->file ? sst_writer_bytes(w->file) : 0);
}

void compaction_write_free(struct compaction_writer *w)
{
	sst_writer_free(w->file);
	for (uint32_t i = 0; i < w->ntables; i++) {
		sst_obsolete(w->tables[i]);
		sst_unref(w->tables[i]);
	}
	free(w->tables);
	w->file = NULL;
	w->tables = NULL;
	w->ntables = 0;
}
