#include "tests/sim/sim_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an inode has while it is open. */
struct sim_inode {
	unsigned opens;
	uint8_t *map;
	size_t map_len;
};

struct sim_dir {
	struct os_dir base;
	uint32_t dir;
	bool locked;
};

struct sim_file {
	struct os_file base;
	uint32_t ino;
	unsigned flags;
};

static const struct os_ops sim_ops;

static struct sim *lock_sim(const struct os *os)
{
	struct sim *s = sim_of(os);

	pthread_mutex_lock(&s->lock);
	return s;
}

static int unlock_sim(struct sim *s, int rc)
{
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static struct sim_file *sfile(struct os_file *f)
{
	return (struct sim_file *)f;
}

static uint32_t dir_of(const struct os_dir *d)
{
	return ((const struct sim_dir *)d)->dir;
}

void sim_apply(struct disk *d, const struct sim_entry *e)
{
	if (sim_is_data(e) || e->kind == SIM_LINK || e->kind == SIM_RENAME)
		disk_need_inode(d, e->ino);
	switch (e->kind) {
	case SIM_WRITE:
		disk_write(d, e->ino, e->off, e->data, e->len);
		break;
	case SIM_ALLOCATE:
		disk_resize(d, e->ino, 0);
		disk_resize(d, e->ino, e->len);
		break;
	case SIM_RESIZE:
		disk_resize(d, e->ino, e->len);
		break;
	case SIM_LINK:
		disk_link(d, e->dir, e->name, e->ino);
		break;
	case SIM_RENAME:
		disk_unlink(d, e->dir, e->name, e->ino);
		disk_link(d, e->dir, e->to, e->ino);
		break;
	case SIM_UNLINK:
		disk_unlink(d, e->dir, e->name, e->ino);
		break;
	}
}

static struct sim_entry *add(struct sim *s, enum sim_kind kind)
{
	struct sim_entry *e;

	if (s->nlog == s->log_cap) {
		s->log_cap = s->log_cap * 2 + 64;
		s->log = sim_alloc(s->log, s->log_cap * sizeof(*s->log));
	}
	e = &s->log[s->nlog++];
	memset(e, 0, sizeof(*e));
	e->kind = (uint8_t)kind;
	return e;
}

static struct sim_entry *add_name(struct sim *s, enum sim_kind kind,
				  uint32_t dir, const char *name, uint32_t ino)
{
	struct sim_entry *e = add(s, kind);

	e->dir = dir;
	e->ino = ino;
	sim_copy_name(e->name, name);
	return e;
}

static struct sim_entry *add_data(struct sim *s, enum sim_kind kind,
				  const struct sim_file *f, const void *src,
				  size_t len)
{
	struct sim_entry *e = add_name(s, kind, 0, f->base.name, f->ino);

	e->len = len;
	if (src) {
		e->data = sim_alloc(NULL, len);
		memcpy(e->data, src, len);
	}
	return e;
}

static bool is_ignored(struct sim *s, unsigned kind, const char *name)
{
	for (size_t i = 0; i < s->nignored; i++) {
		struct sim_ignored *g = &s->ignored[i];

		if (!(g->kinds & kind) ||
		    strncmp(name, g->prefix, strlen(g->prefix)))
			continue;
		if (g->all || (g->left && --g->left == 0))
			return true;
	}
	return false;
}

static int sim_dir_open(struct os *os, const char *path, bool create,
			struct os_dir **out)
{
	struct sim *s = lock_sim(os);
	struct sim_dir *d;
	size_t i;

	for (i = 0; i < s->ndirs; i++)
		if (!strcmp(s->dirs[i], path))
			break;
	if (i == s->ndirs) {
		if (!create)
			return unlock_sim(s, -ENOENT);
		s->dirs = sim_alloc(s->dirs, (i + 1) * sizeof(*s->dirs));
		s->locks = sim_alloc(s->locks, (i + 1) * sizeof(*s->locks));
		snprintf(s->dirs[i], sizeof(*s->dirs), "%s", path);
		s->locks[i] = 0;
		s->ndirs++;
	}
	d = sim_alloc(NULL, sizeof(*d));
	*d = (struct sim_dir){.base.os = os, .dir = (uint32_t)i};
	s->handles++;
	*out = &d->base;
	return unlock_sim(s, 0);
}

static void sim_dir_close(struct os_dir *d)
{
	struct sim *s = lock_sim(d->os);
	int *lock = &s->locks[dir_of(d)];

	if (((struct sim_dir *)d)->locked)
		*lock = *lock > 0 ? *lock - 1 : 0;
	s->handles--;
	free(d);
	unlock_sim(s, 0);
}

static int sim_dir_lock(struct os_dir *d, const char *path, bool shared,
			int *pid)
{
	struct sim *s = lock_sim(d->os);
	int *lock = &s->locks[dir_of(d)];

	*pid = 0;
	if (*lock < 0 || (*lock > 0 && !shared)) {
		*pid = *lock < 0 ? 4242 : 0;
		return unlock_sim(s, 0);
	}
	*lock = shared ? *lock + 1 : -1;
	((struct sim_dir *)d)->locked = true;
	return unlock_sim(s, 1);
}

static int sim_dir_sync(struct os_dir *d)
{
	struct sim *s = lock_sim(d->os);

	s->dir_syncs++;
	if (!is_ignored(s, SIM_DIR_SYNC, ""))
		add(s, SIM_SYNC_DIR)->dir = dir_of(d);
	return unlock_sim(s, 0);
}

static int sim_dir_list(struct os_dir *d,
			int (*each)(void *arg, const char *name), void *arg)
{
	struct sim *s = lock_sim(d->os);
	size_t n = s->now.nnames;
	struct disk_name *names = sim_alloc(NULL, n * sizeof(*names));
	int rc = 0;

	if (n)
		memcpy(names, s->now.names, n * sizeof(*names));
	unlock_sim(s, 0);
	for (size_t i = 0; i < n && rc >= 0; i++)
		if (names[i].dir == dir_of(d))
			rc = each(arg, names[i].name);
	free(names);
	return rc < 0 ? rc : 0;
}

static int sim_rename(struct os_dir *d, const char *from, const char *to)
{
	struct sim *s = lock_sim(d->os);
	long at = disk_find(&s->now, dir_of(d), from);
	struct sim_entry *e;

	if (at < 0)
		return unlock_sim(s, -ENOENT);
	if (!strcmp(from, to))
		return unlock_sim(s, 0);
	e = add_name(s, SIM_RENAME, dir_of(d), from, s->now.names[at].ino);
	sim_copy_name(e->to, to);
	sim_apply(&s->now, e);
	return unlock_sim(s, 0);
}

static int sim_unlink(struct os_dir *d, const char *name)
{
	struct sim *s = lock_sim(d->os);
	long at = disk_find(&s->now, dir_of(d), name);

	if (at < 0)
		return unlock_sim(s, -ENOENT);
	sim_apply(&s->now, add_name(s, SIM_UNLINK, dir_of(d), name,
				    s->now.names[at].ino));
	return unlock_sim(s, 0);
}

static uint64_t used(const struct sim *s)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->now.ninodes; i++)
		if ((i < s->nopen && s->open[i].opens) ||
		    disk_has_name(&s->now, i))
			sum += disk_size(&s->now, i);
	return sum;
}

