/*
 * The text form of a schema.
 *
 * One table of words gives what may stand in a family, how it is read and how
 * it is written; the parser walks lines, the formatter walks the table. A
 * family's name escapes what the form needs itself (blank, '#', '%') as %HH.
 */
#include "store/value/schema.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "store/value/why.h"

struct unit {
	const char *name;
	uint64_t size;
};

/* Largest first: the canonical text uses the first unit that divides. */
static const struct unit time_units[] = {
	{"d", 86400000}, {"h", 3600000}, {"m", 60000},
	{"s", 1000},	 {"ms", 1},	 {NULL, 0},
};
static const struct unit size_units[] = {
	{"GiB", 1u << 30}, {"MiB", 1u << 20}, {"KiB", 1u << 10},
	{"", 1},	   {"B", 1},	      {NULL, 0},
};

static const char *const keep_words[] = {"no", "yes", "ttl", NULL};
static const char *const compression_words[] = {"none", "zlib", NULL};
static const char *const bloom_words[] = {"none", "row", "rowcol", NULL};
static const char *const bool_words[] = {"no", "yes", NULL};

struct attr {
	const char *word;
	size_t offset; /* in struct family_attrs */
	uint8_t size;
	const char *const *words; /* for a choice: its values */
	const struct unit *units; /* for a number: its units */
	const char *always;	  /* the word for the largest number */
	const char *expected;	  /* for error texts */
};

#define FIELD(f) \
	offsetof(struct family_attrs, f), sizeof(((struct family_attrs *)0)->f)

/* In the order of the canonical text. */
static const struct attr attrs[] = {
	{"versions", FIELD(versions), NULL, NULL, "all",
	 "a number from 1 on, or all"},
	{"min_versions", FIELD(min_versions), NULL, NULL, "all",
	 "a number, at most versions"},
	{"ttl", FIELD(ttl_ms), NULL, time_units, "forever",
	 "a time such as 500ms, 90s, 15m, 12h, 7d, or forever"},
	{"keep_deleted", FIELD(keep_deleted), keep_words, NULL, NULL,
	 "no, yes or ttl"},
	{"compression", FIELD(compression), compression_words, NULL, NULL,
	 "none or zlib"},
	{"bloom", FIELD(bloom), bloom_words, NULL, NULL, "none, row or rowcol"},
	{"block_size", FIELD(block_size), NULL, size_units, NULL,
	 "a size from 1KiB to 16MiB"},
	{"block_cache", FIELD(block_cache), bool_words, NULL, NULL,
	 "no or yes"},
	{"in_memory", FIELD(in_memory), bool_words, NULL, NULL, "no or yes"},
	{"new_version_behavior", FIELD(new_version_behavior), bool_words, NULL,
	 NULL, "no or yes"},
	{"max_value", FIELD(max_value), NULL, size_units, NULL,
	 "a size such as 10MiB, at most 256MiB"},
};

#define ATTRS (sizeof(attrs) / sizeof(attrs[0]))
#define ATTR_WORDS                                                        \
	"versions, min_versions, ttl, keep_deleted, compression, bloom, " \
	"block_size, block_cache, in_memory, new_version_behavior, max_value"
#define TABLE_WORDS "families, mode, uid, gid, quota, family, drop"

static uint64_t field_max(const struct attr *a)
{
	return a->size == 8 ? UINT64_MAX : (1ull << (8 * a->size)) - 1;
}

static uint64_t field_get(const struct attr *a, const struct family_attrs *f)
{
	const uint8_t *p = (const uint8_t *)f + a->offset;
	uint32_t n;
	uint64_t v;

	if (a->size == 1)
		return *p;
	if (a->size == 4) {
		memcpy(&n, p, sizeof(n));
		return n;
	}
	memcpy(&v, p, sizeof(v));
	return v;
}

static void field_set(const struct attr *a, struct family_attrs *f, uint64_t v)
{
	uint8_t *p = (uint8_t *)f + a->offset;
	uint32_t n = (uint32_t)v;

	if (a->size == 1)
		*p = (uint8_t)v;
	else if (a->size == 4)
		memcpy(p, &n, sizeof(n));
	else
		memcpy(p, &v, sizeof(v));
}

bool family_attr_get(const struct family_attrs *f, unsigned i,
		     struct family_attr *out)
{
	const struct attr *a = &attrs[i];
	uint64_t v;

	if (i >= ATTRS)
		return false;
	v = field_get(a, f);
	*out = (struct family_attr){.word = a->word, .number = v};
	if (a->words)
		out->choice = a->words[v];
	else if (a->always && v == field_max(a))
		out->choice = a->always;
	return true;
}

