#include "tests/model/step.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <xxhash.h>

#define KEY_SHOWN_MAX 64

void say(struct buf *out, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (buf_reserve(out, 512) < 0)
		abort();
	va_start(ap, fmt);
	n = vsnprintf((char *)out->data + out->len, 512, fmt, ap);
	va_end(ap);
	out->len += n < 512 ? (size_t)n : 511;
}

void say_text(struct buf *out, const char *text)
{
	if (buf_append(out, text, strlen(text)) < 0)
		abort();
}

void say_number(struct buf *out, int64_t n)
{
	uint64_t rest = n < 0 ? -(uint64_t)n : (uint64_t)n;
	char digits[24], *p = digits + sizeof(digits);

	*--p = '\0';
	do
		*--p = (char)('0' + rest % 10);
	while (rest /= 10);
	if (n < 0)
		*--p = '-';
	say_text(out, p);
}

void say_key(struct buf *out, struct bytes key)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t n = key.len < KEY_SHOWN_MAX ? key.len : KEY_SHOWN_MAX;
	char text[3 * KEY_SHOWN_MAX + 3], *p = text;

	*p++ = '\'';
	for (size_t i = 0; i < n; i++) {
		uint8_t b = key.data[i];

		if (b > ' ' && b < 0x7f && b != '%' && b != '\'') {
			*p++ = (char)b;
			continue;
		}
		*p++ = '%';
		*p++ = hex[b >> 4];
		*p++ = hex[b & 15];
	}
	*p++ = '\'';
	*p = '\0';
	say_text(out, text);
	/* The length and the hash tell a key that is cut from others. */
	if (key.len > n)
		say(out, "[%zu %llx]", key.len,
		    (unsigned long long)XXH3_64bits(key.data, key.len));
}

static void say_lines(struct buf *out, const struct buf *b, size_t line)
{
	const char *p = (const char *)b->data, *end = p + b->len;

	for (size_t i = 0; p < end && i < line + 6; i++) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((nl ? nl + 1 : end) - p);

		if (i + 6 >= line && buf_append(out, p, n) < 0)
			abort();
		p += n;
	}
}

void say_difference(struct buf *out, const struct buf *store,
		    const struct buf *reference)
{
	size_t line = 0;

	for (size_t i = 0; i < store->len && i < reference->len; i++) {
		if (store->data[i] != reference->data[i])
			break;
		line += store->data[i] == '\n';
	}
	say(out, "---- the store, line %zu\n", line);
	say_lines(out, store, line);
	say(out, "---- the reference, line %zu\n", line);
	say_lines(out, reference, line);
}

uint64_t step_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

struct step_mode step_mode_of(uint64_t seed, bool classic)
{
	uint64_t random = seed * 77 + 5;

	struct step_mode mode = {
		.ttl = step_below(&random, 2),
		.raw = step_below(&random, 4) == 0,
		.classic = classic,
		.tables = step_below(&random, 3) == 0,
		.snapshots = step_below(&random, 2),
		.tiny = step_below(&random, 3) > 0,
		.sync = step_below(&random, 8) == 0,
		.narrow = step_below(&random, 3) == 0,
		/* A major compaction shows in classic order, and a snapshot
		 * holds it back. */
		.named = !classic && step_below(&random, 2),
		.past = step_below(&random, 3) == 0,
	};
	if (step_below(&random, 3) == 0)
		mode.keep = (uint8_t)(1 + step_below(&random, 2));
	mode.large = step_below(&random, 3) == 0;
	return mode;
}

struct bytes step_row(unsigned i)
{
	/* One is the prefix of the next. */
	static const char rows[STEP_ROWS][3] = {"a", "a\0", "b"};
	static const size_t lens[STEP_ROWS] = {1, 2, 1};

	return bytes_of(rows[i % STEP_ROWS], lens[i % STEP_ROWS]);
}

struct bytes step_family(unsigned i)
{
	return bytes_str(i % STEP_FAMILIES ? "g" : "f");
}

