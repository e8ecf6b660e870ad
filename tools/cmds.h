/* The run functions of the commands, for the table in commands.c. */
#ifndef CELLFS_TOOLS_CMDS_H
#define CELLFS_TOOLS_CMDS_H

#include <regex.h>

#include "tools/line/request.h"

/* cmd_read.c */
int cmd_get(struct request *rq);
int cmd_scan(struct request *rq);
int cmd_count(struct request *rq);
int cmd_get_counter(struct request *rq);

/* cmd_write.c */
int cmd_mutate(struct request *rq);
int cmd_incr(struct request *rq);
int cmd_append(struct request *rq);
int cmd_cas(struct request *rq);

/* cmd_stream.c */
int cmd_export(struct request *rq);
int cmd_import(struct request *rq);
int cmd_copy(struct request *rq);

/* cmd_table.c */
int cmd_tables(struct request *rq);
int cmd_exists(struct request *rq);
int cmd_create(struct request *rq);
int cmd_alter(struct request *rq);
int cmd_describe(struct request *rq);
int cmd_drop(struct request *rq);
int cmd_truncate(struct request *rq);
int cmd_create_namespace(struct request *rq);
int cmd_drop_namespace(struct request *rq);
int cmd_list_namespace(struct request *rq);
int cmd_describe_namespace(struct request *rq);
bool in_namespace(const char *table, const char *name);
/* 0 if there is the namespace, or an exit code. */
int need_namespace(struct request *rq, const char *wanted);
/* Does the pattern match the name wholly, as HBase's list has it? */
int pattern_open(const char *pattern, regex_t *out);
bool pattern_fits(const regex_t *pattern, const char *name);
/* Calls @act for each name that the pattern matches. */
int each_match(struct request *rq, const char *pattern,
	       int (*next)(struct store *s, struct bytes after, char *name),
	       int (*act)(struct request *rq, const char *name));

/* cmd_status.c, cmd_top.c */
int cmd_status(struct request *rq);
int cmd_top(struct request *rq);

/* cmd_store.c */
int cmd_init(struct request *rq);
int parse_check(struct request *rq);
int cmd_check(struct request *rq);
int cmd_repair(struct request *rq);
int cmd_plot(struct request *rq); /* cmd_shape.c */
int cmd_shape(struct request *rq);
int cmd_stats(struct request *rq);
int cmd_flush(struct request *rq);
int cmd_compact(struct request *rq);
/* The directory of a store, whose files show how far it is; NULL: none. */
char *directory_of(const struct request *rq);
/* How to go on with what was stopped: @at_rest, unless somebody has the store. */
const char *stopped_advice(const struct request *rq, const char *at_rest);

/* cmd_backup.c */
int parse_backup(struct request *rq);
int cmd_backup(struct request *rq);
int parse_restore(struct request *rq);
int cmd_restore(struct request *rq);
/* `check` of a folder of backups; 0 or an exit code. */
int check_backups(const char *dir, void (*say)(void *arg, const char *sentence),
		  void *arg);

/* cmd_snapshot.c */
int parse_snapshot(struct request *rq);
int cmd_snapshot(struct request *rq);
int cmd_list_table_snapshots(struct request *rq);

/* cmd_hbase.c */
int cmd_is_enabled(struct request *rq);
int cmd_drop_all(struct request *rq);
int cmd_enable(struct request *rq);
int cmd_enable_all(struct request *rq);
int cmd_delete_snapshots(struct request *rq);
int cmd_clone_table_schema(struct request *rq);
int cmd_list_namespace_tables(struct request *rq);
int parse_of_snapshot(struct request *rq);
int cmd_of_snapshot(struct request *rq);

#endif
