#include "store/lsm/wal/wal_replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/lsm/wal/wal.h"
#include "store/value/array.h"
#include "store/value/why.h"

#define READ_BYTES ((size_t)256 << 10)
#define RING_MAX ((uint64_t)1 << 30)

void wal_segment_name(char name[WAL_NAME_BYTES], uint64_t number)
{
	snprintf(name, WAL_NAME_BYTES, "wal-%016" PRIx64 ".log", number);
}

bool wal_segment_number(const char *name, uint64_t *number)
{
	char again[WAL_NAME_BYTES];

	if (sscanf(name, "wal-%16" SCNx64 ".log", number) != 1)
		return false;
	wal_segment_name(again, *number);
	return !strcmp(again, name);
}

static void made_format(const struct wal_made *m, char out[WAL_MADE_BYTES])
{
	const char *ring = m->ring ? "ring" : "none";
	uint64_t sum = m->next * UINT64_C(0x9e3779b97f4a7c15) ^
		       UINT64_C(0x77616c2e6d616465);

	snprintf(out, WAL_MADE_BYTES, "%016" PRIx64 " %s %016" PRIx64, m->next,
		 ring, m->ring ? ~sum : sum);
}

void wal_made_note(struct os_dir *dir, uint64_t next, bool ring)
{
	struct wal_made m = {next, ring};
	char text[WAL_MADE_BYTES];
	struct why_kept kept;
	struct os_file *f;

	why_keep(&kept);
	made_format(&m, text);
	if (os_open(dir, WAL_MADE_NAME, OS_WRITE | OS_CREATE, &f) == 0) {
		(void)!os_pwrite(f, text, sizeof(text), 0);
		os_close(f);
	}
	why_restore(&kept);
}

struct wal_made wal_made_read(struct os_dir *dir)
{
	char text[WAL_MADE_BYTES], again[WAL_MADE_BYTES];
	struct wal_made m = {0};
	struct os_file *f;
	ssize_t n;

	if (os_open(dir, WAL_MADE_NAME, OS_READ, &f) < 0)
		return m;
	n = os_pread(f, text, sizeof(text), 0);
	os_close(f);
	if (n != sizeof(text) || text[n - 1] ||
	    sscanf(text, "%16" SCNx64, &m.next) != 1)
		return (struct wal_made){0};
	m.ring = text[17] == 'r';
	made_format(&m, again);
	return memcmp(text, again, sizeof(text)) ? (struct wal_made){0} : m;
}

struct listing {
	uint64_t first; /* ignore lower numbers */
	struct buf numbers;
};

static int list_one(void *arg, const char *name)
{
	struct listing *l = arg;
	uint64_t number;

	if (!wal_segment_number(name, &number) || number < l->first)
		return 0;
	return buf_append(&l->numbers, &number, sizeof(number));
}

int wal_segments(struct os_dir *dir, uint64_t first, uint64_t **out, size_t *n)
{
	struct listing l = {.first = first};
	int rc = os_dir_list(dir, list_one, &l);

	if (rc < 0) {
		buf_free(&l.numbers);
		return rc;
	}
	*out = (uint64_t *)(void *)l.numbers.data;
	*n = l.numbers.len / sizeof(uint64_t);
	if (*n)
		qsort(*out, *n, sizeof(uint64_t), array_by_u64);
	return 0;
}

/* Where one is missing, @found has those before it. */
static int find_segments(struct os_dir *dir, struct wal_found *found)
{
	int rc = wal_segments(dir, found->first, &found->numbers, &found->n);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < found->n; i++) {
		if (found->numbers[i] == found->first + i)
			continue;
		found->n = i;
		return why(-EUCLEAN,
			   "segment wal-%016" PRIx64
			   ".log of the log is missing; restore it or remove "
			   "the later ones to lose what they hold",
			   found->first + i);
	}
	rc = wal_made_read(dir).next > found->first + found->n;
	return rc ? why(-EUCLEAN,
			"segment wal-%016" PRIx64
			".log of the log is missing, the last one; restore it "
			"or remove " WAL_MADE_NAME " to lose what it holds",
			found->first + found->n)
		  : 0;
}