/* Is there room for the file to have @size? */
static bool has_room(const struct sim *s, uint32_t ino, uint64_t size)
{
	uint64_t has = disk_size(&s->now, ino);

	if (size <= has)
		return true;
	return size < (uint64_t)1 << 40 && used(s) + (size - has) <= s->space;
}

static int sim_dir_space(struct os_dir *d, uint64_t *total, uint64_t *avail,
			 uint64_t *usable)
{
	struct sim *s = lock_sim(d->os);
	uint64_t taken = used(s);

	*total = s->space;
	*avail = *usable = taken < s->space ? s->space - taken : 0;
	return unlock_sim(s, 0);
}

static int sim_open(struct os_dir *d, const char *name, unsigned flags,
		    struct os_file **out)
{
	struct sim *s = lock_sim(d->os);
	long at = disk_find(&s->now, dir_of(d), name);
	struct sim_file *f;
	uint32_t ino;

	if (strlen(name) >= SIM_NAME_MAX)
		return unlock_sim(s, -ENAMETOOLONG);
	if (at < 0 && !(flags & OS_CREATE))
		return unlock_sim(s, -ENOENT);
	if (at >= 0 && flags & OS_CREATE && flags & OS_EXCL)
		return unlock_sim(s, -EEXIST);
	if (at >= 0) {
		ino = s->now.names[at].ino;
	} else {
		ino = disk_new_inode(&s->now);
		sim_apply(&s->now, add_name(s, SIM_LINK, dir_of(d), name, ino));
	}
	while (s->nopen <= ino) {
		s->open = sim_alloc(s->open, (s->nopen + 1) * sizeof(*s->open));
		s->open[s->nopen++] = (struct sim_inode){0};
	}
	s->open[ino].opens++;
	s->handles++;
	f = sim_alloc(NULL, sizeof(*f));
	*f = (struct sim_file){.ino = ino, .flags = flags};
	*out = &f->base;
	return unlock_sim(s, 0);
}