struct bytes step_qualifier(unsigned i)
{
	static const char *const names[STEP_QUALIFIERS] = {"", "p", "q"};

	return bytes_str(names[i % STEP_QUALIFIERS]);
}

int64_t step_ts(unsigned i, int64_t now)
{
	if (i == STEP_TS_AUTO)
		return TS_AUTO;
	if (i == STEP_TS_CLOCK)
		return TS_CLOCK;
	/* Coarse, so that a clock that moves meets them again. */
	now = (now & ~3) + ((int64_t)i - STEP_TS_FIRST - 2) * 4;
	return now < 0 ? 0 : now;
}

uint64_t step_ttl(unsigned i)
{
	static const uint64_t ttls[] = {TTL_FOREVER, 6, 15, 40};

	return ttls[i % 4];
}

/* What a value is filled up to, of blocks of 1024 bytes. */
static size_t length_of(enum step_value kind, uint32_t id)
{
	switch (kind) {
	case VALUE_LONG:
		return 100 + id % 400;
	case VALUE_LARGE:
		return 600 + id % 1500;
	default:
		return 0;
	}
}

int step_value(struct buf *b, enum step_value kind, uint32_t id, unsigned k)
{
	uint8_t bytes[3000] = {0};
	size_t n = 0;

	switch (kind) {
	case VALUE_EMPTY:
		break;
	case VALUE_X:
	case VALUE_Y:
		bytes[n++] = kind == VALUE_X ? 'x' : 'y';
		break;
	case VALUE_COUNTER:
		n = 8;
		bytes[7] = (uint8_t)(id + k);
		break;
	default:
		n = (size_t)snprintf((char *)bytes, sizeof(bytes), "v%u.%u", id,
				     k);
		for (size_t end = length_of(kind, id); n < end; n++)
			bytes[n] = (uint8_t)(id * 7 + n * k + n / 16);
	}
	b->len = 0;
	return buf_append(b, bytes, n);
}

static void make_change(uint64_t *random, const struct step_mode *mode,
			struct step_change *c)
{
	static const uint8_t ops[] = {
		CHANGE_PUT,
		CHANGE_PUT,
		CHANGE_PUT,
		CHANGE_PUT,
		CHANGE_PUT,
		CHANGE_PUT,
		CHANGE_PUT,
		CHANGE_PUT,
		CHANGE_PUT,
		CHANGE_DELETE,
		CHANGE_DELETE,
		CHANGE_DELETE_COLUMN,
		CHANGE_DELETE_COLUMN,
		CHANGE_DELETE_FAMILY,
		CHANGE_DELETE_FAMILY_VERSION,
		CHANGE_DELETE_ROW,
		CHANGE_INCREMENT,
		CHANGE_APPEND,
	};

	c->op = ops[step_below(random, sizeof(ops))];
	c->family = (uint8_t)step_below(random, STEP_FAMILIES);
	c->qualifier = (uint8_t)step_below(random, STEP_QUALIFIERS);
	c->ts = step_below(random, 2)
			? STEP_TS_AUTO
			: (uint8_t)step_below(random, STEP_TS_LAST + 1);
	c->ttl = mode->ttl && step_below(random, 6) == 0
			 ? (uint8_t)(1 + step_below(random, 3))
			 : 0;
	c->value = (uint8_t)step_below(random, VALUE_KINDS);
	if (mode->large && step_below(random, 2))
		c->value = VALUE_LARGE;
	c->delta = (int8_t)((int)step_below(random, 7) - 3);
}

static void make_check(uint64_t *random, struct step_check *c)
{
	c->op = (uint8_t)step_below(random, CHECKS);
	c->family = (uint8_t)step_below(random, STEP_FAMILIES);
	c->qualifier = (uint8_t)step_below(random, STEP_QUALIFIERS);
	c->ts = (uint8_t)(STEP_TS_FIRST + step_below(random, 5));
	c->value = (uint8_t)step_below(random, VALUE_Y + 1);
}

