#include "fs/control/control.h"

#include <errno.h>

#include <unistd.h>

#include "cellfs-version.h"
#include "fs/control/metrics.h"
#include "fs/control/process.h"
#include "fs/host/sandbox.h"
#include "fs/memory/write_state.h"
#include "fs/tree/fs.h"

static const char help[] =
	"This is a wide-column store as files. Every version of a cell is a\n"
	"small file; every directory is a sorted range of keys; every write\n"
	"is one atomic put.\n"
	"\n"
	"  TABLE/ROW/FAMILY/QUALIFIER/TIMESTAMP   one version of a value\n"
	"  TABLE/ROW/FAMILY/QUALIFIER/latest      the newest one (not listed)\n"
	"  TABLE/ROW/FAMILY:QUALIFIER             the same, in one step (not\n"
	"                                         listed)\n"
	"  TABLE/.schema                          families and their settings\n"
	"  TABLE/.info/                           rows, cells, bytes, files,\n"
	"                                         first and last row, oldest\n"
	"                                         and newest time; ~ stands\n"
	"                                         before an estimate (not\n"
	"                                         listed)\n"
	"  .cellfs/                               about the mount (not "
	"listed)\n"
	"\n"
	"Not listed either, and for reading only, in a table (the first five\n"
	"also in a family, by qualifier), combined in any order:\n"
	"\n"
	"  .range/A..B/  .prefix/P/  .after/K/    rows by key, A to before B\n"
	"  .first/N/  .last/N/                    the first or last N rows\n"
	"  .since/TIME/  .between/T1..T2/         versions of these times\n"
	"  .at/TIME/                              values as of TIME, or now\n"
	"  .raw/                                  all stored cells\n"
	"  .cells                                 a stream of lines, here and\n"
	"                                         in rows, families and "
	"views;\n"
	"                                         write it into another "
	".cells;\n"
	"                                         size 0: cat and cp read it,\n"
	"                                         tar and rsync copy 0 bytes\n"
	"  .../QUALIFIER/@-1, @TIME               an older value\n"
	"  .../QUALIFIER/counter                  a number; echo 5 > adds 5\n"
	"\n"
	"Try:\n"
	"\n"
	"  mkdir articles                         make a table\n"
	"  mkdir articles/a1 articles/a1/basic    a row, a family\n"
	"  echo hello > articles/a1/basic:title   put a value, now\n"
	"  echo hello > articles/.put/a2/basic:title\n"
	"                                         the same, without mkdir\n"
	"  cat articles/a1/basic:title            get the newest\n"
	"  ls articles/a1/basic/title             its versions, newest first\n"
	"  echo old > articles/a1/basic/title/1637054560118\n"
	"                                         put with that timestamp\n"
	"  ls articles/.prefix/a                  rows that begin with a\n"
	"  cat articles/.at/now/a1/basic/title    values without timestamps\n"
	"  rm articles/a1/basic:title             delete all its versions\n"
	"  cat articles/.schema                   how many versions are kept\n"
	"  rm -r articles/a1                      delete the row\n"
	"\n"
	"Timestamps are milliseconds since 1970; a file's mtime is the same.\n"
	"\n"
	"Names: %HH stands for a byte that cannot be in a name: control\n"
	"bytes, '/' (%2F), '%' (%25), bytes that are not UTF-8, and a '.'\n"
	"(%2E) or '-' (%2D) at the start. Each key has one spelling. The\n"
	"empty qualifier is %. A name over 255 bytes continues in nested\n"
	"directories whose names end in %+.\n"
	"\n"
	"Other files cannot be stored, so they are refused. A file with a\n"
	"name that tools use for temporary files (.X, X~, X.tmp, X.bak,\n"
	"sedXXXXXX ...) is allowed as scratch: it is in memory until it is\n"
	"renamed to a timestamp, to latest or to FAMILY:QUALIFIER, so\n"
	"editors, rsync, sed -i and tar work as usual.\n"
	"\n"
	"After close a put survives the death of the daemon. It survives\n"
	"loss of power after an fsync of any file or directory here (sync\n"
	"FILE), after a write to .cellfs/sync, or with -o sync.\n"
	"sync without a file, and syncfs(2), never reach the daemon.\n"
	"\n"
	"Programs such as cellctl use the store through .cellfs/store, given\n"
	"this directory: cellctl scan MOUNTPOINT TABLE.\n"
	"\n"
	"In .at and @TIME \"No data available\" (ENODATA) means that the "
	"state\n"
	"of TIME is not on disk any more, not that there was no value: cells\n"
	"were deleted after TIME and compacted, or are older than ttl, or\n"
	"were pushed out by newer versions. To keep a state, take a\n"
	"snapshot: mkdir TABLE/.snapshot/NAME.\n"
	"\n"
	"If something was refused, .cellfs/errors says why. cat .cellfs/trace\n"
	"shows each request as it ends. Only the user who mounted the store\n"
	"can read them, since they name keys.\n";