static int add(struct buf *out, const char *s)
{
	return buf_append(out, s, strlen(s));
}

static int format_attr(const struct attr *a, const struct family_attrs *f,
		       struct buf *out)
{
	uint64_t v = field_get(a, f);
	const struct unit *u = a->units;
	char line[64];

	if (a->words) {
		snprintf(line, sizeof(line), "\t%s %s\n", a->word, a->words[v]);
	} else if (a->always && v == field_max(a)) {
		snprintf(line, sizeof(line), "\t%s %s\n", a->word, a->always);
	} else {
		while (u && (u->size > v ? u->size > 1 : v % u->size))
			u++;
		snprintf(line, sizeof(line), "\t%s %" PRIu64 "%s\n", a->word,
			 u ? v / u->size : v, u ? u->name : "");
	}
	return add(out, line);
}

/* Sizes have the largest unit that divides them. */
static int format_quota(uint64_t quota, struct buf *out)
{
	const struct unit *u = size_units;
	char line[64];

	if (!quota)
		return 0;
	while (quota % u->size)
		u++;
	snprintf(line, sizeof(line), "quota %" PRIu64 "%s\n", quota / u->size,
		 u->name);
	return add(out, line);
}

static int format_family(const struct family_schema *f, struct buf *out)
{
	char escape[4];
	int r = family_attrs_check(&f->attrs);

	if (r == 0)
		r = add(out, "\nfamily ");
	for (const char *p = f->name; *p && r == 0; p++) {
		if (*p == ' ' || *p == '#' || *p == '%') {
			snprintf(escape, sizeof(escape), "%%%02X",
				 (unsigned char)*p);
			r = add(out, escape);
		} else {
			r = buf_append(out, p, 1);
		}
	}
	if (r == 0)
		r = add(out, "\n");
	for (size_t i = 0; i < ATTRS && r == 0; i++)
		r = format_attr(&attrs[i], &f->attrs, out);
	return r;
}

int schema_format(const struct schema *s, struct buf *out)
{
	size_t len = out->len;
	char head[96];
	int r;

	snprintf(head, sizeof(head),
		 "families %s\nmode %04o\nuid %" PRIu32 "\ngid %" PRIu32 "\n",
		 s->fixed ? "fixed" : "open", s->mode, s->uid, s->gid);
	r = add(out, head);
	if (r == 0)
		r = format_quota(s->quota, out);
	for (uint32_t i = 0; i < s->nfamilies && r == 0; i++)
		r = format_family(&s->families[i], out);
	if (r < 0)
		out->len = len;
	return r;
}

struct parser {
	struct bytes left; /* the text after the current line */
	unsigned line;
	struct schema schema;
	const struct schema *old; /* the table's schema; NULL = a new table */
	unsigned flags;		  /* ALTER_GONE, ALTER_SPARE */
	struct schema drop;	  /* families to drop, by name */
	int family;		 /* the current family's index, -1 = none yet */
	unsigned family_line;	 /* the line where it begins */
	struct family_attrs now; /* its attributes so far */
	unsigned lines[ATTRS];	 /* the line that sets each, 0 = none yet */
	unsigned seen_top;	 /* bits of the top-level words seen so far */
};

/* The text cut and made printable, for an error sentence. */
#define SHOWN_MAX 40
static const char *shown(struct bytes s, char out[SHOWN_MAX + 4])
{
	size_t n = s.len < SHOWN_MAX ? s.len : SHOWN_MAX;

	for (size_t i = 0; i < n; i++)
		out[i] = s.data[i] < 0x20 || s.data[i] >= 0x7f
				 ? '?'
				 : (char)s.data[i];
	strcpy(out + n, s.len > n ? "..." : "");
	return out;
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Removes the first word from @line and gives it; empty at the end. */
static struct bytes take_word(struct bytes *line)
{
	struct bytes word;

	while (line->len && is_blank(line->data[0])) {
		line->data++;
		line->len--;
	}
	word = (struct bytes){line->data, 0};
	while (word.len < line->len && !is_blank(line->data[word.len]))
		word.len++;
	line->data += word.len;
	line->len -= word.len;
	return word;
}

/* The next line without its comment. */
static bool next_line(struct parser *p, struct bytes *line)
{
	const uint8_t *end, *hash;
	size_t n;

	if (!p->left.len)
		return false;
	end = memchr(p->left.data, '\n', p->left.len);
	n = end ? (size_t)(end - p->left.data) : p->left.len;
	*line = bytes_of(p->left.data, n);
	p->left.data += n + (end ? 1 : 0);
	p->left.len -= n + (end ? 1 : 0);
	p->line++;
	hash = n ? memchr(line->data, '#', n) : NULL;
	if (hash)
		line->len = (size_t)(hash - line->data);
	return true;
}

static bool is_word(struct bytes s, const char *word)
{
	return bytes_eq(s, bytes_str(word));
}

/* Removes leading digits in @base from @s. False if none or > @max. */
static bool take_number(struct bytes *s, unsigned base, uint64_t max,
			uint64_t *out)
{
	uint64_t v = 0;
	size_t i;

	for (i = 0; i < s->len; i++) {
		unsigned digit = s->data[i] - (unsigned)'0';

		if (digit >= base)
			break;
		if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit, &v) || v > max)
			return false;
	}
	if (!i)
		return false;
	s->data += i;
	s->len -= i;
	*out = v;
	return true;
}