/* An end that is open half of the time. */
static uint8_t make_end(uint64_t *random, unsigned n)
{
	return (uint8_t)(step_below(random, 2) ? 0 : 1 + step_below(random, n));
}

static void make_scan(uint64_t *random, const struct step_mode *mode,
		      struct step_scan *c)
{
	c->granularity = (uint8_t)step_below(random, 4);
	c->start = make_end(random, STEP_ROWS);
	c->stop = make_end(random, STEP_ROWS);
	c->start_exclusive = step_below(random, 2);
	c->stop_inclusive = step_below(random, 2);
	c->reversed = step_below(random, 3) == 0;
	c->raw = mode->raw && step_below(random, 2);
	c->keys_only = step_below(random, 3) == 0;
	if (!c->raw && mode->past && step_below(random, 3) == 0)
		c->as_of = (uint8_t)(1 + step_below(random, 5));
	if (c->raw) {
		c->granularity = SCAN_CELLS;
		return;
	}
	if (step_below(random, 3) == 0) {
		c->qual_start = make_end(random, STEP_QUALIFIERS);
		c->qual_stop = make_end(random, STEP_QUALIFIERS);
		c->qual_exclusive = step_below(random, 2);
		c->qual_inclusive = step_below(random, 2);
	}
	c->columns = step_below(random, 3) ? 0 : (uint8_t)step_below(random, 3);
	c->column[0] = (uint8_t)step_below(random, 8);
	c->column[1] = (uint8_t)step_below(random, 8);
	if (step_below(random, 3) == 0) {
		c->ts_min = make_end(random, 5);
		c->ts_max = make_end(random, 5);
	}
	c->versions = (uint8_t)step_below(random, 4);
	c->limit = step_below(random, 4) ? 0
					 : (uint8_t)(1 + step_below(random, 2));
	if (step_below(random, 4) == 0) {
		c->range_family =
			(uint8_t)(1 + step_below(random, STEP_FAMILIES));
		c->range_min = make_end(random, 5);
		c->range_max = make_end(random, 5);
	}
	/* Which of the rows that cannot be told would count is the store's. */
	if (c->as_of) {
		c->limit = 0;
		return;
	}
	if (step_below(random, 3) == 0) {
		c->granularity = SCAN_COLUMNS + (uint8_t)step_below(random, 2);
		c->filter = (uint32_t)(1 + step_below(random, INT32_MAX));
	}
	if (c->granularity >= SCAN_COLUMNS && step_below(random, 4) == 0) {
		c->family_limit = (uint8_t)step_below(random, 4);
		c->family_offset = (uint8_t)step_below(random, 3);
	}
}

/* They are taken more often than anything is done with them. */
static uint8_t make_named(uint64_t *random, const struct step_mode *mode)
{
	unsigned n = step_below(random, mode->past ? 8 : 10);

	return (uint8_t)(n < 5 ? STEP_NAMED : STEP_NAMED_DROP + n - 5);
}

static uint8_t make_kind(uint64_t *random, const struct step_mode *mode)
{
	unsigned n = step_below(random, 1000);

	if (n < 400)
		return STEP_MUTATE;
	if (n < 440)
		return mode->named ? make_named(random, mode) : STEP_MUTATE;
	if (n < 450)
		return STEP_MANY;
	if (n < 700)
		return STEP_SCAN;
	if (n < 770)
		return STEP_GET;
	if (n < 790)
		return STEP_HOLD;
	if (n < 810)
		return STEP_DRAIN;
	if (n < 830)
		return STEP_DUMP;
	if (n < 870)
		return STEP_FLUSH;
	/* In classic order it shows in what is kept of the deleted, or was. */
	if (n < 885)
		return mode->classic && (mode->keep || mode->past)
			       ? STEP_FLUSH
			       : STEP_COMPACT;
	if (n < 890)
		return STEP_SYNC;
	if (n < 900)
		return STEP_REOPEN;
	if (n < 910)
		return STEP_DIE;
	if (n < 940)
		return STEP_CLOCK;
	if (n < 960)
		return mode->snapshots ? STEP_SNAPSHOT : STEP_MUTATE;
	if (n < 970)
		return mode->snapshots ? STEP_RELEASE : STEP_MUTATE;
	if (n < 985)
		return mode->past || mode->keep ? STEP_MUTATE : STEP_ALTER;
	if (!mode->tables)
		return STEP_MUTATE;
	return (uint8_t)(STEP_CREATE + step_below(random, 6));
}