/* What this store cannot: its calls say the same, one by one. */
static int cannot_text(const struct store *s, struct buf *out)
{
	bool any = false;
	int r = 0;

	for (unsigned a = 0; r == 0 && a < STORE_ABILITIES; a++) {
		if (store_can(s, a))
			continue;
		if (!any)
			r = buf_printf(out, "\nThis store cannot\n\n");
		any = true;
		if (r == 0)
			r = buf_printf(out, "  %s\n", store_ability(a));
	}
	return r;
}

static int help_text(struct fs *fs, struct buf *out)
{
	int r = buf_append(out, help, sizeof(help) - 1);

	return r < 0 ? r : cannot_text(fs->store, out);
}

static int version_text(struct fs *fs, struct buf *out)
{
	return buf_printf(out, "cellfs %s\nlibfuse %s\n", CELLFS_VERSION,
			  fuse_pkgversion());
}

static int options_text(struct fs *fs, struct buf *out)
{
	return options_format(fs->options, out);
}

static int errors_text(struct fs *fs, struct buf *out)
{
	return errors_format(fs->errors, out);
}

static int stats_mount(struct fs *fs, struct buf *out)
{
	struct invalidate_counts ic;
	struct process_figures process;
	uint64_t live, pinned;
	int r;

	nodes_count(fs->nodes, &live, &pinned);
	invalidate_counts(fs->invalidator, &ic);
	process_figures(&process);
	r = buf_printf(
		out,
		"mount\n"
		"  pid                        %d\n"
		"  up                         %lld s\n"
		"  memory                     %llu bytes\n"
		"  bytes read                 %llu\n"
		"  bytes written              %llu\n"
		"  nodes                      %llu\n"
		"  only in memory             %llu\n"
		"  open handles               %llu\n"
		"  held by open files         %llu bytes of %llu\n"
		"  refused for lack of that   %llu\n"
		"  scratch files              %llu bytes\n"
		"  notifications              %llu (%llu dropped, %llu walks)\n"
		"  failures                   %llu\n\n",
		getpid(),
		(long long)(store_now_ms(fs->store) - fs->start_ms) / 1000,
		(unsigned long long)process.resident_bytes,
		(unsigned long long)fs->bytes_read,
		(unsigned long long)fs->bytes_written, (unsigned long long)live,
		(unsigned long long)pinned,
		(unsigned long long)handles_count(fs->handles),
		(unsigned long long)fs->budget.held,
		(unsigned long long)fs->budget.max,
		(unsigned long long)fs->budget.refused,
		(unsigned long long)scratch_bytes(fs->writes->scratch),
		(unsigned long long)ic.sent, (unsigned long long)ic.dropped,
		(unsigned long long)ic.walks,
		(unsigned long long)errors_total(fs->errors));
	if (r == 0)
		r = buf_printf(out, "requests\n");
	for (int i = 0; r == 0 && i < FS_OP_COUNT; i++)
		r = buf_printf(out, "  %-26s %llu\n", fs_op_name((unsigned)i),
			       (unsigned long long)fs->op_counts[i]);
	return r;
}

