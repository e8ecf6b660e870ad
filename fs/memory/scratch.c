#include "fs/memory/scratch.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "fs/text/sorted.h"
#include "store/value/why.h"

#define BYTES_MAX_DEFAULT (256u << 20)
/* The memory of a file besides its content. */
#define FILE_COST (sizeof(struct file) + 64)

struct file {
	struct sorted_node by_node; /* first: the struct is cast to it */
	struct scratch_attr attr;
	struct buf content; /* its len is attr.size */
	uint32_t holds;
	bool named;
	bool known; /* a file's node is there */
	bool retired;
	bool frozen;
};

struct scratch {
	pthread_mutex_t lock;
	struct sorted files;	   /* lock */
	uint64_t bytes;		   /* lock: capacities and structs */
	uint64_t bytes_max;	   /* never changes */
	struct budget_share share; /* lock: of all of it, bytes */
	size_t unnamed;		   /* lock: so many files have no name */
	_Atomic size_t count;	   /* files.count, read without the lock */
};

struct scratch *scratch_new(size_t bytes_max, struct budget *budget)
{
	struct scratch *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	s->bytes_max = bytes_max ? bytes_max : BYTES_MAX_DEFAULT;
	budget_share_init(&s->share, budget);
	return s;
}

/* Fewer bytes than are held never fail. REQUIRES: lock. */
static void set_bytes(struct scratch *s, uint64_t bytes)
{
	s->bytes = bytes;
	(void)budget_try(&s->share, bytes);
}

/* REQUIRES: lock. */
static void file_free(struct scratch *s, struct file *f)
{
	sorted_remove(&s->files, &f->by_node);
	s->count = s->files.count;
	s->unnamed -= !f->named;
	sorted_node_release(&f->by_node);
	set_bytes(s, s->bytes - FILE_COST - f->content.cap);
	buf_free(&f->content);
	free(f);
}

