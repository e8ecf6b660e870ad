/*
 * Keys as file names.
 *
 * A key is any bytes; a name is one path component of at most 255 bytes. %HH
 * stands for control bytes, '/', '%', bytes that are not UTF-8, and a '.' or
 * '-' at the start of a component; all else is literal. Each key has one
 * spelling: any other one is -EINVAL.
 *
 *	a/b	-> a%2Fb		(empty qualifier) -> %
 *	.x	-> %2Ex			\xff		  -> %FF
 *
 * A key whose name would be longer than 255 bytes is several components. All
 * but the last are pieces: as many escapes and characters as fit into 250
 * bytes, and "%+":
 *
 *	aaaa...a%+/aaaa...a%+/aaa
 *
 * An offset into the key at which a component begins is a cut. name_part()
 * encodes the component that begins at a cut, name_join() is its inverse.
 * Everything here is pure.
 */
#ifndef CELLFS_FS_TEXT_NAME_H
#define CELLFS_FS_TEXT_NAME_H

#include "store/value/cell.h"

#define NAME_LEN_MAX 255
#define NAME_PIECE_MAX 250

struct name_part {
	char text[NAME_LEN_MAX + 1]; /* NUL-terminated */
	size_t len;
	size_t next; /* the next cut; key.len after the last component */
	bool more;   /* a piece: ends in "%+" */
};

/* The component of @key at the cut @pos (0, or a part's next). */
void name_part(struct bytes key, size_t pos, struct name_part *out);
/* Is @pos one of @key's cuts? 0 always is. */
bool name_is_cut(struct bytes key, size_t pos);

/*
 * Decodes @name as the component that follows @prefix (the decoded pieces above
 * it, empty for the first), and appends it to @key, which holds @prefix. *more:
 * it is a piece, and another component must follow. 0; -EINVAL with a reason if
 * it is not the canonical spelling; -ENAMETOOLONG; -ENOMEM.
 *
 * Whether a piece is canonical is only known when the next component is: then
 * the next one is refused.
 */
int name_join(struct bytes name, struct buf *key, bool *more);
/*
 * The same for a component that name_join() has accepted after these pieces:
 * takes time for the length of @name only, not of the whole key.
 */
int name_append(struct bytes name, struct buf *key, bool *more);
/* As name_join() for a name of one component; @key is overwritten. */
int name_decode(struct bytes name, struct buf *key);

/* Appends the decoded name, whatever its spelling. -EINVAL, -ENOMEM. */
int name_unescape(struct bytes name, struct buf *key);

/* A version's name: canonical decimal, 0 .. TS_MAX. 1 or 0. */
bool name_parse_ts(struct bytes name, int64_t *ts);
#define NAME_TS_LEN_MAX 20
/* Writes @ts in decimal with its NUL; returns the length. */
size_t name_format_ts(int64_t ts, char out[NAME_TS_LEN_MAX + 1]);

/*
 * "F:Q" in a row: splits it at the first ':'. 1 and both parts decoded in
 * @hold, 0 if there is no ':', -EINVAL, -ENAMETOOLONG, -ENOMEM.
 */
int name_split_alias(struct bytes name, struct buf *hold, struct bytes *family,
		     struct bytes *qualifier);
/* The name "F:Q"; false if it is too long for one component. */
bool name_alias(struct bytes family, struct bytes qualifier,
		struct name_part *out);

#endif
