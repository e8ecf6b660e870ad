/*
 * An open sstable, and how its blocks are read into memory. For sstable.c,
 * which opens files, and sst_cursor.c, which reads them.
 */
#ifndef CELLFS_STORE_LSM_TABLE_SST_FILE_H
#define CELLFS_STORE_LSM_TABLE_SST_FILE_H

#include "store/lsm/block/cache.h"
#include "store/lsm/table/sst_index.h"

struct sstable {
	_Atomic uint32_t refs;
	atomic_bool obsolete;
	struct os_dir *dir;
	struct os_file *file;
	_Atomic(const void *) map; /* of the whole file, made on first use */
	atomic_bool unmappable;
	struct sst_info info;
	struct sst_index index;
	struct cache_slots slots;
	struct buf section[SST_NSECTIONS]; /* sections as stored, inflated */
	uint8_t bloom_kind;		   /* enum bloom_kind, as in the file */
	bool has_family; /* the filter of rows includes family markers */
	struct bytes rows, columns; /* filters */
	char *lost; /* why nothing of it can be read (sst_damage.c), or NULL */
	atomic_bool damaged; /* something of it could not be read */
	atomic_bool told;    /* sst_tells_damage() has said it */
};

/*
 * A part of the file that a cursor read ahead. One pread of 256 KiB costs a
 * quarter of sixteen preads of 16 KiB.
 */
struct sst_window {
	uint64_t offset;
	size_t len, cap;
	uint8_t bytes[];
};

/*
 * Reads block @i, from @w if it is there (@w may be NULL), and checks it and
 * its order between its neighbours. The caller frees it. @passing: as in
 * block_new().
 */
int sst_load(struct sstable *t, uint32_t i, const struct sst_window *w,
	     bool passing, struct block **out);
/* The same, but damage is not noted: another one who meets it does that. */
int sst_try_load(const struct sstable *t, uint32_t i,
		 const struct sst_window *w, bool passing, struct block **out);
/* The same for a block by itself, whose neighbours may be damaged. */
int sst_load_alone(const struct sstable *t, uint32_t i,
		   const struct sst_window *w, bool passing,
		   struct block **out);
/*
 * The steps of opening a file, of which @t has directory and number. Each gives
 * -EUCLEAN where it finds damage. sst_unpack() checks @stored by its trailer and
 * puts the content into @raw.
 */
int sst_open_file(struct sstable *t);
int sst_read_footer(struct sstable *t, struct sst_footer *f);
int sst_read_section(struct sstable *t, const struct sst_footer *f,
		     enum sst_section which);
int sst_unpack(const struct sstable *t, const struct sst_place *p,
	       const uint8_t *stored, size_t raw_len, uint8_t *raw);
/*
 * Makes a bare block of hollow block @b, which is block @i. The caller frees
 * it.
 */
int sst_refill(struct sstable *t, const struct block *b, uint32_t i,
	       struct block **out);
/* Reads the value of a cell of bare @b, which is block @index, into @hold. */
int sst_read_value(struct sstable *t, const struct block *b, uint32_t index,
		   uint32_t cell, struct buf *hold);
/*
 * -EUCLEAN, because block @i is damaged in the way that store_why() says: notes
 * it, and puts file, offset and rows in front of the sentence.
 */
int sst_block_damaged(struct sstable *t, uint32_t i);
/* Frees a table that is open, or half so. */
void sst_release(struct sstable *t);
/* Fills @w with @len bytes from block @i on. */
int sst_window_fill(const struct sstable *t, uint32_t i, size_t len,
		    struct sst_window *w);

#endif