void scratch_free(struct scratch *s)
{
	struct sorted_node *n;

	if (!s)
		return;
	while ((n = sorted_any(&s->files)))
		file_free(s, (struct file *)n);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* REQUIRES: lock. */
static struct file *file_of(struct scratch *s, uint64_t node)
{
	return (struct file *)sorted_find(&s->files, bytes_of(NULL, 0),
					  bytes_of(&node, sizeof(node)));
}

/* Takes the lock, which the caller gives back, also for NULL: no such file. */
static struct file *lock_file(struct scratch *s, uint64_t node)
{
	pthread_mutex_lock(&s->lock);
	return file_of(s, node);
}

/*
 * Frees the files but @keep that nobody has open and that have no name, whose nodes
 * the kernel is about to forget. Was there one? REQUIRES: lock.
 */
static bool free_removed(struct scratch *s, const struct file *keep)
{
	uint64_t node = 0; /* the smallest; no file has it */
	struct bytes at = bytes_of(&node, sizeof(node));
	struct sorted_node *n;
	bool any = false;

	while (s->unnamed &&
	       (n = sorted_next(&s->files, bytes_of(NULL, 0), true, at))) {
		struct file *f = (struct file *)n;

		memcpy(&node, sorted_name(n).data, sizeof(node));
		if (f->named || f->holds || f == keep)
			continue;
		file_free(s, f);
		any = true;
	}
	return any;
}

static bool is_over(const struct scratch *s, uint64_t more)
{
	return s->bytes > s->bytes_max || more > s->bytes_max - s->bytes;
}

/*
 * For @f, or a new file. Buffers double, so the limit may be exceeded by one
 * doubling. 0 or -ENOSPC.
 */
static int room_for(struct scratch *s, const struct file *f, uint64_t more)
{
	uint64_t cap = f ? f->content.cap : 0;

	if (is_over(s, more) && (!free_removed(s, f) || is_over(s, more)))
		return why(-ENOSPC, "scratch files hold scratch_max bytes: "
				    "remove some, or mount with more");
	more = cap ? budget_grown(cap, cap + more) - cap
		   : budget_grown(cap, more);
	return budget_try(&s->share, s->bytes + more) < 0 &&
			       (!free_removed(s, f) ||
				budget_try(&s->share, s->bytes + more) < 0)
		       ? budget_say(s->share.budget, -ENOSPC)
		       : 0;
}

static void touch(struct file *f)
{
	clock_gettime(CLOCK_REALTIME, &f->attr.mtime);
	f->attr.ctime = f->attr.mtime;
}

/* A retired file that somebody has open is a scratch file again, an empty one. */
static bool revive(struct scratch *s, uint64_t node,
		   const struct scratch_attr *attr)
{
	struct file *f = lock_file(s, node);
	bool retired = f && f->retired;

	if (retired) {
		set_bytes(s, s->bytes - f->content.cap);
		buf_free(&f->content);
		f->attr = *attr;
		s->unnamed -= !f->named;
		f->named = true;
		f->retired = f->frozen = false;
		touch(f);
	}
	pthread_mutex_unlock(&s->lock);
	return retired;
}

int scratch_add(struct scratch *s, uint64_t node, mode_t mode, uid_t uid,
		gid_t gid)
{
	struct scratch_attr attr = {.mode = mode, .uid = uid, .gid = gid};
	struct file *f;
	int err;

	if (revive(s, node, &attr))
		return 0;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->attr = attr;
	f->named = true;
	f->known = S_ISREG(mode);
	touch(f);
	err = sorted_node_init(&f->by_node, bytes_of(NULL, 0),
			       bytes_of(&node, sizeof(node)));
	if (err)
		goto fail;
	pthread_mutex_lock(&s->lock);
	if (file_of(s, node))
		err = -EEXIST;
	else
		err = room_for(s, NULL, FILE_COST);
	if (!err) {
		sorted_insert(&s->files, &f->by_node);
		s->count = s->files.count;
		set_bytes(s, s->bytes + FILE_COST);
	}
	pthread_mutex_unlock(&s->lock);
	if (!err)
		return 0;
	sorted_node_release(&f->by_node);
fail:
	free(f);
	return err;
}

/* REQUIRES: lock. */
static void free_unused(struct scratch *s, struct file *f)
{
	if (!f->named && !f->holds && (!f->known || f->retired))
		file_free(s, f);
}

static void lose_name(struct scratch *s, uint64_t node, bool retire)
{
	struct file *f = lock_file(s, node);

	if (f) {
		s->unnamed += f->named;
		f->named = false;
		f->retired |= retire;
		free_unused(s, f);
	}
	pthread_mutex_unlock(&s->lock);
}

void scratch_unname(struct scratch *s, uint64_t node)
{
	lose_name(s, node, false);
}

void scratch_forget(struct scratch *s, uint64_t node)
{
	struct file *f = lock_file(s, node);

	if (f) {
		f->known = false;
		free_unused(s, f);
	}
	pthread_mutex_unlock(&s->lock);
}

void scratch_retire(struct scratch *s, uint64_t node)
{
	lose_name(s, node, true);
}

void scratch_freeze(struct scratch *s, uint64_t node, bool frozen)
{
	struct file *f = lock_file(s, node);

	if (f)
		f->frozen = frozen;
	pthread_mutex_unlock(&s->lock);
}

int scratch_say_moved(void)
{
	return why(-ESTALE, "the file was renamed since it was opened, or is "
			    "at this moment: open it by its new name to write "
			    "more");
}

static int may_change(const struct file *f)
{
	return !f || f->retired || f->frozen ? scratch_say_moved() : 0;
}

int scratch_hold(struct scratch *s, uint64_t node)
{
	struct file *f = lock_file(s, node);

	if (f)
		f->holds++;
	pthread_mutex_unlock(&s->lock);
	return f ? 0 : -ESTALE;
}

void scratch_drop(struct scratch *s, uint64_t node)
{
	struct file *f = lock_file(s, node);

	if (f && f->holds) {
		f->holds--;
		free_unused(s, f);
	}
	pthread_mutex_unlock(&s->lock);
}

void scratch_touch(struct scratch *s, uint64_t node)
{
	struct file *f;

	if (!s->count)
		return;
	f = lock_file(s, node);
	if (f)
		touch(f);
	pthread_mutex_unlock(&s->lock);
}

bool scratch_any(struct scratch *s)
{
	return s->count;
}

int scratch_getattr(struct scratch *s, uint64_t node, struct scratch_attr *a)
{
	struct file *f;
	int r = 0;

	if (!s->count)
		return 0;
	f = lock_file(s, node);
	if (f && !f->retired) {
		*a = f->attr;
		r = 1;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

/*
 * Makes the content @size bytes long, zeros behind what was there; the budget
 * counts what is really taken. REQUIRES: lock.
 */
static int resize(struct scratch *s, struct file *f, uint64_t size)
{
	size_t cap = f->content.cap, len = f->content.len;
	int err;

	if (S_ISDIR(f->attr.mode))
		return -EISDIR;
	err = may_change(f);
	if (err)
		return err;
	if (size > cap) {
		err = room_for(s, f, size - cap);
		if (err)
			return err;
		err = buf_reserve(&f->content, size - len);
		set_bytes(s, s->bytes + f->content.cap - cap);
		if (err)
			return err;
	}
	if (size > len)
		memset(f->content.data + len, 0, size - len);
	f->content.len = size;
	f->attr.size = size;
	if (!size) {
		set_bytes(s, s->bytes - f->content.cap);
		buf_free(&f->content);
	}
	touch(f);
	return 0;
}

int scratch_setattr(struct scratch *s, uint64_t node, unsigned set,
		    const struct scratch_attr *want, struct scratch_attr *now)
{
	struct file *f = lock_file(s, node);
	int err = 0;

	if (!f)
		err = -ESTALE;
	else if (set & SCRATCH_SET_SIZE)
		err = resize(s, f, want->size);
	if (err)
		goto out;
	if (set & SCRATCH_SET_MODE)
		f->attr.mode = (f->attr.mode & S_IFMT) | (want->mode & 07777);
	if (set & SCRATCH_SET_UID)
		f->attr.uid = want->uid;
	if (set & SCRATCH_SET_GID)
		f->attr.gid = want->gid;
	clock_gettime(CLOCK_REALTIME, &f->attr.ctime);
	if (set & SCRATCH_SET_MTIME)
		f->attr.mtime = want->mtime;
	*now = f->attr;
out:
	pthread_mutex_unlock(&s->lock);
	return err;
}

ssize_t scratch_read(struct scratch *s, uint64_t node, void *out, size_t n,
		     uint64_t off)
{
	struct file *f = lock_file(s, node);
	struct bytes part = {0};

	if (f)
		part = bytes_part(buf_bytes(&f->content), off, n);
	if (part.len)
		memcpy(out, part.data, part.len);
	pthread_mutex_unlock(&s->lock);
	return f ? (ssize_t)part.len : -ESTALE;
}

int scratch_write(struct scratch *s, uint64_t node, struct bytes data,
		  uint64_t off, bool append)
{
	struct file *f = lock_file(s, node);
	int err = may_change(f);
	uint64_t end;

	if (!err && append)
		off = f->content.len;
	if (!err && __builtin_add_overflow(off, data.len, &end))
		err = -EFBIG;
	if (!err && end > f->content.len)
		err = resize(s, f, end);
	if (!err && data.len) {
		memcpy(f->content.data + off, data.data, data.len);
		touch(f);
	}
	pthread_mutex_unlock(&s->lock);
	return err;
}

int scratch_content(struct scratch *s, uint64_t node, size_t len_max,
		    struct buf *out)
{
	struct file *f = lock_file(s, node);
	int err;

	if (!f)
		err = -ESTALE;
	else if (f->content.len > len_max)
		err = -EFBIG;
	else
		err = buf_set(out, buf_bytes(&f->content));
	pthread_mutex_unlock(&s->lock);
	return err;
}

int scratch_next_left(struct scratch *s, uint64_t after, uint64_t *node)
{
	struct bytes none = bytes_of(NULL, 0);
	struct sorted_node *n = NULL;
	uint64_t at = after;

	pthread_mutex_lock(&s->lock);
	do {
		struct file *f;

		n = sorted_next(&s->files, none, at != 0,
				bytes_of(&at, sizeof(at)));
		if (!n)
			break;
		f = (struct file *)n;
		memcpy(&at, sorted_name(n).data, sizeof(at));
		if (f->named && !f->retired && f->content.len &&
		    S_ISREG(f->attr.mode))
			break;
	} while (n);
	pthread_mutex_unlock(&s->lock);
	*node = at;
	return n != NULL;
}

uint64_t scratch_bytes(struct scratch *s)
{
	uint64_t bytes;

	pthread_mutex_lock(&s->lock);
	bytes = s->bytes;
	pthread_mutex_unlock(&s->lock);
	return bytes;
}