static bool parse_attr(const struct attr *a, struct bytes s, uint64_t *out)
{
	const struct unit *u;

	if (a->words) {
		for (size_t i = 0; a->words[i]; i++)
			if (is_word(s, a->words[i])) {
				*out = i;
				return true;
			}
		return false;
	}
	if (a->always && is_word(s, a->always)) {
		*out = field_max(a);
		return true;
	}
	if (!take_number(&s, 10, field_max(a), out))
		return false;
	if (!a->units)
		return s.len == 0;
	for (u = a->units; u->name; u++)
		if (is_word(s, u->name))
			return !__builtin_mul_overflow(*out, u->size, out) &&
			       *out <= field_max(a);
	return false;
}

int family_attr_set(struct family_attrs *f, struct bytes word,
		    struct bytes value)
{
	char text[SHOWN_MAX + 4];
	uint64_t v = 0;

	for (size_t i = 0; i < ATTRS; i++) {
		if (!is_word(word, attrs[i].word))
			continue;
		if (!parse_attr(&attrs[i], value, &v))
			return why(-EINVAL, "%s is %s, not '%s'", attrs[i].word,
				   attrs[i].expected, shown(value, text));
		field_set(&attrs[i], f, v);
		return 0;
	}
	return why(-ENOENT, "there is no attribute '%s'; known are " ATTR_WORDS,
		   shown(word, text));
}

static int family_line(struct parser *p, struct bytes word, struct bytes value)
{
	for (size_t i = 0; i < ATTRS; i++) {
		if (!is_word(word, attrs[i].word))
			continue;
		if (p->lines[i])
			return why(-EINVAL,
				   "schema line %u: %s is set a second time "
				   "for this family",
				   p->line, attrs[i].word);
		if (family_attr_set(&p->now, word, value) < 0)
			return why(-EINVAL, "schema line %u: %s", p->line,
				   store_why());
		p->lines[i] = p->line;
		return 1;
	}
	return 0;
}

static const char *const top_words[] = {"families", "mode", "uid", "gid",
					"quota"};
static const char *const top_expected[] = {
	"open or fixed", "permissions in octal such as 0755", "a user's number",
	"a group's number", "a size such as 10GiB, or none"};

#define TOP_WORDS (sizeof(top_words) / sizeof(top_words[0]))
#define TOP_QUOTA 4

static bool parse_quota(struct bytes value, uint64_t *out)
{
	const struct unit *u = size_units;

	*out = 0;
	if (is_word(value, "none"))
		return true;
	if (!take_number(&value, 10, UINT64_MAX, out) || !*out)
		return false;
	while (u->name && !is_word(value, u->name))
		u++;
	return u->name && !__builtin_mul_overflow(*out, u->size, out);
}

int schema_set_quota(struct schema *s, struct bytes value)
{
	char text[SHOWN_MAX + 4];

	return parse_quota(value, &s->quota)
		       ? 0
		       : why(-EINVAL, "quota is %s, not '%s'",
			     top_expected[TOP_QUOTA], shown(value, text));
}

static bool parse_top(struct parser *p, size_t i, struct bytes value)
{
	struct schema *s = &p->schema;
	uint64_t v = 0;

	if (i == 0) {
		s->fixed = is_word(value, "fixed");
		return s->fixed || is_word(value, "open");
	}
	if (i == TOP_QUOTA)
		return parse_quota(value, &s->quota);
	/* The largest number means "no user" to the kernel. */
	if (!take_number(&value, i == 1 ? 8 : 10,
			 i == 1 ? 07777 : UINT32_MAX - 1, &v) ||
	    value.len)
		return false;
	*(i == 1 ? &s->mode : i == 2 ? &s->uid : &s->gid) = (uint32_t)v;
	return true;
}

