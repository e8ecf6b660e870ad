/*
 * Disks that a crash may leave.
 *
 * Walks over the log with three states: the durable disk, the disk as the
 * process saw it, and the entries that are pending between the two. At each
 * point a list of recipes says which pending entries persist and how; an image
 * is the durable disk with a recipe applied.
 */
#include "tests/sim/sim_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALL_UP_TO 7 /* pending entries: all choices, without the option */
#define SECTOR 512
#define CUTS 100 /* of a direct write: more are not tried */
#define TEARS 3	 /* of the write that a killed process was in */

enum variant {
	ABSENT,
	WHOLE,
	HEAD_SECTORS,
	TAIL_SECTORS,
	SOME_SECTORS,
	HEAD_BYTES,
	ZEROS, /* the file grew, and that is all */
	STALE, /* it grew, over what was there on the disk */
	VARIANTS,
	/* And of a direct write: its first 1, 2, ... sectors, or all but them. */
	CUT_HEADS = VARIANTS,
	CUT_TAILS = CUT_HEADS + CUTS,
};

struct list {
	size_t *at; /* indices of log entries, ascending */
	size_t n, cap;
};

struct sim_crash {
	struct sim *sim;
	struct sim_crash_options o;
	struct disk durable, seen;
	struct list data, dirs;
	size_t at; /* entries before it are in the states */
	bool marked[SIM_MARKS];
	uint64_t marks[SIM_MARKS];
	/* Recipes of this point: pending data, then directory entries. */
	uint8_t *recipes;
	size_t nrecipes, recipes_cap, recipe_len, next_recipe;
	unsigned next_kill;
	bool prepared; /* recipes are those of this point */
	uint64_t seed;
	uint64_t *given; /* hashes, open addressing, 0 = free */
	size_t ngiven, given_cap;
	uint64_t images, repeats;
	struct os *image;
};

static void push(struct list *l, size_t at)
{
	if (l->n == l->cap) {
		l->cap = l->cap * 2 + 16;
		l->at = sim_alloc(l->at, l->cap * sizeof(*l->at));
	}
	l->at[l->n++] = at;
}

/* A change of the size, or of all bytes, is of every byte. */
static bool overlap(const struct sim_entry *a, const struct sim_entry *b)
{
	return a->kind != SIM_WRITE ||
	       (a->off < b->off + b->len && b->off < a->off + a->len);
}

/* Makes pending data of the inode durable, or, with @lost, about half. */
static void settle_data(struct sim_crash *c, uint32_t ino, uint64_t *lost)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->data.n; i++) {
		const struct sim_entry *e = &c->sim->log[c->data.at[i]];

		if (e->ino != ino)
			c->data.at[kept++] = c->data.at[i];
		else if (!lost || sim_chance(lost) & 1)
			sim_apply(&c->durable, e);
	}
	c->data.n = kept;
}

/*
 * Makes the write at the end of the pending data durable. What it lies over the
 * system has written before, so that it cannot come back over it.
 */
static void settle_write(struct sim_crash *c)
{
	const struct sim_entry *w = &c->sim->log[c->data.at[c->data.n - 1]];
	size_t kept = 0;

	for (size_t i = 0; i < c->data.n; i++) {
		const struct sim_entry *e = &c->sim->log[c->data.at[i]];

		if (e->ino != w->ino || !overlap(e, w))
			c->data.at[kept++] = c->data.at[i];
		else
			sim_apply(&c->durable, e);
	}
	c->data.n = kept;
}

static void settle_dir(struct sim_crash *c, uint32_t dir)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->dirs.n; i++) {
		const struct sim_entry *e = &c->sim->log[c->dirs.at[i]];

		if (e->dir != dir)
			c->dirs.at[kept++] = c->dirs.at[i];
		else
			sim_apply(&c->durable, e);
	}
	c->dirs.n = kept;
}

static void step(struct sim_crash *c)
{
	const struct sim_entry *e = &c->sim->log[c->at];
	uint64_t lost = e->value;

	if (sim_is_data(e) || sim_is_dir(e))
		sim_apply(&c->seen, e);
	if (sim_is_data(e)) {
		push(&c->data, c->at);
	} else if (sim_is_dir(e)) {
		push(&c->dirs, c->at);
	} else if (e->kind == SIM_SYNC) {
		settle_data(c, e->ino, NULL);
	} else if (e->kind == SIM_SYNC_WRITE) {
		settle_write(c);
	} else if (e->kind == SIM_LOST_SYNC) {
		settle_data(c, e->ino, &lost);
	} else if (e->kind == SIM_SYNC_DIR) {
		settle_dir(c, e->dir);
	} else if (e->kind == SIM_MARK) {
		c->marked[e->off] = true;
		c->marks[e->off] = e->value;
	}
	c->at++;
	c->prepared = false;
}

