#include "store/hbase/backend/clones.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <xxhash.h>

#include "store/hbase/backend/inside.h"
#include "store/hbase/cluster/regions.h"
#include "store/hbase/master/admin.h"
#include "store/hbase/master/snapshots.h"
#include "store/os/patience.h"

/*
 * cellfs-clone.HOST.PIDS.PID.NUMBER, in the namespace of the snapshot's table: the
 * host is for people, and PIDS (pids_of()) says among which processes PID is one.
 */
#define PREFIX "cellfs-clone."
#define HOST_LEN 65
#define NAME_LEN (sizeof(PREFIX) + HOST_LEN + 17)

struct clone {
	struct clone *next;
	struct table *table;
	char snapshot[SNAPSHOT_NAME_MAX + 1];
	int64_t taken_ms;
	unsigned refs;
};

void clones_init(struct clones *cs)
{
	pthread_mutex_init(&cs->lock, NULL);
}

/* The name without its namespace. */
static struct bytes behind_colon(struct bytes table)
{
	const uint8_t *colon =
		table.len ? memchr(table.data, ':', table.len) : NULL;
	size_t n = colon ? (size_t)(colon + 1 - table.data) : 0;

	return bytes_of(table.data + n, table.len - n);
}

bool clone_is_named(struct bytes table)
{
	struct bytes name = behind_colon(table);

	return name.len >= strlen(PREFIX) &&
	       memcmp(name.data, PREFIX, strlen(PREFIX)) == 0;
}

/* This machine's name in the alphabet of names of tables. */
static void host_name(char out[HOST_LEN])
{
	if (gethostname(out, HOST_LEN) < 0)
		snprintf(out, HOST_LEN, "unknown");
	out[HOST_LEN - 1] = '\0';
	for (char *p = out; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz"
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.",
			    *p))
			*p = '-';
}

/* Appends what the file says: the number of bytes, or a negative errno. */
static ssize_t read_all(struct os *os, const char *path, const char *name,
			char *to, size_t size)
{
	struct os_dir *d = NULL;
	struct os_file *f = NULL;
	ssize_t n = os_dir_open(os, path, false, &d);

	if (n == 0)
		n = os_open(d, name, OS_READ, &f);
	if (n == 0)
		n = os_pread(f, to, size, 0);
	os_close(f);
	os_dir_close(d);
	return n;
}

/*
 * What has pids in common, and nobody else has: a namespace of pids of one boot of
 * a machine. Where /proc does not tell it is a number that nobody has twice.
 */
static uint64_t pids_of(struct os *os)
{
	char text[128];
	ssize_t n = readlink("/proc/self/ns/pid", text, 64);
	ssize_t boot = n > 0 ? read_all(os, "/proc/sys/kernel/random",
					"boot_id", text + n, 64)
			     : n;

	return boot > 0 ? XXH3_64bits(text, (size_t)(n + boot)) : os_random(os);
}

/* What the names of clones of these processes begin with, but for the namespace. */
static void begin_name(struct os *os, char out[NAME_LEN])
{
	char host[HOST_LEN];

	host_name(host);
	snprintf(out, NAME_LEN, PREFIX "%s.%016llx.", host,
		 (unsigned long long)pids_of(os));
}

static void drop(struct store *s, struct bytes table)
{
	struct cluster *c = hbase_of(s)->cluster;

	/* One that cannot be dropped now is left to a later sweep. */
	admin_drop(c, table);
	regions_forget_table(c, table);
}

/* What a process that is gone has left here. */
struct orphans {
	char prefix[NAME_LEN];
	struct buf names; /* each with a NUL */
};

static void consider(void *arg, struct bytes table)
{
	struct orphans *o = arg;
	struct bytes name = behind_colon(table);
	size_t n = strlen(o->prefix);
	char pid[16] = "";

	if (name.len <= n || memcmp(name.data, o->prefix, n) != 0)
		return;
	memcpy(pid, name.data + n,
	       name.len - n < sizeof(pid) - 1 ? name.len - n : sizeof(pid) - 1);
	n = (size_t)atol(pid);
	if (n == 0 || kill((pid_t)n, 0) == 0 || errno != ESRCH)
		return;
	n = o->names.len;
	if (buf_append(&o->names, table.data, table.len) < 0 ||
	    buf_append(&o->names, "", 1) < 0)
		o->names.len = n;
}

