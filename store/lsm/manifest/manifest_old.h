/*
 * The catalog of a store of format 4, to read.
 *
 * There a file MANIFEST-N holds a full state and the edits since, and CURRENT
 * names N:
 *
 *	CURRENT	= name blank hash newline	hash: 16 hex digits, XXH3-64
 *	file	= header state edit* closed? zeros
 *	record	= magic:4 length:4 hash:8 kind:1 op*	(length: kind and ops)
 *	header	= format:4 number:8 store:8
 *	op	= tag:1 fields, see enum in manifest_old.c
 *
 * The hash of a record is XXH3-64 over kind and ops, its seed made of the
 * manifest's number, the record's offset and the length. Edits were synced one
 * by one, so only the last record can be torn by a crash: it was never
 * acknowledged and is dropped. A record that does not check with a sound one
 * behind it is damage, and so is a bad header or state.
 */
#ifndef CELLFS_STORE_LSM_MANIFEST_MANIFEST_OLD_H
#define CELLFS_STORE_LSM_MANIFEST_MANIFEST_OLD_H

#include "store/lsm/manifest/catalog.h"

/* "MANIFEST-" and 16 hex digits. */
#define MANIFEST_OLD_NAME_LEN 26
#define CURRENT_NAME "CURRENT"
#define CURRENT_TMP_NAME "CURRENT.tmp"
bool manifest_old_name_parse(const char *name, uint64_t *number);

/*
 * Reads what CURRENT names. -EUCLEAN: damage, said where; -EPROTONOSUPPORT: an
 * older format still, to be exported by the program that made it; -ENOMEM.
 */
int manifest_old_load(struct os_dir *dir, struct catalog *out, uint64_t *number,
		      uint64_t *store);
/* The catalog of a manifest's content. As manifest_old_load(). */
int manifest_old_replay(struct bytes image, uint64_t number,
			struct catalog *out, uint64_t *store);
/* Removes the files, once another catalog is durable. Failures are ignored. */
void manifest_old_discard(struct os_dir *dir, uint64_t number);

#endif
