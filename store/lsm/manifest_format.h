/*
 * The bytes of a manifest.
 *
 *	file	= header state edit* zeros
 *	record	= magic:4 length:4 hash:8 kind:1 body	(length: kind and body)
 *	header	= format:4 number:8 store:8
 *	state	= op*	what makes the catalog from an empty one
 *	edit	= op*	applied whole
 *	closed	=	stands behind the last edit of a clean end
 *	op	= tag:1 fields, as in manifest_format.c
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
#ifndef CELLFS_STORE_LSM_MANIFEST_FORMAT_H
#define CELLFS_STORE_LSM_MANIFEST_FORMAT_H

#include "store/lsm/catalog.h"

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

/* "MANIFEST-" and 16 hex digits. */
#define MANIFEST_NAME_LEN 26
void manifest_name(uint64_t number, char out[MANIFEST_NAME_LEN]);
bool manifest_name_parse(const char *name, uint64_t *number);

/*
 * What CURRENT holds: the name, a blank, 16 hex digits of its XXH3-64, a
 * newline.
 */
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
