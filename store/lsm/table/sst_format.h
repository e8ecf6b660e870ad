/*
 * The bytes of an sstable outside its blocks.
 *
 *	file	= (block trailer)* index trailer filter trailer
 *		  properties trailer footer
 *	trailer	= codec:1 raw_len:4 hash:8
 *	footer	= magic:8 version:4 tree:4 number:8 file_bytes:8
 *		  (offset:8 len:8 hash:8)[index filter properties] hash:8
 *
 * All numbers are little-endian. The tree is whose cells they are, so that a
 * file has its place without a catalog; 0 where that was not known when it was
 * written, and in files of format 5. A trailer's hash is XXH3-64 over what is
 * stored before it, codec and raw_len included, seeded with file number and
 * offset, so that bytes in the wrong place fail. The footer names the hashes of
 * the sections, the index those of the blocks: the footer's own hash, which the
 * catalog keeps, thus covers every byte of the file.
 *
 *	index	= nblocks:4 prefix_len:2 prefix entry*
 *	entry	= stored_len:4 raw_len:4 nrow:4 flags:1 hash:8 ts_min:8 ts_max:8
 *		  row_len:2 suffix [place]
 *	place	= kind:1 ts:8 seq:8 qualifier_len:2 qualifier
 *
 * Blocks follow each other from offset 0, so entries need no offsets. The key
 * of an entry is the block's first row (prefix + suffix) and, where that row
 * began in the block before (INDEX_CONTINUES), the place of its first cell.
 *
 *	filter	= rows columns kind:1 flags:1 rows_len:4
 *
 * Empty, or two bloom filters (bloom.h), of rows and of columns; the kind says
 * whether there is the second. A lookup of an absent row touches only the
 * first, smaller one. A row that has family markers has a key for them too.
 *
 *	properties = the fields of struct sst_info as in properties_encode()
 */
#ifndef CELLFS_STORE_LSM_TABLE_SST_FORMAT_H
#define CELLFS_STORE_LSM_TABLE_SST_FORMAT_H

#include "store/lsm/block/block.h"
#include "store/lsm/table/sstable.h"

#define SST_TRAILER_LEN 13
#define SST_FOOTER_LEN 112
#define SST_FILTER_END_LEN 6 /* after the bloom filters */
#define SST_VERSION 2
/* Of the sections: a footer with a greater length is damaged. */
#define SST_SECTION_MAX (1ull << 31)

enum sst_codec {
	SST_PLAIN = 0,
	SST_ZLIB = 1
};

enum sst_section {
	SST_INDEX,
	SST_FILTER,
	SST_PROPERTIES,
	SST_NSECTIONS
};

struct sst_place {
	uint64_t offset, len; /* without trailer */
	uint64_t hash;
};

struct sst_footer {
	uint64_t number, file_bytes, hash;
	uint32_t tree;
	struct sst_place section[SST_NSECTIONS];
};

#define SST_NAME_LEN 32
/* "N.sst" */
void sst_name(uint64_t number, char out[SST_NAME_LEN]);

/*
 * Makes the trailer of what is stored at @offset, in two parts, of which the
 * second may be empty; *hash is its hash.
 */
void sst_trailer(uint8_t out[SST_TRAILER_LEN], struct bytes stored,
		 struct bytes tail, uint8_t codec, uint32_t raw_len,
		 uint64_t number, uint64_t offset, uint64_t *hash);
/*
 * Checks @len stored bytes and the trailer after them against the expected
 * hash. 0, or -EUCLEAN and why.
 */
int sst_trailer_check(const uint8_t *stored, size_t len, uint64_t number,
		      uint64_t offset, uint64_t hash, uint8_t *codec,
		      uint32_t *raw_len);

/* Is there a trailer behind these bytes that says that they are whole? */
bool sst_trailer_sound(const uint8_t *stored, size_t len, uint64_t number,
		       uint64_t offset, uint64_t *hash);

void sst_footer_encode(struct sst_footer *f, uint8_t out[SST_FOOTER_LEN]);
/* 0, or -EUCLEAN and why. Checks that the sections fill the file's end. */
int sst_footer_decode(const uint8_t in[SST_FOOTER_LEN], uint64_t number,
		      uint64_t file_bytes, struct sst_footer *f);

int sst_properties_encode(const struct sst_info *i, struct buf *out);
int sst_properties_decode(struct bytes in, struct sst_info *i);

/* Keys of the filters. */
uint64_t sst_hash_row(struct bytes row);
uint64_t sst_hash_column(uint64_t row_hash, struct bytes qualifier);
/* The key in the filter for a row that has family markers. */
uint64_t sst_hash_family(uint64_t row_hash);

/* Appends a little-endian number. */
int sst_put(struct buf *out, uint64_t v, unsigned width);
/* Takes a number from the front of @in; false if it is too short. */
bool sst_take(struct bytes *in, unsigned width, uint64_t *out);
bool sst_take_bytes(struct bytes *in, uint64_t len, struct bytes *out);

#endif