struct reader {
	struct os_file *file;
	uint64_t size;
	struct buf buf;
	uint64_t at; /* offset of buf in the file */
};

/* The @n bytes at @off, inside the file; valid until the next call. */
static int reader_get(struct reader *r, uint64_t off, size_t n,
		      const uint8_t **out)
{
	uint64_t left = r->size - off;
	size_t want = n > READ_BYTES ? n : READ_BYTES;
	ssize_t got;
	int rc;

	if (off >= r->at && off - r->at <= r->buf.len &&
	    n <= r->buf.len - (size_t)(off - r->at)) {
		*out = r->buf.data + (off - r->at);
		return 0;
	}
	if (want > left)
		want = (size_t)left;
	r->buf.len = 0;
	rc = buf_reserve(&r->buf, want);
	if (rc < 0)
		return rc;
	got = os_pread(r->file, r->buf.data, want, off);
	if (got < 0)
		return (int)got;
	if ((size_t)got < n)
		return why(-EUCLEAN, "%s became shorter while it was read",
			   r->file->name);
	r->buf.len = (size_t)got;
	r->at = off;
	*out = r->buf.data;
	return 0;
}

struct walk {
	struct os_dir *dir;
	struct wal_found *found;
	wal_replay_fn replay;
	void *arg;
	void (*say)(void *arg, const char *sentence); /* or NULL */
	int faults;
	bool kept;		/* of a segment that the log does not need */
	struct wal_head *heads; /* of found->numbers */
	struct reader r;	/* the segment being read: */
	struct wal_head head;
	uint64_t durable;
	bool marked;
};

static int damaged(const struct walk *w, uint64_t off, const char *reason)
{
	return why(-EUCLEAN, "%s is damaged at byte %" PRIu64 ": %s%s",
		   w->r.file->name, off, reason,
		   w->kept ? ""
			   : "; restore the store from a copy, or remove this "
			     "and later segments to lose what they hold");
}

/* Opens the file of segment @number and decodes its block. */
static int open_file(struct walk *w, const char *name, uint64_t number)
{
	const uint8_t *p = NULL;
	int rc;

	os_close(w->r.file);
	w->r.file = NULL;
	w->r.buf.len = 0;
	rc = os_open(w->dir, name, OS_READ, &w->r.file);
	if (rc < 0)
		return rc;
	rc = os_size(w->r.file, &w->r.size);
	if (rc < 0)
		return rc;
	if (w->r.size < WAL_BLOCK_BYTES)
		return damaged(w, w->r.size, "its first block is cut off");
	rc = reader_get(&w->r, 0, WAL_BLOCK_BYTES, &p);
	if (rc < 0)
		return rc;
	if (!wal_head_decode(p, number, &w->head))
		return damaged(w, 0, "its first block fails its check");
	if (w->r.size > w->head.capacity)
		return damaged(w, w->head.capacity, "bytes were added to it");
	w->durable = w->head.start;
	w->marked = wal_mark_decode(p + WAL_MARK_AT, w->head.id, &w->durable);
	if (w->kept && !w->marked)
		return damaged(w, WAL_MARK_AT, "its mark fails its check");
	if (w->durable < w->head.start ||
	    w->durable - w->head.start > w->head.capacity - WAL_BLOCK_BYTES)
		return damaged(w, WAL_MARK_AT, "its mark is wrong");
	if (w->r.size != w->head.capacity &&
	    (!w->marked || wal_file_offset(&w->head, w->durable) != w->r.size))
		return damaged(w, w->r.size, "it was cut off here");
	return 0;
}

static int open_segment(struct walk *w, uint64_t number)
{
	char name[WAL_NAME_BYTES];

	wal_segment_name(name, number);
	return open_file(w, name, number);
}