/* Once for each store that makes clones. REQUIRES: the lock. */
static void sweep(struct store *s)
{
	struct hbase_store *hs = hbase_of(s);
	struct orphans o = {.names = {0}};

	if (hs->clones.swept)
		return;
	hs->clones.swept = true;
	begin_name(hs->os, o.prefix);
	if (admin_tables(hs->cluster, consider, &o) == 0)
		for (size_t at = 0; at < o.names.len;) {
			const char *name = (const char *)o.names.data + at;

			drop(s, bytes_str(name));
			at += strlen(name) + 1;
		}
	buf_free(&o.names);
}

static int name_clone(struct store *s, struct bytes of, char *out, size_t size)
{
	struct os *os = hbase_of(s)->os;
	struct bytes name = behind_colon(of);
	char prefix[NAME_LEN];

	begin_name(os, prefix);
	if (snprintf(out, size, "%.*s%s%ld.%08x", (int)(of.len - name.len),
		     (const char *)of.data, prefix, (long)getpid(),
		     (unsigned)os_random(os)) >= (int)size)
		return why(-ENAMETOOLONG,
			   "the namespace and this machine have names too long "
			   "for that of a clone");
	return 0;
}

static int make(struct store *s, struct bytes of, struct clone *k)
{
	char name[TABLE_NAME_LEN_MAX + 1];
	struct why_kept kept;
	int r;

	if (s->read_only)
		return why(-EROFS,
			   "HBase shows a snapshot in a table that is made "
			   "from it: open the store for writing");
	sweep(s);
	r = name_clone(s, of, name, sizeof(name));
	if (r == 0)
		r = snapshots_clone(hbase_of(s)->cluster,
				    bytes_str(k->snapshot), bytes_str(name));
	if (r < 0)
		return r;
	r = hbase_table_open_any(s, bytes_str(name), &k->table);
	if (r < 0) {
		why_keep(&kept);
		drop(s, bytes_str(name));
		why_restore(&kept);
	}
	return r;
}

static int make_clone(struct store *s, struct bytes of, struct bytes snapshot,
		      int64_t taken_ms, struct clone **out)
{
	struct clones *cs = &hbase_of(s)->clones;
	struct clone *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return why(-ENOMEM, "out of memory for a snapshot");
	memcpy(k->snapshot, snapshot.data, snapshot.len);
	k->taken_ms = taken_ms;
	r = make(s, of, k);
	if (r < 0) {
		free(k);
		return r;
	}
	k->next = cs->first;
	cs->first = k;
	*out = k;
	return 0;
}

int clone_get(struct store *s, struct bytes of, struct bytes snapshot,
	      int64_t taken_ms, struct clone **out)
{
	struct clones *cs = &hbase_of(s)->clones;
	struct clone *k;
	int r = patience_lock(&cs->lock);

	if (r < 0)
		return r;
	for (k = cs->first; k; k = k->next)
		if (bytes_eq(bytes_str(k->snapshot), snapshot) &&
		    k->taken_ms == taken_ms)
			break;
	if (!k)
		r = make_clone(s, of, snapshot, taken_ms, &k);
	if (r == 0) {
		k->refs++;
		*out = k;
	}
	pthread_mutex_unlock(&cs->lock);
	return r;
}

/* REQUIRES: nobody else knows it. */
static void unmake(struct store *s, struct clone *k)
{
	drop(s, name_of(k->table));
	table_unref(k->table);
	free(k);
}

void clone_put(struct store *s, struct clone *k)
{
	struct clones *cs = &hbase_of(s)->clones;
	struct clone **at = &cs->first;
	struct why_kept kept;

	pthread_mutex_lock(&cs->lock);
	if (--k->refs > 0) {
		pthread_mutex_unlock(&cs->lock);
		return;
	}
	while (*at != k)
		at = &(*at)->next;
	*at = k->next;
	pthread_mutex_unlock(&cs->lock);
	why_keep(&kept);
	unmake(s, k);
	why_restore(&kept);
}

void clones_close(struct store *s)
{
	struct clones *cs = &hbase_of(s)->clones;
	struct clone *k;

	while ((k = cs->first)) {
		cs->first = k->next;
		unmake(s, k);
	}
	pthread_mutex_destroy(&cs->lock);
}

struct table *clone_table(const struct clone *k)
{
	return k->table;
}