static int sim_close(struct os_file *base)
{
	struct sim *s = lock_sim(base->os);
	struct sim_file *f = sfile(base);
	struct sim_inode *i = &s->open[f->ino];

	if (--i->opens == 0) {
		free(i->map);
		i->map = NULL;
	}
	s->handles--;
	free(f);
	return unlock_sim(s, 0);
}

static ssize_t sim_pread(struct os_file *base, void *buf, size_t n,
			 uint64_t off)
{
	struct sim *s = lock_sim(base->os);
	uint32_t ino = sfile(base)->ino;
	size_t size = disk_size(&s->now, ino);

	if (off >= size)
		n = 0;
	else if (n > size - off)
		n = size - (size_t)off;
	if (n)
		memcpy(buf, disk_data(&s->now, ino) + off, n);
	unlock_sim(s, 0);
	return (ssize_t)n;
}

/* Under lock. */
static ssize_t write_file(struct sim *s, struct os_file *base, const void *buf,
			  size_t n, uint64_t off)
{
	struct sim_file *f = sfile(base);
	struct sim_inode *i = &s->open[f->ino];
	struct sim_entry *e;

	if (!(f->flags & OS_WRITE))
		return -EBADF;
	if (!has_room(s, f->ino, off + n))
		return -ENOSPC;
	if (n == 0)
		return 0;
	e = add_data(s, SIM_WRITE, f, buf, n);
	e->off = (size_t)off;
	sim_apply(&s->now, e);
	if (i->map && off < i->map_len)
		memcpy(i->map + off, buf,
		       n < i->map_len - off ? n : i->map_len - (size_t)off);
	return (ssize_t)n;
}

static ssize_t sim_pwrite(struct os_file *f, const void *buf, size_t n,
			  uint64_t off)
{
	struct sim *s = lock_sim(f->os);
	ssize_t put = write_file(s, f, buf, n, off);

	unlock_sim(s, 0);
	return put;
}

/* Under lock. */
static void sync_file(struct sim *s, struct os_file *f, enum sim_kind kind)
{
	s->fdatasyncs++;
	if (!is_ignored(s, SIM_FDATASYNC, f->name))
		add_name(s, kind, 0, f->name, sfile(f)->ino);
}

static ssize_t sim_pwrite_sync(struct os_file *f, const void *buf, size_t n,
			       uint64_t off)
{
	struct sim *s = lock_sim(f->os);
	ssize_t put = write_file(s, f, buf, n, off);

	if (put > 0)
		sync_file(s, f, SIM_SYNC_WRITE);
	unlock_sim(s, 0);
	return put;
}

static int sim_fdatasync(struct os_file *f)
{
	struct sim *s = lock_sim(f->os);

	sync_file(s, f, SIM_SYNC);
	return unlock_sim(s, 0);
}

int sim_fail_fdatasync(struct os_file *base)
{
	struct sim *s = lock_sim(base->os);

	add_name(s, SIM_LOST_SYNC, 0, base->name, sfile(base)->ino)->value =
		sim_chance(&s->seed);
	return unlock_sim(s, -EIO);
}