/* 1 and *rec, or 0 if there is no valid record at @pos. */
static int read_record(struct walk *w, uint64_t pos, struct wal_record *rec)
{
	uint64_t off = wal_file_offset(&w->head, pos), size;
	const uint8_t *p = NULL;
	int rc;

	if (w->r.size - off < WAL_RECORD_HEAD)
		return 0;
	rc = reader_get(&w->r, off, WAL_RECORD_HEAD, &p);
	if (rc < 0)
		return rc;
	size = wal_record_peek(p, pos);
	if (size == 0 || size > w->r.size - off)
		return 0;
	rc = reader_get(&w->r, off, (size_t)size, &p);
	if (rc < 0)
		return rc;
	return wal_record_decode(p, (size_t)size, w->head.id, pos, rec);
}

static int hand_out(struct walk *w, const struct wal_record *rec)
{
	w->found->records++;
	if (!w->replay)
		return 0;
	return w->replay(w->arg, w->head.number, rec->payload);
}

/*
 * Is there a valid later record which says that @pos was durable? Records are
 * found by the position in their heads, wherever they begin.
 */
static int look_behind(struct walk *w, uint64_t pos)
{
	uint64_t at = pos + WAL_ALIGN, off;
	struct wal_record rec;
	const uint8_t *p = NULL;
	size_t n, i;
	int rc;

	for (;;) {
		off = wal_file_offset(&w->head, at);
		if (off > w->r.size || w->r.size - off < WAL_RECORD_HEAD)
			return 0;
		n = w->r.size - off < READ_BYTES ? (size_t)(w->r.size - off)
						 : READ_BYTES;
		rc = reader_get(&w->r, off, n, &p);
		if (rc < 0)
			return rc;
		i = wal_record_scan(p, n, at);
		if (i == n) {
			/*
			 * Heads that cross the end of the buffer are scanned
			 * next.
			 */
			at += (n - WAL_RECORD_HEAD) / WAL_ALIGN * WAL_ALIGN +
			      WAL_ALIGN;
			continue;
		}
		at += i;
		rc = read_record(w, at, &rec);
		if (rc < 0 || (rc && rec.synced > pos))
			return rc;
		at += WAL_ALIGN;
	}
}

static const char record_fails[] = "a record that was on disk fails its check";

/*
 * Hands out the segment's records from @pos on, before @stop; *end follows the
 * last one.
 */
static int walk_records(struct walk *w, uint64_t pos, uint64_t stop,
			uint64_t *end)
{
	struct wal_record rec;
	int rc;

	for (; pos < stop; pos += rec.size) {
		rc = read_record(w, pos, &rec);
		if (rc < 0)
			return rc;
		if (rc == 0)
			break;
		if (w->durable < rec.synced)
			w->durable = rec.synced;
		rc = hand_out(w, &rec);
		if (rc < 0)
			return rc;
	}
	*end = pos;
	return 0;
}

static int walk_segment(struct walk *w, size_t i)
{
	struct wal_found *f = w->found;
	bool last = i + 1 == f->n;
	uint64_t stop = last ? UINT64_MAX : w->heads[i + 1].start;
	uint64_t end;
	int rc;

	rc = open_segment(w, f->numbers[i]);
	if (rc < 0)
		return rc;
	rc = walk_records(w, w->head.start, stop, &end);
	if (rc < 0)
		return rc;
	if (!last)
		return end == stop ? 0
				   : damaged(w, wal_file_offset(&w->head, end),
					     record_fails);
	if (end < w->durable)
		return damaged(w, wal_file_offset(&w->head, end), record_fails);
	rc = look_behind(w, end);
	if (rc < 0)
		return rc;
	if (rc)
		return damaged(w, wal_file_offset(&w->head, end), record_fails);
	f->head = w->head;
	f->file_size = w->r.size;
	f->in_segment = f->end = end;
	f->durable = w->durable;
	f->marked = w->marked;
	return 0;
}