void step_make(uint64_t *random, const struct step_mode *mode, uint32_t id,
	       struct step *s)
{
	*s = (struct step){.id = id, .kind = make_kind(random, mode)};
	s->table = step_below(random, 4) == 0;
	s->row = (uint8_t)step_below(random, STEP_ROWS);
	s->family = (uint8_t)step_below(random, STEP_FAMILIES);
	s->flags = mode->sync || step_below(random, 10) == 0 ? MUTATE_SYNC : 0;
	s->snapshot =
		(mode->snapshots || mode->named) && step_below(random, 3) == 0
			? (uint8_t)(1 + step_below(random, STEP_SNAPSHOTS))
			: 0;
	s->nchanges = (uint8_t)(step_below(random, 2)
					? 1
					: 1 + step_below(random, STEP_CHANGES));
	s->nchecks = step_below(random, 5)
			     ? 0
			     : (uint8_t)(1 + step_below(random, 2));
	for (unsigned i = 0; i < s->nchanges; i++)
		make_change(random, mode, &s->changes[i]);
	/*
	 * A row delete is a marker in each family, and tells one timestamp
	 * only: what it does to changes in front of it cannot be compared, nor
	 * what it does as of a moment.
	 */
	for (unsigned i = !mode->past; i < s->nchanges; i++)
		if (s->changes[i].op == CHANGE_DELETE_ROW &&
		    s->changes[i].ts == STEP_TS_AUTO)
			s->changes[i].ts = STEP_TS_CLOCK;
	for (unsigned i = 0; i < s->nchecks; i++)
		make_check(random, &s->checks[i]);
	make_scan(random, mode, &s->scan);
	/* A refusal would come in two parts. */
	if (s->kind == STEP_HOLD)
		s->scan.as_of = 0;
	s->clock = (int8_t)(1 + step_below(random, 9));
	if (!mode->ttl && step_below(random, 3) == 0)
		s->clock = (int8_t)-s->clock;
	s->versions = (uint8_t)(1 + step_below(random, 4));
	s->min_versions =
		step_below(random, 3) ? 0 : (uint8_t)step_below(random, 3);
	s->ttl = mode->ttl ? (uint8_t)step_below(random, 4) : 0;
}

static const char *op_name(uint8_t op)
{
	switch (op) {
	case CHANGE_DELETE_ROW:
		return "delete-row";
	case CHANGE_INCREMENT:
		return "increment";
	case CHANGE_APPEND:
		return "append";
	}
	return kind_name(op);
}

static void format_ts(struct buf *out, unsigned i)
{
	if (i == STEP_TS_AUTO)
		say(out, " @auto");
	else if (i == STEP_TS_CLOCK)
		say(out, " @clock");
	else
		say(out, " @now%+d", ((int)i - STEP_TS_FIRST - 2) * 4);
}

static void format_mutation(const struct step *s, struct buf *out)
{
	static const char *const checks[] = {
		"absent",	    "present",
		"newest-ts",	    "version-absent",
		"version-present",  "equal",
		"not-equal",	    "less",
		"less-or-equal",    "greater",
		"greater-or-equal", "version-equal"};

	for (unsigned i = 0; i < s->nchecks; i++) {
		const struct step_check *c = &s->checks[i];

		say(out, " if %s %s:%.2s", checks[c->op], c->family ? "g" : "f",
		    (const char *)step_qualifier(c->qualifier).data);
		format_ts(out, c->ts);
		say(out, " value %u", c->value);
	}
	for (unsigned i = 0; i < s->nchanges; i++) {
		const struct step_change *c = &s->changes[i];

		say(out, "%s %s %s:%.2s", i ? "," : "", op_name(c->op),
		    c->family ? "g" : "f",
		    (const char *)step_qualifier(c->qualifier).data);
		format_ts(out, c->ts);
		if (c->ttl)
			say(out, " ttl %llu",
			    (unsigned long long)step_ttl(c->ttl));
		say(out, " value %u delta %d", c->value, c->delta);
	}
}

