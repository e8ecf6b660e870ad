#include "store/hbase/master/admin.h"

#include <errno.h>
#include <unistd.h>

#include "store/hbase/master/alter_lock.h"
#include "store/hbase/master/descriptor.h"
#include "store/hbase/master/procedure.h"
#include "store/hbase/master/told.h"
#include "store/value/why.h"

static int run_table(struct cluster *c, const char *method, struct bytes table)
{
	const struct pb_table_request m = {
		.table = table_name_of(table),
		.nonce_group = procedure_nonce(c),
		.nonce = procedure_nonce(c),
	};

	return procedure_run(c, method, &pb_table_request, &m);
}

/* The table's description, which lasts until attempt_end(). */
static int describe(struct cluster *c, struct bytes table, uint64_t deadline_ns,
		    struct attempt *call, struct pb_descriptor *out)
{
	const struct pb_table_name name = table_name_of(table);
	const struct pb_tables_request m = {
		.tables = {.items = &name, .n = 1},
	};
	struct rpc_request q = {
		.method = "GetTableDescriptors",
		.type = &pb_tables_request,
		.message = &m,
		.deadline_ns = deadline_ns,
	};
	struct pb_descriptors answer;
	int r = master_call(c, &q, call, &pb_descriptors, &answer);

	if (r == 0)
		r = proto_next(&answer.descriptors, out);
	if (r == 0)
		return why(-ENOENT, "there is no table '%.*s'", (int)table.len,
			   (const char *)table.data);
	return r < 0 ? r : 0;
}

/* The same; of who may not ask the master for it, as others tell it. */
static int describe_to_all(struct cluster *c, struct bytes table,
			   uint64_t deadline_ns, struct attempt *call,
			   struct buf *told, struct pb_descriptor *out)
{
	int r = describe(c, table, deadline_ns, call, out), by_server;
	struct why_kept kept;

	if (r != -EACCES)
		return r;
	why_keep(&kept);
	by_server = told_description(c, table, told, out);
	/* Nobody serves one that is disabled. */
	if (by_server == 0 || by_server == -EBUSY)
		return by_server;
	why_restore(&kept);
	return r;
}

int admin_schema(struct cluster *c, struct bytes table, uint64_t deadline_ns,
		 struct schema *out, struct table_traits *traits)
{
	struct pb_descriptor d;
	struct attempt call = {0};
	struct buf told = {0};
	int r = describe_to_all(c, table, deadline_ns, &call, &told, &d);

	if (r == 0)
		r = descriptor_traits(&d, traits);
	traits->is_told = told.len;
	if (r == 0)
		r = descriptor_take(&d, geteuid(), getegid(), out);
	buf_free(&told);
	attempt_end(&call);
	return r;
}

int admin_kept_since(struct cluster *c, struct bytes table, struct bytes family,
		     int64_t *since)
{
	struct pb_descriptor d;
	struct attempt call = {0};
	struct buf told = {0};
	int r = describe_to_all(c, table, 0, &call, &told, &d);

	if (r == 0)
		r = descriptor_kept_since(&d, family, since);
	buf_free(&told);
	attempt_end(&call);
	return r;
}

int admin_tables(struct cluster *c, void (*each)(void *arg, struct bytes name),
		 void *arg)
{
	struct rpc_request q = {.method = "GetTableNames"};
	struct pb_table_names answer;
	struct pb_table_name one;
	struct attempt call = {0};
	struct buf name = {0};
	int r = master_call(c, &q, &call, &pb_table_names, &answer);

	while (r == 0 && (r = proto_next(&answer.tables, &one)) > 0) {
		struct encoder e = {.out = &name};

		name.len = 0;
		if (!bytes_eq(one.namespace, bytes_str("default"))) {
			put_raw(&e, one.namespace.data, one.namespace.len);
			put_u8(&e, ':');
		}
		put_raw(&e, one.qualifier.data, one.qualifier.len);
		r = e.err;
		if (r < 0)
			why_say("out of memory for the names of tables");
		else
			each(arg, buf_bytes(&name));
	}
	buf_free(&name);
	attempt_end(&call);
	return r;
}

int admin_create(struct cluster *c, struct bytes table,
		 const struct schema *schema)
{
	struct buf body = {0};
	struct pb_create_request m = {
		.nonce_group = procedure_nonce(c),
		.nonce = procedure_nonce(c),
	};
	int r = descriptor_put(table, schema, NULL, 0, &body);

	m.descriptor = buf_bytes(&body);
	if (r == 0)
		r = procedure_run(c, "CreateTable", &pb_create_request, &m);
	buf_free(&body);
	return r;
}