/* A check reports damage and goes on; a replay ends with it. */
static int walk_result(struct walk *w, int rc)
{
	if (rc != -EUCLEAN || !w->say)
		return rc;
	w->say(w->arg, store_why());
	w->faults++;
	return 0;
}

/* As find_segments(), of segments whose first block is damaged. */
static int read_heads(struct walk *w)
{
	struct wal_found *f = w->found;
	int rc = 0;

	if (f->n == 0)
		return 0;
	w->heads = calloc(f->n, sizeof(*w->heads));
	if (!w->heads)
		return -ENOMEM;
	for (size_t i = 0; i < f->n; i++) {
		rc = open_segment(w, f->numbers[i]);
		w->heads[i] = w->head;
		if (rc == 0 && i && w->heads[i].start < w->heads[i - 1].start)
			rc = damaged(w, 0, "it is older than the one before");
		if (rc < 0)
			f->n = i;
	}
	return rc;
}

static int walk_segments(struct walk *w)
{
	int rc = 0;

	for (size_t i = 0; i < w->found->n && rc == 0; i++)
		rc = walk_result(w, walk_segment(w, i));
	return rc;
}

/* What is missing or damaged is at the end of what is walked: @rc says it. */
static int walk_before(struct walk *w, int rc)
{
	struct why_kept kept;
	int before;

	why_keep(&kept);
	before = walk_segments(w);
	if (before < 0)
		return before;
	why_restore(&kept);
	return rc;
}

/* The ring is missing. That is damage if the log once had one. */
static int no_ring(struct os_dir *dir)
{
	if (!wal_made_read(dir).ring)
		return 0;
	return why(-EUCLEAN, WAL_RING_NAME
		   " of the log is missing, which may hold the last changes; "
		   "restore it or remove " WAL_MADE_NAME " to lose them");
}

static int read_ring(struct os_dir *dir, struct wal_found *f)
{
	int rc = os_read_file(dir, WAL_RING_NAME, RING_MAX, &f->ring);

	/* A ring of another size was not finished. */
	if (f->ring.len % WAL_BLOCK_BYTES)
		f->ring.len = 0;
	return rc == -ENOENT ? no_ring(dir) : rc;
}

/* 1 and *rec, with its payload in @hold; 0 if there is none at @pos. */
static int ring_record(const struct wal_found *f, uint64_t pos,
		       struct buf *hold, struct wal_record *rec)
{
	uint64_t room = f->head.capacity - wal_file_offset(&f->head, pos);
	struct bytes ring = buf_bytes(&f->ring);
	uint8_t head[WAL_RECORD_HEAD];
	uint64_t size;
	int rc;

	wal_ring_copy(ring, pos, sizeof(head), head);
	size = wal_record_peek(head, pos);
	if (size == 0 || size > ring.len || size > room)
		return 0;
	hold->len = 0;
	rc = buf_reserve(hold, (size_t)size);
	if (rc < 0)
		return rc;
	wal_ring_copy(ring, pos, (size_t)size, hold->data);
	return wal_record_decode(hold->data, (size_t)size, f->head.id, pos,
				 rec);
}

/* As look_behind(), for records in the ring. */
static int ring_look_behind(const struct wal_found *f, struct buf *hold)
{
	uint64_t limit = f->head.start + f->head.capacity - WAL_BLOCK_BYTES;
	struct bytes ring = buf_bytes(&f->ring);
	uint8_t head[WAL_RECORD_HEAD];
	struct wal_record rec;
	int rc;

	for (uint64_t at = 0; at < ring.len; at += WAL_ALIGN) {
		uint64_t pos;

		wal_ring_copy(ring, at, sizeof(head), head);
		pos = wal_record_claim(head, f->end + 1);
		if (pos >= limit || pos % ring.len != at)
			continue;
		rc = ring_record(f, pos, hold, &rec);
		if (rc < 0 || (rc && rec.synced > f->end))
			return rc;
	}
	return 0;
}