static void format_scan(const struct step_scan *c, struct buf *out)
{
	static const char *const names[] = {"rows", "families", "columns",
					    "cells"};

	say(out, " %s", names[c->granularity & 3]);
	if (c->start)
		say(out, " from row %u%s", c->start - 1,
		    c->start_exclusive ? " exclusive" : "");
	if (c->stop)
		say(out, " to row %u%s", c->stop - 1,
		    c->stop_inclusive ? " inclusive" : "");
	say(out, "%s%s%s", c->reversed ? " reversed" : "", c->raw ? " raw" : "",
	    c->keys_only ? " keys_only" : "");
	if (c->qual_start || c->qual_stop)
		say(out, " qualifiers %d%s..%d%s", c->qual_start - 1,
		    c->qual_exclusive ? " exclusive" : "", c->qual_stop - 1,
		    c->qual_inclusive ? " inclusive" : "");
	for (unsigned i = 0; i < c->columns; i++)
		say(out, " column %u", c->column[i]);
	if (c->ts_min || c->ts_max)
		say(out, " ts %d..%d", c->ts_min ? c->ts_min * 4 - 12 : -1,
		    c->ts_max ? c->ts_max * 4 - 12 : -1);
	say(out, " versions %u limit %u", c->versions, c->limit);
	if (c->range_family)
		say(out, " family %u ts %d..%d", c->range_family - 1,
		    c->range_min ? c->range_min * 4 - 12 : -1,
		    c->range_max ? c->range_max * 4 - 12 : -1);
	if (c->family_limit || c->family_offset)
		say(out, " of a family %u behind %u", c->family_limit,
		    c->family_offset);
	if (c->as_of)
		say(out, " as of now%+d", c->as_of * 4 - 12);
	if (c->filter) {
		say(out, " filter ");
		step_filter(out, c->filter, 1000);
	}
}

void step_format(const struct step *s, struct buf *out)
{
	static const char *const names[] = {
		"mutate",	"many",	       "scan",	  "get",
		"hold",		"drain",       "dump",	  "flush",
		"compact",	"sync",	       "reopen",  "die",
		"clock",	"snapshot",    "release", "alter",
		"create",	"drop",	       "rename",  "family-add",
		"truncate",	"family-drop", "named",	  "named-drop",
		"named-rename", "named-open",  "restore", "clone"};

	say(out, "%5u %s t%u row %u", s->id, names[s->kind], s->table, s->row);
	switch (s->kind) {
	case STEP_MUTATE:
	case STEP_MANY:
		if (s->flags & MUTATE_SYNC)
			say(out, " sync");
		format_mutation(s, out);
		break;
	case STEP_SCAN:
	case STEP_HOLD:
		say(out, " snapshot %u", s->snapshot);
		format_scan(&s->scan, out);
		break;
	case STEP_GET:
		say(out, " snapshot %u %s:%.2s", s->snapshot,
		    s->changes[0].family ? "g" : "f",
		    (const char *)step_qualifier(s->changes[0].qualifier).data);
		format_ts(out, s->changes[0].ts);
		break;
	case STEP_CLOCK:
		say(out, " %+d", s->clock);
		break;
	case STEP_ALTER:
		say(out, " family %u versions %u min_versions %u ttl %llu",
		    s->family, s->versions, s->min_versions,
		    (unsigned long long)step_ttl(s->ttl));
		break;
	default:
		say(out, " family %u snapshot %u", s->family, s->snapshot);
	}
	say(out, "\n");
}