static int top_line(struct parser *p, struct bytes word, struct bytes value)
{
	char text[SHOWN_MAX + 4];

	for (size_t i = 0; i < TOP_WORDS; i++) {
		if (!is_word(word, top_words[i]))
			continue;
		/* A quota that is appended counts: it is changed that way. */
		if (p->seen_top & 1u << i && i != TOP_QUOTA)
			return why(-EINVAL,
				   "schema line %u: %s is set a second time",
				   p->line, top_words[i]);
		if (!parse_top(p, i, value))
			return why(-EINVAL,
				   "schema line %u: %s is %s, not '%s'",
				   p->line, top_words[i], top_expected[i],
				   shown(value, text));
		p->seen_top |= 1u << i;
		return 1;
	}
	return 0;
}

/* The line that sets this attribute of the family; 0 = none. */
static unsigned line_of(const struct parser *p, const char *word)
{
	for (size_t i = 0; i < ATTRS; i++)
		if (!strcmp(attrs[i].word, word))
			return p->lines[i];
	return 0;
}

/*
 * The family that was being read is complete: its attributes hold together.
 *
 * No beginning of a sound text may be unsound, since who writes line by line
 * is told of an error by the write that brings it and not by close(2). So
 * versions that were not set are as many as min_versions wants.
 */
static int end_family(struct parser *p)
{
	struct family_schema *f;
	const char *word;

	if (p->family < 0)
		return 0;
	f = &p->schema.families[p->family];
	if (!line_of(p, "versions") && p->now.min_versions > p->now.versions)
		p->now.versions = p->now.min_versions;
	if (family_attrs_judge(&p->now, &word) < 0) {
		unsigned line = line_of(p, word);

		return why(-EINVAL, "schema line %u: family %s: %s",
			   line ? line : p->family_line, f->name, store_why());
	}
	f->attrs = p->now;
	p->family = -1;
	return 0;
}

/* Decodes %HH. The length, or -1 for a bad escape or a name too long. */
static int unescape(struct bytes s, uint8_t out[FAMILY_LEN_MAX])
{
	int n = 0, hi, lo;

	for (size_t i = 0; i < s.len; i++) {
		if (n == FAMILY_LEN_MAX)
			return -1;
		if (s.data[i] != '%') {
			out[n++] = s.data[i];
			continue;
		}
		hi = s.len - i > 2 ? hex_digit(s.data[i + 1]) : -1;
		lo = s.len - i > 2 ? hex_digit(s.data[i + 2]) : -1;
		if (hi < 0 || lo < 0)
			return -1;
		out[n++] = (uint8_t)(hi << 4 | lo);
		i += 2;
	}
	return n;
}

/* Adds the family that the line names to @in. @hold is the name's memory. */
static int name_family(struct parser *p, struct bytes value, struct schema *in,
		       uint8_t hold[FAMILY_LEN_MAX], struct bytes *name)
{
	char text[SHOWN_MAX + 4];
	int n, r = end_family(p);

	if (r < 0)
		return r;
	n = unescape(value, hold);
	if (n < 0)
		return why(-EINVAL,
			   "schema line %u: '%s' is no family name: it has at "
			   "most %d bytes, and %% stands before two hex digits",
			   p->line, shown(value, text), FAMILY_LEN_MAX);
	*name = bytes_of(hold, (size_t)n);
	family_attrs_default(&p->now);
	r = schema_add(in, *name, &p->now);
	if (r < 0 && r != -ENOMEM)
		r = why(-EINVAL, "schema line %u: %s", p->line, store_why());
	return r;
}

/*
 * Keeps present attributes where the default would hide more cells. Of the ttl the
 * default hides none.
 */
static void spare(struct family_attrs *a, const struct family_attrs *now)
{
	if (a->versions < now->versions)
		a->versions = now->versions;
	if (a->min_versions < now->min_versions)
		a->min_versions = now->min_versions;
	a->keep_deleted = now->keep_deleted;
	a->new_version_behavior = now->new_version_behavior;
}

static int begin_family(struct parser *p, struct bytes value)
{
	uint8_t hold[FAMILY_LEN_MAX];
	char text[SHOWN_MAX + 4];
	struct bytes name;
	int i, r = name_family(p, value, &p->schema, hold, &name);

	if (r < 0)
		return r;
	if (schema_find(&p->drop, name) >= 0)
		return why(-EINVAL,
			   "schema line %u: a line before drops the family "
			   "'%s'",
			   p->line, shown(value, text));
	i = p->flags & ALTER_SPARE ? schema_find(p->old, name) : -1;
	if (i >= 0)
		spare(&p->now, &p->old->families[i].attrs);
	p->family = schema_find(&p->schema, name);
	p->family_line = p->line;
	memset(p->lines, 0, sizeof(p->lines));
	return 1;
}

