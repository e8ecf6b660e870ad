#include "store/hbase/backend/hbase.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/hbase/backend/inside.h"
#include "store/hbase/backend/name.h"
#include "store/hbase/master/admin.h"

static int hbase_close(struct store *s)
{
	clones_close(s);
	cluster_close(hbase_of(s)->cluster);
	names_release(&hbase_of(s)->tables);
	names_release(&hbase_of(s)->namespaces);
	free(s);
	return 0;
}

/* Whatever HBase has acknowledged is in the log of its region server. */
static int nothing_to_sync(struct store *s)
{
	return 0;
}

static int no_stat(struct store *s, unsigned i, struct store_stat *out)
{
	return 0;
}

static int healthy(struct store *s)
{
	return 0;
}

static int64_t now_ms(struct store *s)
{
	return os_now_ms(hbase_of(s)->os);
}

static const struct store_ops hbase_ops = {
	.can = ABILITY(CAN_SHOW_PAST), /* of some families: past.c */
	.close = hbase_close,
	.table_open = hbase_table_open,
	.table_free = hbase_table_free,
	.table_schema = hbase_table_schema,
	.table_schema_version = hbase_schema_version,
	.table_name = hbase_table_name,
	.table_create = hbase_table_create,
	.table_drop = hbase_table_drop,
	.table_enable = hbase_table_enable,
	.table_is_enabled = hbase_table_is_enabled,
	.table_truncate = hbase_table_truncate,
	.table_alter = hbase_table_alter,
	.table_next = hbase_table_next,
	.namespace_create = hbase_namespace_create,
	.namespace_drop = hbase_namespace_drop,
	.namespace_next = hbase_namespace_next,
	.mutate = hbase_mutate,
	.mutate_many = hbase_mutate_many,
	.sync = nothing_to_sync,
	.scan_open = hbase_scan_open,
	.scan_next = hbase_scan_next,
	.scan_close = hbase_scan_close,
	.get = hbase_get,
	.snapshot_release = hbase_snapshot_release,
	.snapshot_create = hbase_snapshot_create,
	.snapshot_drop = hbase_snapshot_drop,
	.snapshot_next = hbase_snapshot_next,
	.snapshot_open = hbase_snapshot_open,
	.snapshot_schema = hbase_snapshot_schema,
	.snapshot_clone = hbase_snapshot_clone,
	.snapshot_restore = hbase_snapshot_restore,
	.table_open_id = hbase_table_open_id,
	.flush = hbase_flush,
	.compact = hbase_compact,
	.stat = no_stat,
	.health = healthy,
	.writable = hbase_writable,
	.mutate_try = hbase_mutate_try,
	.now_ms = now_ms,
};

int hbase_check_name(const char *path)
{
	struct hbase_name name;
	int r = hbase_name_parse(path, &name);

	return r < 0 ? r : cluster_check(name.masters);
}

bool hbase_has_keys(const char *path)
{
	struct hbase_name name;

	return hbase_is_named(path) && hbase_name_parse(path, &name) == 0 &&
	       (name.security.kerberos || name.security.tls);
}

/* As whom the servers see this program: as Hadoop's programs have it. */
static void user_name(char *out, size_t size)
{
	const char *name = getenv("HADOOP_USER_NAME");
	const struct passwd *pw = name ? NULL : getpwuid(geteuid());

	if (!name && pw)
		name = pw->pw_name;
	if (name)
		snprintf(out, size, "%s", name);
	else
		snprintf(out, size, "%u", (unsigned)geteuid());
}

static int connect_to(const char *path, const struct store_options *o,
		      struct hbase_store *hs)
{
	struct hbase_name name;
	char user[256];
	struct cluster_options co = {
		.os = hs->os,
		.masters = name.masters,
		.user = user,
		.security = &name.security,
		.timeout_ms = o->timeout_ms,
	};
	int r = hbase_name_parse(path, &name);

	if (r < 0)
		return r;
	if (name.timeout_ms)
		co.timeout_ms = name.timeout_ms;
	user_name(user, sizeof(user));
	return cluster_open(&co, &hs->cluster);
}

int hbase_open(const char *path, const struct store_options *o,
	       struct store **out)
{
	struct hbase_store *hs = store_alloc(sizeof(*hs));
	int r;

	if (!hs)
		return why(-ENOMEM, "out of memory for a store");
	store_init(&hs->base, &hbase_ops, o->read_only);
	clones_init(&hs->clones);
	names_init(&hs->tables, admin_tables, clone_is_named);
	names_init(&hs->namespaces, admin_namespaces, NULL);
	hs->os = o->os ? o->os : os_posix();
	hs->base.is_shared = true;
	hs->sync = o->sync;
	r = connect_to(path, o, hs);
	if (r < 0) {
		store_fini(&hs->base);
		hbase_close(&hs->base);
		return r;
	}
	*out = &hs->base;
	return 0;
}