static int set_size(struct os_file *base, enum sim_kind kind, uint64_t size)
{
	struct sim *s = lock_sim(base->os);
	struct sim_file *f = sfile(base);

	if (!(f->flags & OS_WRITE))
		return unlock_sim(s, -EBADF);
	if (kind == SIM_ALLOCATE && !has_room(s, f->ino, size)) {
		size = 0;
		sim_apply(&s->now, add_data(s, kind, f, NULL, 0));
		return unlock_sim(s, -ENOSPC);
	}
	sim_apply(&s->now, add_data(s, kind, f, NULL, (size_t)size));
	return unlock_sim(s, 0);
}

static int sim_truncate(struct os_file *f, uint64_t size)
{
	return set_size(f, SIM_RESIZE, size);
}

static int sim_allocate(struct os_file *f, uint64_t len)
{
	return set_size(f, SIM_ALLOCATE, len);
}

static int sim_size(struct os_file *f, uint64_t *out)
{
	struct sim *s = lock_sim(f->os);

	*out = disk_size(&s->now, sfile(f)->ino);
	return unlock_sim(s, 0);
}

static int sim_map(struct os_file *base, size_t len, void **out)
{
	struct sim *s = lock_sim(base->os);
	uint32_t ino = sfile(base)->ino;
	struct sim_inode *i = &s->open[ino];

	if (len == 0 || len > disk_size(&s->now, ino))
		return unlock_sim(s, -EINVAL);
	if (i->map)
		return unlock_sim(s, -EBUSY);
	i->map = sim_alloc(NULL, len);
	i->map_len = len;
	memcpy(i->map, disk_data(&s->now, ino), len);
	*out = i->map;
	return unlock_sim(s, 0);
}

static void sim_map_stored(struct os_file *base, size_t off, const void *src,
			   size_t n)
{
	struct sim *s = lock_sim(base->os);
	struct sim_entry *e;

	if (n) {
		e = add_data(s, SIM_WRITE, sfile(base), src, n);
		e->off = off;
		sim_apply(&s->now, e);
	}
	unlock_sim(s, 0);
}

static int sim_map_read(struct os_file *base, size_t len, const void **out)
{
	struct sim *s = lock_sim(base->os);
	uint32_t ino = sfile(base)->ino;

	if (len == 0 || len > disk_size(&s->now, ino))
		return unlock_sim(s, -EINVAL);
	*out = disk_hold(&s->now, ino);
	return unlock_sim(s, 0);
}

static void sim_unmap(struct os_file *f, const void *p, size_t len)
{
	disk_drop(p);
}

static int64_t sim_now_ms(struct os *os)
{
	struct sim *s = lock_sim(os);
	int64_t now = s->now_ms;

	unlock_sim(s, 0);
	return now;
}

/* Each look takes a microsecond, or who waits for time would wait forever. */
static uint64_t sim_monotonic_ns(struct os *os)
{
	struct sim *s = lock_sim(os);
	uint64_t now = ++s->ticks * 1000;

	unlock_sim(s, 0);
	return now;
}

static void sim_sleep_ms(struct os *os, unsigned ms)
{
	struct sim *s = lock_sim(os);

	s->ticks += (uint64_t)ms * 1000;
	unlock_sim(s, 0);
}

static uint64_t sim_random(struct os *os)
{
	struct sim *s = lock_sim(os);
	uint64_t x = sim_chance(&s->seed);

	unlock_sim(s, 0);
	return x;
}

static const struct os_ops sim_ops = {
	.dir_open = sim_dir_open,
	.dir_close = sim_dir_close,
	.dir_lock = sim_dir_lock,
	.dir_sync = sim_dir_sync,
	.dir_list = sim_dir_list,
	.rename = sim_rename,
	.unlink = sim_unlink,
	.dir_space = sim_dir_space,
	.open = sim_open,
	.close = sim_close,
	.pread = sim_pread,
	.pwrite = sim_pwrite,
	.pwrite_sync = sim_pwrite_sync,
	.fdatasync = sim_fdatasync,
	.truncate = sim_truncate,
	.allocate = sim_allocate,
	.size = sim_size,
	.map = sim_map,
	.map_read = sim_map_read,
	.unmap = sim_unmap,
	.map_stored = sim_map_stored,
	.now_ms = sim_now_ms,
	.monotonic_ns = sim_monotonic_ns,
	.sleep_ms = sim_sleep_ms,
	.random = sim_random,
};

