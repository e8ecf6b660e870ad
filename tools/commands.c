/*
 * The table of commands: words, help, options and functions. The help of a
 * command fits a screen: at most 24 lines of 80 columns with its usage, its
 * options and its example.
 */
#include "tools/cellctl.h"
#include "tools/cmds.h"

/* Each string is a line of the screen. */
/* clang-format off */
const struct command cellctl_commands[] = {
{
	.name = "init", .args = "STORE", .line = "make an empty store",
	.help =
"Makes the directory STORE and an empty store in it. An existing store is not\n"
"changed.\n",
	.example = "init ./data",
	.words_min = 1, .words_max = 1, .needs = NEEDS_STORE | MAKES | AT_REST,
	.run = cmd_init,
}, {
	.name = "create_namespace", .args = "STORE NAMESPACE",
	.line = "make a namespace",
	.help =
"A namespace is the part of a table's name before a ':'. It is made before the\n"
"first table in it.\n",
	.example = "create_namespace ./data web",
	.words_min = 2, .words_max = 2, .needs = NEEDS_STORE | WRITES,
	.run = cmd_create_namespace,
}, {
	.name = "drop_namespace", .args = "STORE NAMESPACE",
	.line = "drop a namespace",
	.help = "A namespace that has tables is not dropped.\n",
	.example = "drop_namespace ./data web",
	.words_min = 2, .words_max = 2, .needs = NEEDS_STORE | WRITES,
	.run = cmd_drop_namespace,
}, {
	.name = "list_namespace", .args = "STORE [REGEX]",
	.line = "list namespaces",
	.help =
"Prints one name a line, sorted; with REGEX, the names that it matches wholly.\n",
	.example = "list_namespace ./data",
	.options = O_JSON,
	.words_min = 1, .words_max = 2, .needs = NEEDS_STORE,
	.run = cmd_list_namespace,
}, {
	.name = "describe_namespace", .args = "STORE NAMESPACE",
	.line = "count its tables",
	.help = "Prints its name, and how many tables are in it.\n",
	.example = "describe_namespace ./data web",
	.options = O_JSON,
	.words_min = 2, .words_max = 2, .needs = NEEDS_STORE,
	.run = cmd_describe_namespace,
}, {
	.name = "list_namespace_tables", .args = "STORE NAMESPACE",
	.help = "Prints the names of the tables in it, one a line, sorted.\n",
	.example = "list_namespace_tables ./data web",
	.options = O_JSON,
	.words_min = 2, .words_max = 2, .needs = NEEDS_STORE,
	.run = cmd_list_namespace_tables,
},
{
	.name = "tables", .alias = "list", .args = "STORE [REGEX]",
	.line = "list tables",
	.help =
"Prints one name a line, sorted; with REGEX, the names that it matches wholly.\n",
	.example = "tables ./data 'web:.*'",
	.options = O_JSON,
	.words_min = 1, .words_max = 2, .needs = NEEDS_STORE,
	.run = cmd_tables,
}, {
	.name = "exists", .args = "STORE TABLE", .line = "is there a table?",
	.help = "Exits with 0 if the table exists, with 1 if not.\n",
	.example = "exists ./data notes && echo yes",
	.options = O_JSON,
	.words_min = 2, .words_max = 2, .needs = NEEDS_STORE,
	.run = cmd_exists,
}, {
	.name = "is_enabled", .args = "STORE TABLE",
	.help =
"Exits with 0 if the table is in service, as each is that is not HBase's; with 1\n"
"if not; with 3 if there is none.\n",
	.example = "is_enabled hbase://master1 notes && echo enabled",
	.options = O_JSON,
	.words_min = 2, .words_max = 2, .needs = NEEDS_TABLE,
	.run = cmd_is_enabled,
}, {
	.name = "is_disabled", .args = "STORE TABLE",
	.help =
"Exits with 1 if the table is in service, with 0 if not; with 3 if there is\n"
"none.\n",
	.example = "is_disabled ./data notes || echo enabled",
	.options = O_JSON,
	.words_min = 2, .words_max = 2, .needs = NEEDS_TABLE,
	.run = cmd_is_enabled,
}, {
	.name = "create",
	.args = "STORE TABLE [FAMILY[:ATTRIBUTE=VALUE,...]]...",
	.line = "make a table",
	.help =
"With families the table is fixed: other families are refused until added.\n"
"Without, a put of a new family adds it. The namespace of a name such as\n"
"web:pages must exist. The attributes and their defaults:\n"
"  versions=3 min_versions=0 ttl=forever (500ms, 90s, 7d; no unit: seconds)\n"
"  keep_deleted=no (yes, ttl)  new_version_behavior=yes  max_value=10MiB\n"
"  compression=none (zlib)  bloom=row (none, rowcol)  block_size=16KiB\n"
"  block_cache=yes  in_memory=no; and of the table quota=none (10GiB)\n"
"HBase's words are understood: KEEP_DELETED_CELLS, BLOOMFILTER, SNAPPY ..., also\n"
"as \"{NAME => 'd', VERSIONS => '5'}\", and by --schema what its describe prints.\n",
	.example = "create ./data notes d:versions=5,ttl=7d e",
	.options = O_SCHEMA,
	.words_min = 2, .needs = NEEDS_STORE | MAKES,
	.parse = parse_create, .run = cmd_create,
}, {
	.name = "alter", .alias = "alter_async",
	.args = "STORE TABLE [FAMILY[:ATTRIBUTE=VALUE,...]]...",
	.line = "change its families",
	.help =
"An existing family gets the given attributes and keeps its others; a new one is\n"
"added. cellctl create --help lists the attributes. --delete drops a family that\n"
"has no cells; with --force also one that has. Without any change on the command\n"
"line the whole schema is read from standard input, as describe prints it: a\n"
"family that it does not name is dropped if it has no cells (with --force in any\n"
"case), and a line 'drop family F' drops F with its cells.\n",
	.example = "alter ./data notes d:versions=10 --delete e",
	.options = O_SCHEMA | O_ALTER | O_FORCE,
	.words_min = 2, .needs = NEEDS_TABLE | WRITES,
	.parse = parse_alter, .run = cmd_alter,
}, {
	.name = "describe", .alias = "desc", .args = "STORE TABLE",
	.line = "print its schema",
	.help =
"Prints the text of the table's .schema file. In JSON times are in milliseconds,\n"
"sizes in bytes.\n",
	.example = "describe ./data notes",
	.options = O_JSON,
	.words_min = 2, .words_max = 2, .needs = NEEDS_TABLE,
	.run = cmd_describe,
}, {
	.name = "clone_table_schema", .args = "STORE TABLE NEW",
	.help = "Makes the table NEW with the families and attributes of TABLE.\n",
	.example = "clone_table_schema ./data notes notes2",
	.words_min = 3, .words_max = 3, .needs = NEEDS_TABLE | WRITES,
	.run = cmd_clone_table_schema,
}, {
	.name = "drop", .args = "STORE TABLE", .line = "drop a table",
	.help =
"A table that has rows is dropped only with --force; one that has snapshots\n"
"never.\n",
	.example = "drop ./data notes --force",
	.options = O_FORCE,
	.words_min = 2, .words_max = 2, .needs = NEEDS_STORE | WRITES,
	.run = cmd_drop,
}, {
	.name = "drop_all", .args = "STORE REGEX",
	.help =
"Drops the tables whose names REGEX matches wholly, and prints each that it has\n"
"dropped. Unlike HBase's shell it asks nothing; the first table that has rows\n"
"ends it, unless --force is given, and so does one that has snapshots.\n",
	.example = "drop_all ./data 'test_.*' --force",
	.options = O_FORCE | O_JSON,
	.words_min = 2, .words_max = 2, .needs = NEEDS_STORE | WRITES,
	.run = cmd_drop_all,
}, {
	.name = "disable", .args = "STORE TABLE",
	.help =
"Takes a table of HBase's out of service. Any other is always enabled, and a note\n"
"says so: scripts of HBase's shell disable a table before they change or drop it.\n",
	.example = "disable hbase://master1 notes",
	.words_min = 2, .words_max = 2, .needs = NEEDS_TABLE | WRITES,
	.run = cmd_enable,
}, {
	.name = "enable", .args = "STORE TABLE",
	.help = "Puts a table of HBase's that is disabled into service.\n",
	.example = "enable hbase://master1 notes",
	.words_min = 2, .words_max = 2, .needs = NEEDS_TABLE | WRITES,
	.run = cmd_enable,
}, {
	.name = "disable_all", .args = "STORE REGEX",
	.help = "As disable, each table that REGEX matches wholly.\n",
	.example = "disable_all ./data 'test_.*'",
	.words_min = 2, .words_max = 2, .needs = NEEDS_STORE | WRITES,
	.run = cmd_enable_all,
}, {
	.name = "enable_all", .args = "STORE REGEX",
	.help = "As enable, each table that REGEX matches wholly.\n",
	.example = "enable_all ./data 'test_.*'",
	.words_min = 2, .words_max = 2, .needs = NEEDS_STORE | WRITES,
	.run = cmd_enable_all,
}, {
	.name = "truncate", .alias = "truncate_preserve", .args = "STORE TABLE", .line = "drop all its cells",
	.help =
"The cells are gone for good; the schema is kept. A table that has snapshots is\n"
"not truncated.\n",
	.example = "truncate ./data notes",
	.words_min = 2, .words_max = 2, .needs = NEEDS_STORE | WRITES,
	.run = cmd_truncate,
},
{
	.name = "get", .args = "STORE TABLE ROW [FAMILY[:QUALIFIER]]...",
	.line = "cells of one row",
	.help =
"Prints the newest version of each column, as .cells: row TAB family:qualifier\n"
"TAB timestamp TAB value. Exits with 1 if there are no cells.\n",
	.example = "get ./data notes monday d:text --versions 3",
	.options = O_SELECT | O_VALUE | O_LENGTH,
	.words_min = 3, .needs = NEEDS_TABLE,
	.parse = parse_get, .run = cmd_get,
}, {
	.name = "scan", .args = "STORE TABLE", .line = "cells of a range",
	.help =
"Prints the newest version of each column, as get does.\n",
	.example =
"scan ./data notes --filter \"ValueFilter(=,'substring:x')\"",
	.options = O_SCAN | O_LENGTH,
	.words_min = 2, .words_max = 2, .needs = NEEDS_TABLE,
	.parse = parse_scan, .run = cmd_scan,
}, {
	.name = "count", .args = "STORE TABLE", .line = "count rows",
	.help = "Counts the rows of which scan would print a cell.\n",
	.example = "count ./data notes --columns d:text",
	.options = (O_SCAN & ~(O_ROWS | O_ORDER)) | O_INTERVAL,
	.words_min = 2, .words_max = 2, .needs = NEEDS_TABLE,
	.parse = parse_count_rows, .run = cmd_count,
}, {
	.name = "get_counter", .args = "STORE TABLE ROW FAMILY:QUALIFIER",
	.line = "read a counter",
	.help = "Exits with 1 if there is no counter.\n",
	.example = "get_counter ./data notes monday d:visits",
	.options = O_JSON,
	.words_min = 4, .words_max = 4, .needs = NEEDS_TABLE,
	.parse = parse_counter, .run = cmd_get_counter,
},
{
	.name = "put",
	.args = "STORE TABLE ROW FAMILY:QUALIFIER [VALUE [TS]]",
	.line = "write one cell",
	.help =
"Without VALUE the value is standard input, byte for byte. Words after -- may\n"
"begin with a '-'.\n",
	.example = "put ./data notes monday d:text 'buy tea'",
	.options = O_STAMP | O_TTL,
	.words_min = 4, .words_max = 6, .needs = NEEDS_TABLE | WRITES,
	.parse = parse_put, .run = cmd_mutate,
}, {
	.name = "delete",
	.args = "STORE TABLE ROW FAMILY[:QUALIFIER] [TS]",
	.line = "delete one version",
	.help =
"Deletes a column's version at TS, or the newest one: then the version before it\n"
"is seen. Of a family, deletes the versions of all columns at TS. deleteall\n"
"deletes a whole column, family or row.\n",
	.example = "delete ./data notes monday d:text",
	.options = O_STAMP | O_ALL,
	.words_min = 3, .words_max = 5, .needs = NEEDS_TABLE | WRITES,
	.parse = parse_delete, .run = cmd_mutate,
}, {
	.name = "deleteall",
	.args = "STORE TABLE ROW [FAMILY[:QUALIFIER] [TS]]",
	.line = "delete all of it",
	.help =
"Deletes all present versions of a column, a family or the row, or those up to\n"
"TS. Versions written later are seen.\n",
	.example = "deleteall ./data notes monday d:text",
	.options = O_STAMP,
	.words_min = 3, .words_max = 5, .needs = NEEDS_TABLE | WRITES,
	.parse = parse_deleteall, .run = cmd_mutate,
}, {
	.name = "incr", .args = "STORE TABLE ROW FAMILY:QUALIFIER [N]",
	.line = "add to a counter",
	.help =
"Counters are 8 bytes, big-endian; an absent one counts as 0. N is 1 by default,\n"
"and may be negative. Prints the new value.\n",
	.example = "incr ./data notes monday d:visits 5",
	.options = O_JSON | O_STAMP | O_TTL,
	.words_min = 4, .words_max = 5, .needs = NEEDS_TABLE | WRITES,
	.parse = parse_incr, .run = cmd_incr,
}, {
	.name = "append", .args = "STORE TABLE ROW FAMILY:QUALIFIER [VALUE]",
	.line = "add to a value",
	.help =
"Appends VALUE to the newest value, atomically, as a new version. Without VALUE\n"
"standard input is appended. Prints the new cell.\n",
	.example = "append ./data notes monday d:text ' and milk'",
	.options = O_JSON | O_STAMP | O_TTL,
	.words_min = 4, .words_max = 5, .needs = NEEDS_TABLE | WRITES,
	.parse = parse_append, .run = cmd_append,
}, {
	.name = "cas",
	.args = "STORE TABLE ROW COLUMN [EXPECTED] [VALUE]",
	.line = "check, then write",
	.help =
"Puts VALUE if the newest value of COLUMN is EXPECTED. The check and all changes\n"
"are atomic; other columns may be written and deleted with it. Exits with 1,\n"
"without any change, if the check fails.\n",
	.example = "cas ./data notes monday d:state --null open",
	.options = O_JSON | O_STAMP | O_TTL | O_CAS,
	.words_min = 4, .words_max = 6, .needs = NEEDS_TABLE | WRITES,
	.parse = parse_cas, .run = cmd_cas,
},
{
	.name = "import", .args = "STORE TABLE [FILE]",
	.line = "cells from text",
	.help =
"Reads FILE, or standard input, and verifies the output of export: if it is cut\n"
"or damaged, import fails (exit 3) and says how many cells were applied. Also\n"
"reads lines of cells: row TAB family:qualifier TAB timestamp TAB value [TAB kind\n"
"[TAB ttl]]. An empty timestamp is now. Lines of one row that follow each other\n"
"are one atomic mutation. A new table gets the export's schema; of an existing\n"
"one that keeps less there is a warning. With --csv, --tsv or --jsonl each record\n"
"is a row: a field named FAMILY:QUALIFIER is that column, and of other fields\n"
"--map says where they go.\n",
	.example = "import ./data people --csv --key id --map '*=d' people.csv",
	.options = O_CREATE | O_JSON_IN | O_RECORDS_IN | O_PROGRESS,
	.words_min = 2, .words_max = 3,
	.parse = parse_import, .run = cmd_import,
}, {
	.name = "export", .args = "STORE TABLE > CELLS",
	.line = "cells to text",
	.help =
"Writes every version as import reads it, between the schema and a checksum; with\n"
"--csv, --tsv or --jsonl a record a row, of each column the newest version.\n",
	.example = "export ./data notes > notes.cells",
	.options = ((O_SELECT | O_RANGE | O_RECORDS) & ~O_FAMILY_LIMIT) |
		   O_RAW | O_PROGRESS,
	.words_min = 2, .words_max = 2, .needs = NEEDS_TABLE,
	.parse = parse_export, .run = cmd_export,
}, {
	.name = "copy", .args = "STORE TABLE [STORE2] TABLE2",
	.line = "copy a table",
	.help =
"Copies every version with its timestamp and its own ttl, as of now. If TABLE2\n"
"does not exist, it is made with the schema of TABLE, and dropped again if the\n"
"copy fails. Otherwise it keeps its cells, and there is a warning if it keeps\n"
"fewer versions than TABLE.\n",
	.example = "copy ./data notes ./copy notes",
	.options = ((O_SELECT | O_RANGE) & ~(O_FAMILY_LIMIT | O_JSON)) | O_RAW |
		   O_PROGRESS,
	.words_min = 3, .words_max = 4, .needs = NEEDS_TABLE,
	.parse = parse_copy, .run = cmd_copy,
}, {
	.name = "list_table_snapshots", .args = "STORE TABLE",
	.help = "Lists the snapshots of a table, as snapshot -t TABLE does.\n",
	.example = "list_table_snapshots ./data notes",
	.options = O_JSON,
	.words_min = 2, .words_max = 2, .needs = NEEDS_TABLE,
	.run = cmd_list_table_snapshots,
}, {
	.name = "snapshot", .alias = "list_snapshots",
	.args = "STORE\n"
		"       [take NAME | drop NAME | rename NAME TO |"
		" clone NAME TO [SHOWN] |\n"
		"       restore NAME [SHOWN]]",
	.line = "take, clone, drop",
	.help =
"Snapshots of the whole store, or of one table (-t). Without a verb: lists their\n"
"names and times (in milliseconds). In a mount they are .snapshot/NAME and\n"
"TABLE/.snapshot/NAME. clone makes the new table TO from a snapshot; restore sets\n"
"a table back to it, and later writes are lost. SHOWN is the table's name in a\n"
"snapshot of the whole store; with -t it is left out.\n",
	.example = "snapshot -t notes ./data take nightly",
	.options = O_TABLE | O_JSON | O_PROGRESS,
	.words_min = 1, .words_max = 5, .needs = NEEDS_STORE,
	.parse = parse_snapshot, .run = cmd_snapshot,
}, {
	.name = "clone_snapshot", .args = "STORE SNAPSHOT NEW",
	.help =
"Makes the table NEW from a snapshot of a table: as 'snapshot -t TABLE STORE\n"
"clone' does. -t names the table where several have such a snapshot.\n",
	.example = "clone_snapshot ./data nightly notes2",
	.options = O_TABLE | O_PROGRESS,
	.words_min = 3, .words_max = 3, .needs = NEEDS_STORE | WRITES,
	.parse = parse_of_snapshot, .run = cmd_of_snapshot,
}, {
	.name = "restore_snapshot", .args = "STORE SNAPSHOT",
	.help =
"Sets a table back to its snapshot, as 'snapshot -t TABLE STORE restore' does;\n"
"later writes are lost. -t names the table where several have such a snapshot.\n",
	.example = "restore_snapshot ./data nightly",
	.options = O_TABLE | O_PROGRESS,
	.words_min = 2, .words_max = 2, .needs = NEEDS_STORE | WRITES,
	.parse = parse_of_snapshot, .run = cmd_of_snapshot,
}, {
	.name = "delete_snapshot", .args = "STORE SNAPSHOT",
	.help =
"Drops a snapshot of a table: as 'snapshot -t TABLE STORE\n"
"drop' does. -t names the table where several have such a snapshot.\n",
	.example = "delete_snapshot ./data nightly",
	.options = O_TABLE,
	.words_min = 2, .words_max = 2, .needs = NEEDS_STORE | WRITES,
	.parse = parse_of_snapshot, .run = cmd_of_snapshot,
}, {
	.name = "delete_table_snapshots", .args = "STORE TABLE [REGEX]",
	.help =
"Drops the snapshots of a table, or those whose names REGEX matches wholly, and\n"
"prints each that it has dropped.\n",
	.example = "delete_table_snapshots ./data notes 'nightly.*'",
	.options = O_JSON,
	.words_min = 2, .words_max = 3, .needs = NEEDS_TABLE | WRITES,
	.run = cmd_delete_snapshots,
}, {
	.name = "delete_all_snapshot", .args = "STORE REGEX",
	.help =
"Drops the snapshots of tables whose names REGEX matches wholly, and prints each\n"
"that it has dropped. Those of the whole store stay.\n",
	.example = "delete_all_snapshot ./data 'nightly.*'",
	.options = O_JSON,
	.words_min = 2, .words_max = 2, .needs = NEEDS_STORE | WRITES,
	.run = cmd_delete_snapshots,
}, {
	.name = "flush", .args = "STORE [TABLE]", .line = "memory to files",
	.help =
"Writes all cells in memory and in the log to table files. For a TABLE whose\n"
"families have HBase's classic order (new_version_behavior no), drops versions\n"
"beyond their limit.\n",
	.example = "flush ./data",
	.words_min = 1, .words_max = 2, .needs = NEEDS_STORE | WRITES,
	.run = cmd_flush,
}, {
	.name = "compact", .alias = "major_compact", .args = "STORE [TABLE]",
	.line = "merge files",
	.help =
"Merges all files, which removes hidden and expired cells from the disk. Damaged\n"
"ones stay as they are, with others of the same rows: then it exits with 1.\n",
	.example = "compact ./data notes",
	.options = O_PROGRESS,
	.words_min = 1, .words_max = 2, .needs = NEEDS_STORE | WRITES,
	.run = cmd_compact,
}, {
	.name = "stats", .args = "STORE [TABLE]", .line = "print statistics",
	.help =
"Prints one figure a line: name, value, meaning. Of the store, or of a table,\n"
"whose figures are estimates unless the table is small.\n",
	.example = "stats ./data --plot",
	.options = O_JSON | O_PLOT,
	.words_min = 1, .words_max = 2, .needs = NEEDS_STORE,
	.run = cmd_stats,
}, {
	.name = "shape", .args = "STORE", .line = "draw a store",
	.help =
"With --html prints a page for a browser, which needs nothing from elsewhere:\n"
"tables and beginnings of rows by bytes, files by level and age, growth by day,\n"
"and of a store that is mounted the reads and writes of the last four hours by\n"
"ranges of rows. Else a line a file: table, family, level, file, bytes, stored\n"
"cells, first row, last row.\n",
	.example = "shape ./mnt --html > shape.html",
	.options = O_HTML,
	.words_min = 1, .words_max = 1, .needs = NEEDS_STORE,
	.run = cmd_shape,
}, {
	.name = "status", .args = "[STORE]", .line = "what is mounted",
	.help =
"Prints a line for each store that is mounted: where, how much it holds, whether\n"
"it takes writes, and how many of its files are damaged. Of a STORE, mounted or\n"
"not, its tables too. Exits with 1 if something is wrong, or nothing is mounted.\n",
	.example = "status ./data",
	.options = O_JSON,
	.words_max = 1,
	.run = cmd_status,
}, {
	.name = "top", .args = "STORE", .line = "watch a mount",
	.help =
"Shows what a mount did since the last look: requests, calls of the store and how\n"
"long they took (each bar is half a decade of time), the tables and prefixes of\n"
"rows that are read and written most, cache, flush and compaction. Reads that the\n"
"kernel answers out of its cache are not seen. The prefixes are out of\n"
".cellfs/trace, which costs each request about as much as a look-up. On a\n"
"terminal q ends it; elsewhere frames follow each other.\n",
	.example = "top ./data --interval 5",
	.options = O_LOOKS,
	.words_min = 1, .words_max = 1,
	.run = cmd_top,
}, {
	.name = "backup", .args = "[STORE] DIR", .line = "carry its files",
	.help =
"Makes a backup of the store as it is now, mounted or not, in the directory DIR,\n"
"which is for backups of this store alone. Each is whole by itself; of the table\n"
"files only those are carried that the backup before does not have, others are\n"
"hard links to that one's, and on the store's own filesystem to the store's. All\n"
"is read back and verified. What is cut is no backup, and the next one goes on\n"
"with it. Prints the number, how many files and bytes it has, how many of those\n"
"are new, and its moment. With --keep-log the store keeps its log from now on,\n"
"for restore --at. Without STORE, with --keep: only drops. check DIR verifies.\n",
	.example = "backup ./data /mnt/disk/data --keep 14",
	.options = O_BACKUP | O_JSON | O_PROGRESS,
	.words_min = 1, .words_max = 2,
	.parse = parse_backup, .run = cmd_backup,
}, {
	.name = "restore", .args = "DIR STORE", .line = "make it a store",
	.help =
"Makes the new store STORE of a backup in DIR, the newest one unless it is said\n"
"otherwise, and verifies it. --at takes milliseconds since 1970: of a store that\n"
"keeps its log any moment between two backups, else the backup before it, with\n"
"the reason, and exit code 1 if that log was kept. Prints what backup prints.\n",
	.example = "restore /mnt/disk/data ./data",
	.options = O_RESTORE | O_JSON | O_PROGRESS,
	.words_min = 2, .words_max = 2,
	.parse = parse_restore, .run = cmd_restore,
}, {
	.name = "check", .args = "STORE", .line = "verify a store",
	.help =
"Reads every file of a store, or of a copy of one, and verifies its checksums.\n"
"Prints each fault on a line, and exits with 1 if there are any. Of a store that\n"
"is mounted it reads the catalog and the table files, at --rate, while others use\n"
"it; the log is verified when nobody does. Of a directory of backups it verifies\n"
"each one.\n",
	.example = "check ./data",
	.options = O_JSON | O_RATE | O_PROGRESS,
	.words_min = 1, .words_max = 1,
	.parse = parse_check, .run = cmd_check,
}, {
	.name = "repair", .args = "STORE DEST", .line = "save what is left",
	.help =
"Makes the new store DEST of every cell that can be read of STORE, which need not\n"
"open, is not in use, and is not changed. Prints, with tabs in between:\n"
"  lost TABLE FAMILY FILE OFFSET BYTES FROM TO REASON\n"
"      a part of a file that cannot be read, and the rows that it may have held\n"
"      (both included; empty: no bound). TABLE and FAMILY are empty where that\n"
"      is not known. In these rows deleted cells and older versions may be back.\n"
"  salvaged TABLE FAMILY ROWS CELLS\n"
"  note SENTENCE\n"
"Exits with 1 if something is lost. What it could not finish is DEST.part.\n",
	.example = "repair ./data ./saved",
	.options = O_JSON | O_PROGRESS,
	.words_min = 2, .words_max = 2, .needs = AT_REST,
	.run = cmd_repair,
},
{.name = NULL},
};
/* clang-format on */
