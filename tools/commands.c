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
"Makes the directory STORE and an empty store in it. One that is there already\n"
"is left as it is.\n",
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
	.line = "drop an empty one",
	.help = "A namespace that holds a table is refused.\n",
	.example = "drop_namespace ./data web",
	.words_min = 2, .words_max = 2, .needs = NEEDS_STORE | WRITES,
	.run = cmd_drop_namespace,
}, {
	.name = "list_namespace", .args = "STORE [REGEX]",
	.line = "list namespaces",
	.help =
"One name a line, sorted; those that REGEX matches as a whole.\n",
	.example = "list_namespace ./data",
	.options = O_JSON,
	.words_min = 1, .words_max = 2, .needs = NEEDS_STORE,
	.run = cmd_list_namespace,
},
{
	.name = "tables", .alias = "list", .args = "STORE [REGEX]",
	.line = "list tables",
	.help =
"One name a line, sorted; those that REGEX matches as a whole.\n",
	.example = "tables ./data 'web:.*'",
	.options = O_JSON,
	.words_min = 1, .words_max = 2, .needs = NEEDS_STORE,
	.run = cmd_tables,
}, {
	.name = "exists", .args = "STORE TABLE", .line = "is there a table?",
	.help = "Exits 0 when the table is there, 1 when it is not.\n",
	.example = "exists ./data notes && echo yes",
	.options = O_JSON,
	.words_min = 2, .words_max = 2, .needs = NEEDS_STORE,
	.run = cmd_exists,
}, {
	.name = "create",
	.args = "STORE TABLE [FAMILY[:ATTRIBUTE=VALUE,...]]...",
	.line = "make a table",
	.help =
"With families the table is fixed: others are refused until they are added.\n"
"Without, families come with their first cell. The namespace of a name such as\n"
"web:pages must be there. The attributes and what they are when not given:\n"
"  versions=3 min_versions=0 ttl=forever (500ms, 90s, 7d; no unit: seconds)\n"
"  keep_deleted=no (yes, ttl)  new_version_behavior=yes  max_value=10MiB\n"
"  compression=none (zlib)  bloom=row (none, rowcol)  block_size=16KiB\n"
"  block_cache=yes  in_memory=no\n"
"HBase's names are understood: KEEP_DELETED_CELLS, BLOOMFILTER, BLOCKSIZE,\n"
"BLOCKCACHE and GZ, TRUE, FALSE.\n",
	.example = "create ./data notes d:versions=5,ttl=7d e",
	.options = O_SCHEMA,
	.words_min = 2, .needs = NEEDS_STORE | MAKES,
	.parse = parse_create, .run = cmd_create,
}, {
	.name = "alter",
	.args = "STORE TABLE [FAMILY[:ATTRIBUTE=VALUE,...]]...",
	.line = "change its families",
	.help =
"A family that is there gets the attributes that are given and keeps the\n"
"others; one that is not is added. cellctl create --help names the attributes.\n"
"A family of --delete must hold no cells, unless --force. Without a word of what\n"
"to change the whole schema is read from standard input, as describe prints it:\n"
"a family that it does not name goes if it holds no cells, else it stays (with\n"
"--force it goes), and a line 'drop family F' drops F with its cells.\n",
	.example = "alter ./data notes d:versions=10 --delete e",
	.options = O_SCHEMA | O_ALTER | O_FORCE,
	.words_min = 2, .needs = NEEDS_TABLE | WRITES,
	.parse = parse_alter, .run = cmd_alter,
}, {
	.name = "describe", .alias = "desc", .args = "STORE TABLE",
	.line = "print its schema",
	.help =
"The text is that of the table's .schema file. In JSON times are milliseconds,\n"
"sizes bytes.\n",
	.example = "describe ./data notes",
	.options = O_JSON,
	.words_min = 2, .words_max = 2, .needs = NEEDS_TABLE,
	.run = cmd_describe,
}, {
	.name = "drop", .args = "STORE TABLE", .line = "drop a table",
	.help =
"A table that has rows is refused, unless --force; one that has snapshots\n"
"always.\n",
	.example = "drop ./data notes --force",
	.options = O_FORCE,
	.words_min = 2, .words_max = 2, .needs = NEEDS_STORE | WRITES,
	.run = cmd_drop,
}, {
	.name = "truncate", .args = "STORE TABLE", .line = "drop all its cells",
	.help =
"At once and for good; the schema stays. A table that has snapshots is refused.\n",
	.example = "truncate ./data notes",
	.words_min = 2, .words_max = 2, .needs = NEEDS_STORE | WRITES,
	.run = cmd_truncate,
},
{
	.name = "get", .args = "STORE TABLE ROW [FAMILY[:QUALIFIER]]...",
	.line = "cells of one row",
	.help =
"Prints the newest version of each column, as .cells: row TAB family:qualifier\n"
"TAB timestamp TAB value. Exits 1 when there is nothing.\n",
	.example = "get ./data notes monday d:text --versions 3",
	.options = O_SELECT | O_VALUE,
	.words_min = 3, .needs = NEEDS_TABLE,
	.parse = parse_get, .run = cmd_get,
}, {
	.name = "scan", .args = "STORE TABLE", .line = "cells of a range",
	.help =
"Prints the newest version of each column, as get does.\n",
	.example =
"scan ./data notes --filter \"ValueFilter(=,'substring:x')\"",
	.options = O_SCAN,
	.words_min = 2, .words_max = 2, .needs = NEEDS_TABLE,
	.parse = parse_scan, .run = cmd_scan,
}, {
	.name = "count", .args = "STORE TABLE", .line = "count rows",
	.help = "Those that have a cell that scan would print.\n",
	.example = "count ./data notes --columns d:text",
	.options = O_SCAN & ~(O_ROWS | O_ORDER),
	.words_min = 2, .words_max = 2, .needs = NEEDS_TABLE,
	.parse = parse_count_rows, .run = cmd_count,
}, {
	.name = "get_counter", .args = "STORE TABLE ROW FAMILY:QUALIFIER",
	.line = "read a counter",
	.help = "Exits 1 when there is none.\n",
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
"Without VALUE it is read from standard input as it is. A word behind -- may\n"
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
"Of a column the version at TS, or the newest: the one before it is seen then.\n"
"Of a family the versions of all columns at TS. For the whole of a column,\n"
"family or row there is deleteall.\n",
	.example = "delete ./data notes monday d:text",
	.options = O_STAMP | O_ALL,
	.words_min = 3, .words_max = 5, .needs = NEEDS_TABLE | WRITES,
	.parse = parse_delete, .run = cmd_mutate,
}, {
	.name = "deleteall",
	.args = "STORE TABLE ROW [FAMILY[:QUALIFIER] [TS]]",
	.line = "delete all versions",
	.help =
"Of a column, a family or the row: those up to TS, or all that are there. What\n"
"is written later is seen.\n",
	.example = "deleteall ./data notes monday d:text",
	.options = O_STAMP,
	.words_min = 3, .words_max = 5, .needs = NEEDS_TABLE | WRITES,
	.parse = parse_deleteall, .run = cmd_mutate,
}, {
	.name = "incr", .args = "STORE TABLE ROW FAMILY:QUALIFIER [N]",
	.line = "add to a counter",
	.help =
"Counters are 8 bytes, big-endian; absent counts as 0. N is 1 unless given, and\n"
"may be negative. Prints the new value.\n",
	.example = "incr ./data notes monday d:visits 5",
	.options = O_JSON | O_STAMP | O_TTL,
	.words_min = 4, .words_max = 5, .needs = NEEDS_TABLE | WRITES,
	.parse = parse_incr, .run = cmd_incr,
}, {
	.name = "append", .args = "STORE TABLE ROW FAMILY:QUALIFIER [VALUE]",
	.line = "add to a value",
	.help =
"Puts the newest value with VALUE behind it, as one act. Without VALUE it is\n"
"read from standard input. Prints the new cell.\n",
	.example = "append ./data notes monday d:text ' and milk'",
	.options = O_JSON | O_STAMP | O_TTL,
	.words_min = 4, .words_max = 5, .needs = NEEDS_TABLE | WRITES,
	.parse = parse_append, .run = cmd_append,
}, {
	.name = "cas",
	.args = "STORE TABLE ROW COLUMN [EXPECTED] [VALUE]",
	.line = "check, then write",
	.help =
"Puts VALUE if the newest value of COLUMN is EXPECTED. The check and all that\n"
"is written are one act; other columns may be written and deleted with it.\n"
"Exits 1 when the check does not hold: then nothing is changed.\n",
	.example = "cas ./data notes monday d:state --null open",
	.options = O_JSON | O_STAMP | O_TTL | O_CAS,
	.words_min = 4, .words_max = 6, .needs = NEEDS_TABLE | WRITES,
	.parse = parse_cas, .run = cmd_cas,
},
{
	.name = "import", .args = "STORE TABLE < CELLS",
	.line = "cells from text",
	.help =
"What export has written, which is verified: one that is cut or damaged is\n"
"refused (exit 3), and how many cells were applied is said. Or lines of cells\n"
"alone: row TAB family:qualifier TAB timestamp TAB value [TAB kind [TAB ttl]].\n"
"An empty timestamp is now. Lines of one row in a row are one atomic mutation; a\n"
"row of an export is one unless it is over 4 MiB or 65536 cells.\n"
"A table that is made has the export's schema. One that is there is warned of if\n"
"it keeps less than the export holds.\n",
	.example = "import --create ./data notes < notes.cells",
	.options = O_CREATE | O_JSON_IN,
	.words_min = 2, .words_max = 2,
	.parse = parse_import, .run = cmd_import,
}, {
	.name = "export", .args = "STORE TABLE > CELLS",
	.line = "cells to text",
	.help =
"Every version, in order, in the form that import reads and that can be written\n"
"to a .cells; the schema before it and a count and checksum behind it, in lines\n"
"that begin with a tab. With --raw a row's cells come as they were written.\n",
	.example = "export ./data notes > notes.cells",
	.options = ((O_SELECT | O_RANGE) & ~O_FAMILY_LIMIT) | O_RAW,
	.words_min = 2, .words_max = 2, .needs = NEEDS_TABLE,
	.parse = parse_export, .run = cmd_export,
}, {
	.name = "copy", .args = "STORE TABLE [STORE2] TABLE2",
	.line = "a table to another",
	.help =
"Every version with its timestamp and its own ttl, as of now. TABLE2 is made\n"
"with the schema of TABLE if it is absent, and goes again if that fails; else\n"
"what it holds stays, and a warning says where it keeps less.\n",
	.example = "copy ./data notes ./copy notes",
	.options = ((O_SELECT | O_RANGE) & ~(O_FAMILY_LIMIT | O_JSON)) | O_RAW,
	.words_min = 3, .words_max = 4, .needs = NEEDS_TABLE,
	.parse = parse_copy, .run = cmd_copy,
}, {
	.name = "snapshot",
	.args = "STORE\n"
		"       [take NAME | drop NAME | rename NAME TO |"
		" clone NAME TO [SHOWN] |\n"
		"       restore NAME [SHOWN]]",
	.line = "take, clone, restore",
	.help =
"Of the whole store, or of one table. Without a verb: one name a line, and when\n"
"it was taken (milliseconds). In a mount these are .snapshot/NAME and\n"
"TABLE/.snapshot/NAME. clone makes the new table TO of what a snapshot shows,\n"
"restore puts a table back to it: what was written since is gone. SHOWN is the\n"
"table's name in a snapshot of the whole store; with -t it is left out.\n",
	.example = "snapshot -t notes ./data take nightly",
	.options = O_TABLE | O_JSON,
	.words_min = 1, .words_max = 5, .needs = NEEDS_STORE,
	.parse = parse_snapshot, .run = cmd_snapshot,
}, {
	.name = "flush", .args = "STORE [TABLE]", .line = "memory to files",
	.help =
"Writes what is in memory and in the log to table files. With a TABLE whose\n"
"families are in HBase's classic order (new_version_behavior no) their versions\n"
"beyond the limit go.\n",
	.example = "flush ./data",
	.words_min = 1, .words_max = 2, .needs = NEEDS_STORE | WRITES,
	.run = cmd_flush,
}, {
	.name = "compact", .alias = "major_compact", .args = "STORE [TABLE]",
	.line = "merge files",
	.help =
"Merges all files, so that hidden and expired cells leave the disk.\n",
	.example = "compact ./data notes",
	.words_min = 1, .words_max = 2, .needs = NEEDS_STORE | WRITES,
	.run = cmd_compact,
}, {
	.name = "stats", .args = "STORE [TABLE]", .line = "print figures",
	.help =
"A figure a line: its name, its value, what it is. Of the store, or of what a\n"
"table holds, which is an estimate unless it is small.\n",
	.example = "stats ./data --json",
	.options = O_JSON,
	.words_min = 1, .words_max = 2, .needs = NEEDS_STORE,
	.run = cmd_stats,
}, {
	.name = "check", .args = "STORE", .line = "verify a store",
	.help =
"Reads every file and its checksums, at rest. Prints one line a fault; exits 1\n"
"when there is any.\n",
	.example = "check ./data",
	.options = O_JSON,
	.words_min = 1, .words_max = 1, .needs = AT_REST,
	.run = cmd_check,
},
{.name = NULL},
};
/* clang-format on */