static int walk_ring(struct walk *w)
{
	struct wal_found *f = w->found;
	struct wal_record rec;
	struct buf hold = {0};
	int rc;

	/*
	 * A segment that was cut off at its end does not continue in the ring.
	 */
	if (f->n == 0 || f->file_size != f->head.capacity)
		return 0;
	rc = read_ring(w->dir, f);
	if (rc < 0 || f->ring.len == 0)
		return rc;
	while ((rc = ring_record(f, f->end, &hold, &rec)) > 0) {
		rc = hand_out(w, &rec);
		if (rc < 0)
			break;
		if (f->durable < rec.synced)
			f->durable = rec.synced;
		f->end += rec.size;
	}
	if (rc == 0)
		rc = ring_look_behind(f, &hold);
	if (rc > 0 || (rc == 0 && f->durable > f->in_segment))
		rc = damaged(w, wal_file_offset(&f->head, f->in_segment),
			     record_fails);
	buf_free(&hold);
	return rc;
}

static int walk_log(struct walk *w)
{
	int rc = find_segments(w->dir, w->found), heads = 0;

	/* All first blocks: each segment's end is the start of the next one. */
	if (rc == 0 || !w->say)
		heads = read_heads(w);
	rc = heads < 0 ? heads : rc;
	if (rc == -EUCLEAN && !w->say)
		rc = walk_before(w, rc);
	rc = walk_result(w, rc);
	if (rc == 0 && w->faults == 0)
		rc = walk_segments(w);
	if (rc == 0 && w->faults == 0)
		rc = walk_result(w, walk_ring(w));
	os_close(w->r.file);
	buf_free(&w->r.buf);
	free(w->heads);
	return rc;
}

int wal_replay(struct os_dir *dir, uint64_t first, wal_replay_fn replay,
	       void *arg, struct wal_found *out)
{
	struct walk w = {
		.dir = dir, .found = out, .replay = replay, .arg = arg};

	*out = (struct wal_found){.first = first};
	return walk_log(&w);
}

int wal_check(struct os_dir *dir, uint64_t first_segment,
	      void (*say)(void *arg, const char *sentence), void *arg)
{
	struct wal_found found = {.first = first_segment};
	struct walk w = {.dir = dir, .found = &found, .say = say, .arg = arg};
	int rc = walk_log(&w);

	wal_found_free(&found);
	return rc < 0 ? rc : w.faults;
}

/* Its mark says where it ends, and all records before that are whole. */
static int walk_kept(struct walk *w, uint64_t *at, uint64_t bytes)
{
	uint64_t from = w->head.start, last = w->durable, stop, end;
	int rc;

	if (*at > WAL_BLOCK_BYTES && *at <= wal_file_offset(&w->head, last))
		from += *at - WAL_BLOCK_BYTES;
	stop = last - from > bytes ? from + bytes : last;
	rc = walk_records(w, from, stop, &end);
	if (rc < 0)
		return rc;
	if (end < stop || end > last)
		return damaged(w, wal_file_offset(&w->head, end), record_fails);
	*at = wal_file_offset(&w->head, end);
	return end < last;
}

int wal_kept_check(struct os_dir *dir, const char *name, uint64_t *at,
		   uint64_t bytes)
{
	struct wal_found found = {.n = 0};
	struct walk w = {.dir = dir, .found = &found, .kept = true};
	uint64_t id, number;
	int rc = wal_kept_number(name, &id, &number)
			 ? open_file(&w, name, number)
			 : why(-EINVAL, "%s is no kept segment", name);

	if (rc == 0)
		rc = walk_kept(&w, at, bytes);
	if (rc == -EUCLEAN || rc == -EIO)
		rc = why(-EUCLEAN,
			 "%s; moments from there up to the backup that takes "
			 "it cannot be restored with it; the data itself is "
			 "whole and does not need it",
			 store_why());
	os_close(w.r.file);
	buf_free(&w.r.buf);
	return rc;
}

void wal_found_free(struct wal_found *found)
{
	free(found->numbers);
	found->numbers = NULL;
	buf_free(&found->ring);
}