/*
 * Parses "drop family F" after its first word. An earlier line may declare F:
 * appending such a line to a table's schema is enough to drop F.
 */
static int drop_line(struct parser *p, struct bytes line)
{
	struct bytes word = take_word(&line), value = take_word(&line);
	uint8_t hold[FAMILY_LEN_MAX];
	char text[SHOWN_MAX + 4];
	struct bytes name;
	int r;

	if (!is_word(word, "family") || !value.len || take_word(&line).len)
		return why(-EINVAL, "schema line %u: it is drop family NAME",
			   p->line);
	if (!p->old)
		return why(-EINVAL,
			   "schema line %u: a table that is to be made has no "
			   "family to drop",
			   p->line);
	r = name_family(p, value, &p->drop, hold, &name);
	if (r == 0 && schema_find(&p->schema, name) >= 0)
		r = schema_remove(&p->schema, name);
	if (r == 0 && !(p->flags & ALTER_GONE) && schema_find(p->old, name) < 0)
		r = why(-EINVAL,
			"schema line %u: the table has no family '%s' to drop",
			p->line, shown(value, text));
	return r;
}

static int parse_line(struct parser *p, struct bytes line)
{
	struct bytes word = take_word(&line), behind = line, value, rest;
	char text[SHOWN_MAX + 4];
	int r = 0;

	if (!word.len)
		return 0;
	if (is_word(word, "drop"))
		return drop_line(p, behind);
	value = take_word(&line);
	rest = take_word(&line);
	if (rest.len)
		return why(-EINVAL,
			   "schema line %u: a line is one word and its value; "
			   "'%s' is too much (a blank in a family's name is "
			   "%%20)",
			   p->line, shown(rest, text));
	if (is_word(word, "family"))
		r = begin_family(p, value);
	else
		r = top_line(p, word, value);
	if (r == 0 && p->family >= 0)
		r = family_line(p, word, value);
	if (r != 0)
		return r < 0 ? r : 0;
	for (size_t i = 0; i < ATTRS; i++)
		if (is_word(word, attrs[i].word))
			return why(-EINVAL,
				   "schema line %u: %s belongs to a family; "
				   "put a line 'family NAME' before it",
				   p->line, attrs[i].word);
	return why(-EINVAL,
		   "schema line %u: unknown word '%s'; known are " TABLE_WORDS
		   " and in a family " ATTR_WORDS,
		   p->line, shown(word, text));
}

/* On failure the caller need not free anything in @p. */
static int parse(struct parser *p, struct bytes text)
{
	struct bytes line;
	int r = 0;

	if (text.len > SCHEMA_TEXT_MAX)
		r = why(-EINVAL, "a schema has at most %u bytes",
			SCHEMA_TEXT_MAX);
	p->left = text;
	p->family = -1;
	while (r == 0 && next_line(p, &line))
		r = parse_line(p, line);
	if (r == 0)
		r = end_family(p);
	if (r < 0) {
		schema_free(&p->schema);
		schema_free(&p->drop);
	}
	return r;
}

int schema_parse(struct bytes text, const struct schema *defaults,
		 struct schema *out)
{
	struct parser p = {.old = NULL};
	int r;

	schema_init(&p.schema, 0, 0);
	p.schema.fixed = true;
	if (defaults) {
		p.schema.fixed = defaults->fixed;
		p.schema.mode = defaults->mode;
		p.schema.uid = defaults->uid;
		p.schema.gid = defaults->gid;
		p.schema.quota = defaults->quota;
	}
	r = parse(&p, text);
	if (r == 0)
		*out = p.schema;
	return r;
}

int alter_parse(struct bytes text, const struct schema *now, unsigned flags,
		struct alter *out)
{
	struct parser p = {.old = now, .flags = flags};
	int r;

	/* Whoever should have written it has failed. */
	if (!text.len)
		return why(-EINVAL, "an empty schema changes nothing");
	schema_init(&p.schema, now->uid, now->gid);
	p.schema.mode = now->mode;
	p.schema.quota = now->quota;
	p.schema.fixed = true;
	r = parse(&p, text);
	if (r == 0)
		*out = (struct alter){
			.to = p.schema,
			.drop = p.drop,
			.rest = ALTER_KEEP,
		};
	return r;
}