static int stats_text(struct fs *fs, struct buf *out)
{
	struct store_stat s;
	int health = store_health(fs->store);
	int r = stats_mount(fs, out);

	if (r == 0)
		r = buf_printf(out, "\nstore%s%s\n",
			       health ? ": takes no writes: " : "",
			       health ? store_why() : "");
	for (unsigned i = 0; r == 0 && store_stat(fs->store, i, &s) > 0; i++)
		r = buf_printf(out, "  %-26s %llu\n", s.name,
			       (unsigned long long)s.value);
	return r;
}

static int status_text(struct fs *fs, struct buf *out)
{
	bool ring = atomic_load(&fs->transport.way) == TRANSPORT_RING;
	int r = fs->sandbox ? sandbox_format(fs->sandbox, out) : 0;

	return r < 0 ? r
		     : buf_printf(out, "transport %s\n",
				  ring ? "io_uring" : "/dev/fuse");
}

/* The table of that name; NULL for all: an empty line, or "all". */
static int table_of(struct fs *fs, struct bytes data, struct table **out)
{
	int r;

	while (data.len && data.data[data.len - 1] == '\n')
		data.len--;
	*out = NULL;
	if (!data.len || bytes_eq(data, bytes_str("all")))
		return 0;
	r = table_open(fs->store, data, out);
	/* Not -ENOENT, since the file exists: its content is wrong. */
	return r == -ENOENT
		       ? why(-EINVAL,
			     "there is no table \"%.*s\": write the name of a "
			     "table, or \"all\"",
			     data.len < 100 ? (int)data.len : 100,
			     (const char *)data.data)
		       : r;
}

static int care_written(struct fs *fs, struct bytes data,
			int (*care)(struct store *s, struct table *t))
{
	struct table *t;
	int r = table_of(fs, data, &t);

	if (r == 0)
		r = care(fs->store, t);
	table_unref(t);
	return r;
}

static int flush_written(struct fs *fs, struct bytes data)
{
	return care_written(fs, data, store_flush);
}

static int compact_written(struct fs *fs, struct bytes data)
{
	return care_written(fs, data, store_compact);
}

/* For sync(1): syncfs(2) does not reach a FUSE daemon. */
static int sync_written(struct fs *fs, struct bytes data)
{
	return fs_sync(fs);
}

static const struct {
	/* Appends the text: 0 or a negative errno. NULL: the text is @says. */
	int (*text)(struct fs *fs, struct buf *out);
	/* Called with the bytes written into the file. */
	int (*written)(struct fs *fs, struct bytes data);
	const char *says;
} acts[CONTROL_FILES] = {
	[CONTROL_COMPACT] = {NULL, compact_written,
			     "Write a table's name here, or an empty line for "
			     "all: what nobody sees any more leaves the "
			     "disk.\n"},
	[CONTROL_ERRORS] = {errors_text},
	[CONTROL_FLUSH] = {NULL, flush_written,
			   "Write a table's name here, or an empty line for "
			   "all: memory is written to table files.\n"},
	[CONTROL_HELP] = {help_text},
	[CONTROL_METRICS] = {metrics_text},
	[CONTROL_OPTIONS] = {options_text},
	[CONTROL_STATS] = {stats_text},
	[CONTROL_STATUS] = {status_text},
	[CONTROL_SYNC] = {NULL, sync_written,
			  "Write anything here: all that was acknowledged "
			  "before is on disk when the write returns.\n"},
	[CONTROL_VERSION] = {version_text},
};

int control_text(struct fs *fs, enum control_id id, struct buf *out)
{
	const char *says = acts[id].says;

	return says ? buf_printf(out, "%s", says) : acts[id].text(fs, out);
}

int control_written(struct fs *fs, enum control_id id, struct bytes data)
{
	return acts[id].written(fs, data);
}