static uint8_t *add_recipe(struct sim_crash *c, uint8_t fill)
{
	size_t need = (c->nrecipes + 1) * c->recipe_len;
	uint8_t *r;

	if (need > c->recipes_cap) {
		c->recipes_cap = need * 2 + 256;
		c->recipes = sim_alloc(c->recipes, c->recipes_cap);
	}
	r = c->recipes + c->nrecipes++ * c->recipe_len;
	if (c->recipe_len)
		memset(r, fill, c->recipe_len);
	return r;
}

static uint8_t torn(struct sim_crash *c)
{
	return (uint8_t)(HEAD_SECTORS +
			 sim_chance(&c->seed) % (VARIANTS - HEAD_SECTORS));
}

/* The same once more with the last or any one of what is there torn. */
static void add_torn(struct sim_crash *c, bool last)
{
	size_t from = c->nrecipes - 1, w = c->data.n, i, n = 0, pick;
	uint8_t *r = add_recipe(c, ABSENT);

	memcpy(r, c->recipes + from * c->recipe_len, c->recipe_len);
	for (i = 0; i < w; i++)
		n += r[i] != ABSENT;
	if (n == 0) {
		c->nrecipes--;
		return;
	}
	pick = last ? n - 1 : sim_chance(&c->seed) % n;
	for (i = 0; i < w; i++)
		if (r[i] != ABSENT && pick-- == 0)
			break;
	r[i] = torn(c);
}

static void all_choices(struct sim_crash *c)
{
	size_t n = c->recipe_len;

	for (size_t set = 0; set < (size_t)1 << n; set++) {
		uint8_t *r = add_recipe(c, ABSENT);

		for (size_t i = 0; i < n; i++)
			r[i] = set >> i & 1 ? WHOLE : ABSENT;
		add_torn(c, true);
		/* add_torn() looks at the one before: put that again. */
		r = add_recipe(c, ABSENT);
		for (size_t i = 0; i < n; i++)
			r[i] = set >> i & 1 ? WHOLE : ABSENT;
		add_torn(c, false);
	}
}

/* The latest ones and some others: where a corner of this sort is cut. */
static size_t pick_corner(struct sim_crash *c, unsigned k)
{
	size_t n = c->recipe_len;

	if (n <= c->o.corners)
		return k % n;
	if (k < c->o.corners / 2)
		return n - 1 - k;
	return sim_chance(&c->seed) % n;
}

/* Every subset of the directory entries, with all data there and with none. */
static void dir_choices(struct sim_crash *c)
{
	for (size_t set = 0; set < (size_t)1 << c->dirs.n; set++)
		for (unsigned there = 0; there < 2; there++) {
			uint8_t *r = add_recipe(c, there ? WHOLE : ABSENT);

			for (size_t i = 0; i < c->dirs.n; i++)
				r[c->data.n + i] =
					set >> i & 1 ? WHOLE : ABSENT;
		}
}

/* A write that is durable when it returns, torn at every sector. */
static void cut_choices(struct sim_crash *c)
{
	const struct sim_entry *e;
	size_t sectors, last = c->data.n - 1;

	if (c->data.n == 0 || c->at >= c->sim->nlog ||
	    c->sim->log[c->at].kind != SIM_SYNC_WRITE)
		return;
	e = &c->sim->log[c->data.at[last]];
	sectors = (e->off + e->len - 1) / SECTOR - e->off / SECTOR;
	for (size_t i = 0; i < sectors && i < CUTS; i++)
		for (unsigned there = 0; there < 2; there++) {
			uint8_t fill = there ? WHOLE : ABSENT;

			add_recipe(c, fill)[last] = (uint8_t)(CUT_HEADS + i);
			add_recipe(c, fill)[last] = (uint8_t)(CUT_TAILS + i);
		}
}