/* What the call says that makes the schema of what the table is now. */
static int modification(struct cluster *c, struct bytes table,
			const struct schema *from, const struct schema *to,
			uint8_t *step, struct buf *out)
{
	int64_t now_ms = os_now_ms(cluster_os(c));
	struct pb_descriptor was;
	struct attempt call = {0};
	int r = describe(c, table, 0, &call, &was);

	if (r == 0)
		r = descriptor_step(from, to, &was, now_ms, step, out);
	if (r == 0 && *step == STEP_ALL)
		r = descriptor_put(table, to, &was, now_ms, out);
	attempt_end(&call);
	return r;
}

int admin_modify(struct cluster *c, struct bytes table,
		 const struct schema *from, const struct schema *to)
{
	/* Their messages are alike. */
	static const char *const methods[] = {
		[STEP_ALL] = "ModifyTable",
		[STEP_ADD] = "AddColumn",
		[STEP_CHANGE] = "ModifyColumn",
		[STEP_DROP] = "DeleteColumn",
	};
	struct pb_modify_request m = {
		.table = table_name_of(table),
		.nonce_group = procedure_nonce(c),
		.nonce = procedure_nonce(c),
	};
	struct buf body = {0};
	uint64_t lock;
	uint8_t step;
	int r = alter_lock_take(c, table, &lock);

	if (r == 0)
		r = modification(c, table, from, to, &step, &body);
	m.change = buf_bytes(&body);
	if (r == 0)
		r = procedure_run(c, methods[step], &pb_modify_request, &m);
	alter_lock_give(c, lock);
	buf_free(&body);
	return r;
}

/* 1, or 0: it was out of service already. */
static int take_out(struct cluster *c, struct bytes table)
{
	int r = run_table(c, "DisableTable", table);

	return r == -EBUSY ? 0 : r < 0 ? r : 1;
}

int admin_disable(struct cluster *c, struct bytes table)
{
	int r = take_out(c, table);

	return r < 0 ? r : 0;
}

int admin_enable(struct cluster *c, struct bytes table)
{
	int r = run_table(c, "EnableTable", table);

	return r == -EBUSY ? 0 : r;
}

/* What the table was taken out of service for has failed by @r: it comes back. */
static int bring_back(struct cluster *c, struct bytes table, int r)
{
	struct why_kept kept;
	int enabled;

	why_keep(&kept);
	enabled = admin_enable(c, table);
	why_restore(&kept);
	if (enabled == 0 || enabled == -ENOENT)
		return r;
	return why(r,
		   "%.700s; the table is disabled: cellctl enable puts it "
		   "into service",
		   kept.text);
}

int admin_drop(struct cluster *c, struct bytes table)
{
	int taken = take_out(c, table);
	int r = taken < 0 ? taken : run_table(c, "DeleteTable", table);

	return r < 0 && taken > 0 ? bring_back(c, table, r) : r;
}

int admin_truncate(struct cluster *c, struct bytes table)
{
	const struct pb_truncate_request m = {
		.table = table_name_of(table),
		.keeps_splits = true,
		.nonce_group = procedure_nonce(c),
		.nonce = procedure_nonce(c),
	};
	int taken = take_out(c, table);
	int r = taken < 0 ? taken
			  : procedure_run(c, "truncateTable",
					  &pb_truncate_request, &m);

	return r < 0 && taken > 0 ? bring_back(c, table, r) : r;
}

int admin_namespaces(struct cluster *c,
		     void (*each)(void *arg, struct bytes name), void *arg)
{
	struct rpc_request q = {.method = "ListNamespaces"};
	struct pb_namespaces answer;
	struct bytes name;
	struct attempt call = {0};
	int r = master_call(c, &q, &call, &pb_namespaces, &answer);

	while (r == 0 && (r = proto_next(&answer.names, &name)) > 0) {
		each(arg, name);
		r = 0;
	}
	attempt_end(&call);
	return r;
}

int admin_namespace_create(struct cluster *c, struct bytes name)
{
	const struct pb_namespace_request m = {
		.namespace = {.here = true, .name = name},
		.nonce_group = procedure_nonce(c),
		.nonce = procedure_nonce(c),
	};

	return procedure_run(c, "CreateNamespace", &pb_namespace_request, &m);
}

int admin_namespace_drop(struct cluster *c, struct bytes name)
{
	const struct pb_namespace_name_request m = {
		.name = name,
		.nonce_group = procedure_nonce(c),
		.nonce = procedure_nonce(c),
	};

	return procedure_run(c, "DeleteNamespace", &pb_namespace_name_request,
			     &m);
}
