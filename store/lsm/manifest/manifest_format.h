/*
 * The bytes of a manifest.
 *
 *	file	= header state edit* zeros
 *	record	= magic:4 length:4 hash:8 kind:1 body	(length: kind and body)
 *	header	= format:4 number:8 store:8
 *	state	= op*	what makes the catalog from an empty one
 *	edit	= op*	applied whole
 *	closed	=	stands behind the last edit of a clean end
 *	op	= tag:1 fields, see enum manifest_op
 *
 * All numbers are little-endian. The hash is XXH3-64 over kind and body, its
 * seed made of the manifest's number, the record's offset and the length, so
 * that a record at another place, or of another manifest, fails. The file is
 * allocated ahead: behind the last record it is zero.
 *
 * Edits are synced one by one, so only the last record can be torn by a crash:
 * it was never acknowledged and is dropped. A record that does not check with
 * a sound one behind it is damage, and so is a bad header or state: CURRENT
 * names no manifest before these two are durable. The record "closed" lets
 * damage of the last edit before it be told from a tear.
 */
#ifndef CELLFS_STORE_LSM_MANIFEST_MANIFEST_FORMAT_H
#define CELLFS_STORE_LSM_MANIFEST_MANIFEST_FORMAT_H

#include "store/lsm/manifest/catalog.h"

#define MANIFEST_HEAD 16 /* of a record, before its kind */
/* Above these a file or a record is no manifest's. */
#define MANIFEST_FILE_MAX (1ull << 30)
#define MANIFEST_RECORD_MAX (1u << 29)

enum manifest_kind {
	MANIFEST_HEADER = 1,
	MANIFEST_STATE = 2,
	MANIFEST_EDIT = 3,
	MANIFEST_CLOSED = 4
};

/*
 *	COUNTERS	next_file:8 next_table:8 next_tree:4 last_seq:8
 *			wal_first:8
 *	DROP_TABLE	id:8
 *	REMOVE_FILE	tree:4 number:8
 *	PUT_TABLE	id:8 version:8 name trees:4 tree:4* schema
 *	ADD_FILE	tree:4 level:1 info
 *	DROP_SNAPSHOT	table:8 name
 *	PUT_SNAPSHOT	table:8 seq:8 taken_ms:8 name tables:4 shown*
 *	shown		= id:8 name schema
 *	LOSE		tree:4 before:8 pushed_seq:8 pushed_versions:4 gaps:4
 *			gap*
 *	gap		= row row from:8 to:8
 *
 * A name, a row and a schema are a length of four bytes and the bytes.
 */
enum manifest_op {
	OP_COUNTERS = 1,
	OP_DROP_TABLE = 2,
	OP_REMOVE_FILE = 3,
	OP_PUT_TABLE = 4,
	OP_ADD_FILE = 5,
	OP_DROP_SNAPSHOT = 6,
	OP_PUT_SNAPSHOT = 7,
	OP_LOSE = 8
};

/* "MANIFEST-" and 16 hex digits. */
#define MANIFEST_NAME_LEN 26
void manifest_name(uint64_t number, char out[MANIFEST_NAME_LEN]);
bool manifest_name_parse(const char *name, uint64_t *number);

/*
 * What CURRENT holds: the name, a blank, 16 hex digits of its XXH3-64, a
 * newline.
 */
#define CURRENT_NAME "CURRENT"
#define CURRENT_TMP_NAME "CURRENT.tmp"
#define CURRENT_LEN (MANIFEST_NAME_LEN + 17)
void current_format(uint64_t number, char out[CURRENT_LEN + 1]);
bool current_parse(struct bytes text, uint64_t *number);

/* Appends one record, that will stand at @offset of manifest @number. */
int manifest_put_header(struct buf *out, uint64_t number, uint64_t store);
int manifest_put_state(struct buf *out, uint64_t number, uint64_t offset,
		       const struct catalog *c);
int manifest_put_edit(struct buf *out, uint64_t number, uint64_t offset,
		      const struct edit *e);
int manifest_put_closed(struct buf *out, uint64_t number, uint64_t offset);

/*
 * The record at @at of the image: its payload with the kind in front. False if
 * no sound one begins there.
 */
bool manifest_take(struct bytes image, uint64_t number, size_t at,
		   struct bytes *payload);
/* Fills in the head of a record of @len > MANIFEST_HEAD bytes in all. */
void manifest_seal(uint8_t *record, size_t len, uint64_t number,
		   uint64_t offset);

struct manifest_image {
	uint64_t store;	    /* id of the store */
	uint64_t state_end; /* offset behind the state */
	uint64_t end;	    /* offset behind the last record */
	bool torn;	    /* something incomplete lies behind the end */
};
/*
 * Makes the catalog of a manifest's content. 0; -EPROTONOSUPPORT; -EUCLEAN
 * with the offset; -ENOMEM. *c is to be freed only after 0.
 */
int manifest_replay(struct bytes image, uint64_t number, struct catalog *c,
		    struct manifest_image *out);

#endif