/* Mostly there, mostly not, or even. */
static uint8_t *random_choice(struct sim_crash *c)
{
	unsigned odds = 1 + (unsigned)(sim_chance(&c->seed) % 7);
	uint8_t *r = add_recipe(c, ABSENT);

	for (size_t i = 0; i < c->recipe_len; i++)
		if (sim_chance(&c->seed) % 8 < odds)
			r[i] = sim_chance(&c->seed) % 16 ? WHOLE : torn(c);
	return r;
}

static void some_choices(struct sim_crash *c)
{
	size_t n = c->recipe_len;
	uint8_t *r;

	add_recipe(c, ABSENT);
	add_recipe(c, WHOLE);
	add_torn(c, true);
	/* Directory entries are few, and what a missing one does is wide. */
	if (c->dirs.n <= c->o.all)
		dir_choices(c);
	for (size_t i = 0; i < c->dirs.n; i++) {
		add_recipe(c, WHOLE)[c->data.n + i] = ABSENT;
		add_recipe(c, ABSENT)[c->data.n + i] = WHOLE;
	}
	for (unsigned k = 0; k < c->o.corners && k < n; k++) {
		add_recipe(c, WHOLE)[pick_corner(c, k)] = ABSENT;
		add_recipe(c, ABSENT)[pick_corner(c, k)] = WHOLE;
		add_torn(c, true);
		r = add_recipe(c, ABSENT);
		memset(r, WHOLE, pick_corner(c, k) + 1);
		add_torn(c, true);
	}
	for (unsigned k = 0; k < c->o.random; k++)
		random_choice(c);
}

/* Of directory entries only the first ones, as many as were chosen. */
static void order_dirs(struct sim_crash *c)
{
	for (size_t k = 0; k < c->nrecipes; k++) {
		uint8_t *r = c->recipes + k * c->recipe_len + c->data.n;
		size_t n = 0;

		for (size_t i = 0; i < c->dirs.n; i++)
			n += r[i] != ABSENT;
		memset(r, ABSENT, c->dirs.n);
		memset(r, WHOLE, n);
	}
}

static void prepare(struct sim_crash *c)
{
	c->recipe_len = c->data.n + c->dirs.n;
	c->nrecipes = c->next_recipe = 0;
	c->next_kill = 0;
	c->prepared = true;
	/* A point alone is tried as among others. */
	c->seed = c->o.seed + c->at * 0x9e3779b97f4a7c15ull;
	if (c->o.no_power)
		return;
	if (c->recipe_len == 0) {
		/* Nothing is pending: one image, of an empty recipe. */
		c->nrecipes = 1;
		return;
	}
	if (c->recipe_len <= c->o.all)
		all_choices(c);
	else
		some_choices(c);
	cut_choices(c);
	if (c->o.ordered_dirs)
		order_dirs(c);
}

static size_t sector_cut(struct sim_crash *c, const struct sim_entry *e)
{
	size_t first = e->off / SECTOR, last = (e->off + e->len - 1) / SECTOR;
	size_t cut;

	if (first == last)
		return sim_chance(&c->seed) & 1 ? e->len : 0;
	cut = (first + 1 + sim_chance(&c->seed) % (last - first)) * SECTOR;
	return cut - e->off;
}

static void write_sectors(struct sim_crash *c, struct disk *d,
			  const struct sim_entry *e)
{
	for (size_t at = 0, n; at < e->len; at += n) {
		n = SECTOR - (e->off + at) % SECTOR;
		if (n > e->len - at)
			n = e->len - at;
		if (sim_chance(&c->seed) & 1)
			disk_write(d, e->ino, e->off + at, e->data + at, n);
	}
}

static void grow(struct disk *d, const struct sim_entry *e, bool stale)
{
	size_t had = disk_size(d, e->ino), size = e->off + e->len;
	uint8_t junk[256];

	if (size <= had)
		return;
	disk_resize(d, e->ino, size);
	memset(junk, 0xde, sizeof(junk));
	for (size_t at = had, n; stale && at < size; at += n) {
		n = size - at < sizeof(junk) ? size - at : sizeof(junk);
		disk_write(d, e->ino, at, junk, n);
	}
}

static void apply_cut(struct disk *d, const struct sim_entry *e, unsigned v)
{
	bool head = v < CUT_TAILS;
	size_t k = v - (head ? CUT_HEADS : CUT_TAILS);
	size_t at = (e->off / SECTOR + 1 + k) * SECTOR - e->off;

	if (head)
		disk_write(d, e->ino, e->off, e->data, at);
	else
		disk_write(d, e->ino, e->off + at, e->data + at, e->len - at);
}

