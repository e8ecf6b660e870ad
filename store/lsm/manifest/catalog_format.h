/*
 * The bytes of a catalog, in a file CATALOG-N.
 *
 *	file	 = magic:8 length:8 hash:8 body		(length: of the body)
 *	body	 = format:4 number:8 store:8 counters
 *		   tables:4 table* snapshots:4 snapshot*
 *	counters = next_file:8 next_table:8 next_tree:4 last_seq:8 wal_first:8
 *		   keep_bytes:8 keep_id:8
 *	table	 = head tree*				one tree a family
 *	head	 = id:8 version:8 name trees:4 id:4* schema
 *	tree	 = files:4 file* lost
 *	file	 = level:1 info
 *	lost	 = before:8 pushed_seq:8 pushed_versions:4 gaps:4 gap*
 *	gap	 = row row from:8 to:8
 *	snapshot = table:8 seq:8 taken_ms:8 name tables:4 shown*
 *	shown	 = id:8 name schema
 *
 * All numbers are little-endian. A name, a row and a schema are a length of
 * four bytes and the bytes. The hash is XXH3-64 of the body, and N its seed, so
 * that the file of another generation fails. Nothing follows the body.
 */
#ifndef CELLFS_STORE_LSM_MANIFEST_CATALOG_FORMAT_H
#define CELLFS_STORE_LSM_MANIFEST_CATALOG_FORMAT_H

#include "store/lsm/manifest/catalog.h"
#include "store/value/codec.h"

/* Raised when a byte format changes: store_open() refuses a greater one. */
#define STORE_FORMAT 8
/*
 * The first whose catalog is read here. In 7 no log is kept, so that keep_bytes and
 * keep_id are absent and the log has no notes; in 6 no schema has a quota; in 5 neither,
 * and its table files do not name their trees.
 */
#define STORE_FORMAT_FIRST 5

#define CATALOG_HEAD 24
/* A larger file is no catalog's. */
#define CATALOG_FILE_MAX (1ull << 30)

/* "CATALOG-" and 16 hex digits; ".old" behind them for the one before. */
#define CATALOG_NAME_LEN 29
void catalog_name(uint64_t number, bool old, char out[CATALOG_NAME_LEN]);
bool catalog_name_parse(const char *name, uint64_t *number, bool *old);
/* The next one while it is written. */
#define CATALOG_NEW_NAME "CATALOG.new"

/*
 * What @e makes of @c: its file into @image, and *out as it is read of that. So
 * what is written is what the next open reads, and was checked. As
 * catalog_after(); -EFBIG.
 */
int catalog_make(const struct catalog *c, const struct edit *e, uint64_t number,
		 uint64_t store, struct buf *image, struct catalog *out);
/*
 * The catalog of a file's content, checked. -EPROTONOSUPPORT: of a newer
 * format; -EUCLEAN: damaged, and where it is not the hash that says so, -EINVAL
 * or -EEXIST, all with a sentence; -ENOMEM. *out is to be freed only after 0.
 */
int catalog_decode(struct bytes image, uint64_t number, struct catalog *out,
		   uint64_t *store);
/*
 * The image of a catalog of number 0 with the tables and snapshots of @c, and
 * without files, for a note in the log (record.h).
 */
int catalog_outline(const struct catalog *c, struct buf *out);
/* Fills in the head of a file, the rest of which is there. */
void catalog_seal(uint8_t *image, size_t len, uint64_t number);

/*
 * The parts that are the same in older formats: into *out, which is zeroed and
 * is the caller's to free, whatever is returned. 0, -EUCLEAN or -ENOMEM.
 */
int catalog_take_head(struct decoder *d, struct catalog_table *out);
int catalog_take_file(struct decoder *d, struct catalog_file *out);
int catalog_take_lost(struct decoder *d, struct history *out);
int catalog_take_snapshot(struct decoder *d, struct catalog_snapshot *out);
/* A name of at most @max bytes without NUL; a longer one makes @d bad. */
void catalog_take_name(struct decoder *d, size_t max, char *out);
void catalog_table_free(struct catalog_table *t);

#endif
