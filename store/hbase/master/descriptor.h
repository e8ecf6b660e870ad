/*
 * A table's description by HBase, and our schema.
 *
 * What HBase's description has beside that (coprocessors, replication, ...) is
 * kept by who changes a table: descriptor_put() gets what was read before, and
 * replaces only what differs.
 */
#ifndef CELLFS_STORE_HBASE_MASTER_DESCRIPTOR_H
#define CELLFS_STORE_HBASE_MASTER_DESCRIPTOR_H

#include "store/hbase/master/admin_messages.h"
#include "store/value/schema.h"

/*
 * The schema that a description says, which schema_free() frees. One without
 * cellfs's attributes is fixed and belongs to @uid and @gid. 0, -ENOMEM,
 * -EPROTO.
 */
int descriptor_take(const struct pb_descriptor *d, uint32_t uid, uint32_t gid,
		    struct schema *out);

/* What a description says that no schema does. */
struct table_traits {
	bool read_only; /* HBase takes no change of the cells */
	/*
	 * A family has its long values in files of their own, and filters of the
	 * servers are shown references to them.
	 */
	bool has_mob;
	/* The master does not tell it to this user, who so may not change it. */
	bool is_told;
};
/* 0 or -EPROTO. */
int descriptor_traits(const struct pb_descriptor *d, struct table_traits *out);

/* Can HBase keep what the schema says? 0, or -EINVAL and in why() what not. */
int descriptor_check(const struct schema *schema);
/*
 * Appends the description of a table with that schema. @was: its description
 * now, or NULL for a table to be made. @now_ms: the clock, from which on a
 * family that begins to keep deleted cells, or more versions, has them. 0;
 * -ENOMEM; as descriptor_check().
 */
int descriptor_put(struct bytes table, const struct schema *schema,
		   const struct pb_descriptor *was, int64_t now_ms,
		   struct buf *out);
/*
 * By which call of the master the description becomes one of that schema. Those of
 * one family are refused by the master if the table has become another one by the
 * time that it makes the change; that of all replaces whatever there is.
 */
enum {
	STEP_ALL,    /* descriptor_put() */
	STEP_ADD,    /* one family */
	STEP_CHANGE, /* one family */
	STEP_DROP,   /* one family */
};
/*
 * Sets *step, and appends to @out what the call of one family says: the
 * description of that family, or its name. As descriptor_put(); -EAGAIN if the
 * schema is not @from any more.
 */
int descriptor_step(const struct schema *from, const struct schema *to,
		    const struct pb_descriptor *was, int64_t now_ms,
		    uint8_t *step, struct buf *out);
/*
 * Since when the family, which keeps deleted cells, has kept all that it keeps
 * now: 1 and *since, in ms; 0 if nobody noted it; -EPROTO.
 */
int descriptor_kept_since(const struct pb_descriptor *d, struct bytes family,
			  int64_t *since);

#endif