static void apply_variant(struct sim_crash *c, struct disk *d,
			  const struct sim_entry *e, enum variant v)
{
	size_t cut;

	if (v == ABSENT)
		return;
	if (v == WHOLE || e->kind != SIM_WRITE) {
		sim_apply(d, e);
		return;
	}
	disk_need_inode(d, e->ino);
	if (v >= CUT_HEADS) {
		apply_cut(d, e, (unsigned)v);
		return;
	}
	switch (v) {
	case HEAD_SECTORS:
		disk_write(d, e->ino, e->off, e->data, sector_cut(c, e));
		break;
	case TAIL_SECTORS:
		cut = sector_cut(c, e);
		disk_write(d, e->ino, e->off + cut, e->data + cut,
			   e->len - cut);
		break;
	case SOME_SECTORS:
		write_sectors(c, d, e);
		break;
	case HEAD_BYTES:
		disk_write(d, e->ino, e->off, e->data,
			   sim_chance(&c->seed) % (e->len + 1));
		break;
	default:
		grow(d, e, v == STALE);
		break;
	}
}

static void describe(const struct sim_crash *c, const uint8_t *recipe,
		     char *out, size_t n)
{
	static const char letter[] = ".*<>?bzj";
	size_t used;

	used = (size_t)snprintf(out, n, "seed %llu entry %zu/%zu power ",
				(unsigned long long)c->o.seed, c->at,
				c->sim->nlog);
	for (size_t i = 0; i < c->recipe_len && used + 2 < n; i++) {
		if (i == c->data.n)
			out[used++] = '|';
		out[used++] = recipe[i] < VARIANTS ? letter[recipe[i]] : '#';
	}
	out[used] = '\0';
}

static void power_image(struct sim_crash *c, const uint8_t *recipe,
			struct disk *d, struct sim_image *out)
{
	struct disk whole;

	disk_copy(&whole, &c->durable);
	for (size_t i = 0; i < c->data.n; i++)
		apply_variant(c, &whole, &c->sim->log[c->data.at[i]],
			      recipe[i]);
	for (size_t i = 0; i < c->dirs.n; i++)
		if (recipe[c->data.n + i] != ABSENT)
			sim_apply(&whole, &c->sim->log[c->dirs.at[i]]);
	disk_copy_named(d, &whole);
	disk_free(&whole);
	out->killed = false;
	describe(c, recipe, out->how, sizeof(out->how));
}

/* All is there; from the second on also a part of the next write. */
static bool kill_image(struct sim_crash *c, struct disk *d,
		       struct sim_image *out)
{
	const struct sim_entry *e =
		c->at < c->sim->nlog ? &c->sim->log[c->at] : NULL;
	size_t cut = 0;
	struct disk whole;

	if (c->next_kill > 0) {
		if (c->next_kill > TEARS || !e || e->kind != SIM_WRITE ||
		    e->len < 2)
			return false;
		cut = 1 + sim_chance(&c->seed) % (e->len - 1);
	}
	c->next_kill++;
	disk_copy(&whole, &c->seen);
	if (cut)
		disk_write(&whole, e->ino, e->off, e->data, cut);
	disk_copy_named(d, &whole);
	disk_free(&whole);
	out->killed = true;
	snprintf(out->how, sizeof(out->how),
		 "seed %llu entry %zu/%zu kill, %zu bytes of the next write",
		 (unsigned long long)c->o.seed, c->at, c->sim->nlog, cut);
	return true;
}

static bool add_hash(uint64_t *set, size_t cap, uint64_t h)
{
	size_t i = (size_t)(h * 0x9e3779b97f4a7c15ull) & (cap - 1);

	for (; set[i]; i = (i + 1) & (cap - 1))
		if (set[i] == h)
			return false;
	set[i] = h;
	return true;
}

/*
 * The marks count as part of the image: what was acknowledged decides what it
 * has to hold.
 */
static bool is_new(struct sim_crash *c, const struct disk *d,
		   struct sim_image *m)
{
	uint64_t h = m->hash = disk_hash(d);

	h ^= m->killed ? 0x9e3779b97f4a7c15ull : 0;