struct os *sim_from(const struct sim *named, struct disk *d, uint64_t seed)
{
	struct sim *s = sim_alloc(NULL, sizeof(*s));

	*s = (struct sim){.base.ops = &sim_ops,
			  .seed = seed,
			  .space = (uint64_t)1 << 40,
			  .now_ms = 1700000000000};
	pthread_mutex_init(&s->lock, NULL);
	s->now = *d;
	disk_copy(&s->start, &s->now);
	if (named) {
		s->now_ms = named->now_ms;
		s->space = named->space;
		s->ndirs = named->ndirs;
		s->dirs = sim_alloc(NULL, s->ndirs * sizeof(*s->dirs));
		if (s->ndirs)
			memcpy(s->dirs, named->dirs,
			       s->ndirs * sizeof(*s->dirs));
		/* Nobody has them: who had has died. */
		s->locks = sim_alloc(NULL, s->ndirs * sizeof(*s->locks));
		memset(s->locks, 0, s->ndirs * sizeof(*s->locks));
	}
	return &s->base;
}

struct os *sim_new(uint64_t seed)
{
	struct disk empty = {0};

	return sim_from(NULL, &empty, seed);
}

void sim_free(struct os *os)
{
	struct sim *s = sim_of(os);

	if (!s)
		return;
	if (s->handles) {
		fprintf(stderr, "sim: %d files or directories left open\n",
			s->handles);
		abort();
	}
	for (size_t i = 0; i < s->nlog; i++)
		free(s->log[i].data);
	free(s->log);
	free(s->open);
	free(s->dirs);
	free(s->locks);
	disk_free(&s->start);
	disk_free(&s->now);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

bool sim_is_sim(const struct os *os)
{
	return os->ops == &sim_ops;
}

void sim_set_now_ms(struct os *os, int64_t now)
{
	struct sim *s = lock_sim(os);

	s->now_ms = now;
	unlock_sim(s, 0);
}

void sim_set_space(struct os *os, uint64_t bytes)
{
	struct sim *s = lock_sim(os);

	s->space = bytes;
	unlock_sim(s, 0);
}

void sim_mark(struct os *os, unsigned kind, uint64_t value)
{
	struct sim *s = lock_sim(os);
	struct sim_entry *e = add(s, SIM_MARK);

	e->off = kind % SIM_MARKS;
	e->value = value;
	unlock_sim(s, 0);
}

size_t sim_log_length(const struct os *os)
{
	struct sim *s = lock_sim(os);
	size_t n = s->nlog;

	unlock_sim(s, 0);
	return n;
}

void sim_ignore(struct os *os, unsigned kinds, const char *prefix, uint64_t nth)
{
	struct sim *s = lock_sim(os);
	size_t max = sizeof(s->ignored) / sizeof(*s->ignored);
	struct sim_ignored *g;

	if (s->nignored == max) {
		fprintf(stderr, "sim: too many rules of ignored syncs\n");
		abort();
	}
	g = &s->ignored[s->nignored++];
	g->kinds = kinds;
	g->left = nth;
	g->all = nth == 0;
	snprintf(g->prefix, sizeof(g->prefix), "%s", prefix ? prefix : "");
	unlock_sim(s, 0);
}

uint64_t sim_syncs(const struct os *os, unsigned kinds)
{
	struct sim *s = lock_sim(os);
	uint64_t n = (kinds & SIM_FDATASYNC ? s->fdatasyncs : 0) +
		     (kinds & SIM_DIR_SYNC ? s->dir_syncs : 0);

	unlock_sim(s, 0);
	return n;
}

struct os *sim_after_kill(struct os *os)
{
	struct sim *s = lock_sim(os);
	struct disk d;
	struct os *copy;

	disk_copy_named(&d, &s->now);
	copy = sim_from(s, &d, s->seed ^ 0x6b696c6c);
	unlock_sim(s, 0);
	return copy;
}