	for (unsigned i = 0; i < SIM_MARKS; i++)
		if (m->marked[i])
			h = (h ^ m->marks[i]) * 0x100000001b3ull + i;
	h |= 1;
	if (c->ngiven * 2 >= c->given_cap) {
		size_t cap = c->given_cap ? c->given_cap * 2 : 1024;
		uint64_t *set = sim_alloc(NULL, cap * sizeof(*set));

		memset(set, 0, cap * sizeof(*set));
		for (size_t i = 0; i < c->given_cap; i++)
			if (c->given[i])
				add_hash(set, cap, c->given[i]);
		free(c->given);
		c->given = set;
		c->given_cap = cap;
	}
	if (!add_hash(c->given, c->given_cap, h))
		return false;
	c->ngiven++;
	return true;
}

/* The next one of this point, seen before or not. */
static bool make(struct sim_crash *c, struct disk *d, struct sim_image *out)
{
	if (!c->prepared)
		prepare(c);
	if (!c->o.no_kill && kill_image(c, d, out))
		return true;
	if (c->next_recipe == c->nrecipes)
		return false;
	power_image(c, c->recipes + c->next_recipe++ * c->recipe_len, d, out);
	return true;
}

static bool is_point(const struct sim_crash *c)
{
	return c->at >= c->o.from &&
	       (c->o.step < 2 || (c->at - c->o.from) % c->o.step == 0);
}

int sim_crash_next(struct sim_crash *c, struct sim_image *out)
{
	struct sim_image m = {0};
	struct disk d;

	sim_free(c->image);
	c->image = NULL;
	for (;;) {
		if (!is_point(c) || !make(c, &d, &m)) {
			if (c->at >= c->o.to || c->at >= c->sim->nlog)
				return 0;
			step(c);
			continue;
		}
		m.at = c->at;
		memcpy(m.marked, c->marked, sizeof(m.marked));
		memcpy(m.marks, c->marks, sizeof(m.marks));
		if (is_new(c, &d, &m))
			break;
		c->repeats++;
		disk_free(&d);
	}
	c->images++;
	c->image = sim_from(c->sim, &d, c->o.seed ^ m.hash);
	m.os = c->image;
	*out = m;
	return 1;
}

struct sim_crash *sim_crash_new(struct os *os,
				const struct sim_crash_options *o)
{
	struct sim_crash *c = sim_alloc(NULL, sizeof(*c));
	struct sim *s = sim_of(os);

	*c = (struct sim_crash){.sim = s};
	if (o)
		c->o = *o;
	if (c->o.to == 0 || c->o.to > s->nlog)
		c->o.to = s->nlog;
	if (c->o.random == 0)
		c->o.random = 32;
	if (c->o.corners == 0)
		c->o.corners = 12;
	if (c->o.all == 0)
		c->o.all = ALL_UP_TO;
	disk_copy(&c->durable, &s->start);
	disk_copy(&c->seen, &s->start);
	return c;
}

void sim_crash_free(struct sim_crash *c)
{
	sim_free(c->image);
	disk_free(&c->durable);
	disk_free(&c->seen);
	free(c->data.at);
	free(c->dirs.at);
	free(c->recipes);
	free(c->given);
	free(c);
}

uint64_t sim_crash_images(const struct sim_crash *c)
{
	return c->images;
}

uint64_t sim_crash_repeats(const struct sim_crash *c)
{
	return c->repeats;
}

/* With @seed a random part of what is pending. Others may be writing. */
static struct os *after_power(struct os *os, const uint64_t *seed)
{
	struct sim_crash_options o = {.seed = seed ? *seed : 0};
	struct sim *s = sim_of(os);
	struct sim_image how;
	struct sim_crash *c;
	struct os *copy;
	struct disk d;

	pthread_mutex_lock(&s->lock);
	c = sim_crash_new(os, &o);
	while (c->at < s->nlog)
		step(c);
	c->recipe_len = c->data.n + c->dirs.n;
	power_image(c, seed ? random_choice(c) : add_recipe(c, ABSENT), &d,
		    &how);
	copy = sim_from(s, &d, s->seed ^ 0x706f776572);
	sim_crash_free(c);
	pthread_mutex_unlock(&s->lock);
	return copy;
}

struct os *sim_after_power_loss(struct os *os)
{
	return after_power(os, NULL);
}

struct os *sim_after_power_cut(struct os *os, uint64_t seed)
{
	return after_power(os, &seed);
}
