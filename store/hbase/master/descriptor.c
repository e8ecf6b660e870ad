#include "store/hbase/master/descriptor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/value/why.h"

/* HBase has no table without a family: one that has none here has this one there. */
#define NO_FAMILY "cellfs-none"
/* In HBase a ttl of so many seconds is for ever, and so many versions are all. */
#define HBASE_MAX INT32_MAX

enum form {
	FORM_VERSIONS, /* uint32_t, UINT32_MAX = all */
	FORM_NUMBER,   /* uint32_t */
	FORM_TTL,      /* uint64_t, milliseconds; HBase has seconds */
	FORM_BOOL,
	FORM_CHOICE, /* uint8_t, an index of .choices */
};

static const char *const keep_words[] = {"FALSE", "TRUE", "TTL", NULL};
static const char *const compression_words[] = {"NONE", "GZ", NULL};
static const char *const bloom_words[] = {"NONE", "ROW", "ROWCOL", NULL};

/* HBase's attributes of a family that a schema has too. */
static const struct attribute {
	const char *key;
	enum form form;
	size_t at; /* in struct family_attrs */
	const char *const *choices;
} attributes[] = {
#define AT(member) offsetof(struct family_attrs, member)
	{"VERSIONS", FORM_VERSIONS, AT(versions), NULL},
	{"MIN_VERSIONS", FORM_NUMBER, AT(min_versions), NULL},
	{"TTL", FORM_TTL, AT(ttl_ms), NULL},
	{"KEEP_DELETED_CELLS", FORM_CHOICE, AT(keep_deleted), keep_words},
	{"COMPRESSION", FORM_CHOICE, AT(compression), compression_words},
	{"BLOOMFILTER", FORM_CHOICE, AT(bloom), bloom_words},
	{"BLOCKCACHE", FORM_BOOL, AT(block_cache), NULL},
	{"IN_MEMORY", FORM_BOOL, AT(in_memory), NULL},
	{"NEW_VERSION_BEHAVIOR", FORM_BOOL, AT(new_version_behavior), NULL},
	{"BLOCKSIZE", FORM_NUMBER, AT(block_size), NULL},
	{"cellfs.max_value", FORM_NUMBER, AT(max_value), NULL},
#undef AT
};
#define ATTRIBUTES (sizeof(attributes) / sizeof(*attributes))

/*
 * An attribute that HBase knows nothing of: since when, in ms, the family keeps
 * deleted cells and as many versions as now; 0 = always.
 */
#define KEPT_SINCE "cellfs.kept_since"
#define KEPT_SINCE_BIT (1u << 31)
_Static_assert(ATTRIBUTES < 31, "the last bit of the mask is not an attribute");

/* The values of attributes that HBase does not send. */
static void attrs_of_hbase(struct family_attrs *a)
{
	family_attrs_default(a);
	a->versions = 1;
	a->new_version_behavior = false;
	a->block_size = 64 << 10;
}

static bool number_of(struct bytes text, uint64_t *out)
{
	uint64_t n = 0;

	if (!text.len || text.len > 19)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] < '0' || text.data[i] > '9')
			return false;
		n = n * 10 + text.data[i] - '0';
	}
	*out = n;
	return true;
}

static bool same_word(struct bytes text, const char *word)
{
	if (text.len != strlen(word))
		return false;
	for (size_t i = 0; i < text.len; i++)
		if ((text.data[i] | 0x20) != (word[i] | 0x20))
			return false;
	return true;
}

/* Sets what the text says; what nobody understands stays as it is. */
static void attribute_take(const struct attribute *a, struct bytes text,
			   struct family_attrs *out)
{
	void *at = (uint8_t *)out + a->at;
	uint64_t n = 0;
	bool is_number = number_of(text, &n);

	switch (a->form) {
	case FORM_VERSIONS:
		if (is_number && n)
			*(uint32_t *)at =
				n >= HBASE_MAX ? UINT32_MAX : (uint32_t)n;
		break;
	case FORM_NUMBER:
		if (is_number && n <= UINT32_MAX)
			*(uint32_t *)at = (uint32_t)n;
		break;
	case FORM_TTL:
		if (same_word(text, "FOREVER") || (is_number && n >= HBASE_MAX))
			*(uint64_t *)at = TTL_FOREVER;
		else if (is_number && n)
			*(uint64_t *)at = n * 1000;
		break;
	case FORM_BOOL:
		*(bool *)at = same_word(text, "true");
		break;
	case FORM_CHOICE:
		for (uint8_t i = 0; a->choices[i]; i++)
			if (same_word(text, a->choices[i]))
				*(uint8_t *)at = i;
		break;
	}
}

#define TEXT_MAX 24

static void attribute_put(const struct attribute *a,
			  const struct family_attrs *from, char text[TEXT_MAX])
{
	const void *at = (const uint8_t *)from + a->at;
	uint64_t ttl;

	switch (a->form) {
	case FORM_VERSIONS:
		snprintf(text, TEXT_MAX, "%" PRIu32,
			 *(const uint32_t *)at < HBASE_MAX
				 ? *(const uint32_t *)at
				 : (uint32_t)HBASE_MAX);
		break;
	case FORM_NUMBER:
		snprintf(text, TEXT_MAX, "%" PRIu32, *(const uint32_t *)at);
		break;
	case FORM_TTL:
		ttl = *(const uint64_t *)at;
		snprintf(text, TEXT_MAX, "%" PRIu64,
			 ttl == TTL_FOREVER ? HBASE_MAX : ttl / 1000);
		break;
	case FORM_BOOL:
		snprintf(text, TEXT_MAX, "%s",
			 *(const bool *)at ? "true" : "false");
		break;
	case FORM_CHOICE:
		snprintf(text, TEXT_MAX, "%s",
			 a->choices[*(const uint8_t *)at]);
		break;
	}
}

static int family_take(const struct pb_family *f, struct family_attrs *out)
{
	struct proto_list l = f->attributes;
	struct pb_pair pair;
	int r;

	attrs_of_hbase(out);
	while ((r = proto_next(&l, &pair)) > 0)
		for (size_t i = 0; i < ATTRIBUTES; i++)
			if (bytes_eq(pair.first, bytes_str(attributes[i].key)))
				attribute_take(&attributes[i], pair.second,
					       out);
	return r;
}

static int table_take(const struct pb_descriptor *d, struct schema *out)
{
	struct proto_list l = d->attributes;
	struct pb_pair pair;
	uint64_t n;
	int r;

	while ((r = proto_next(&l, &pair)) > 0) {
		if (!number_of(pair.second, &n) || n > UINT32_MAX)
			continue;
		if (bytes_eq(pair.first, bytes_str("cellfs.fixed")))
			out->fixed = n;
		else if (bytes_eq(pair.first, bytes_str("cellfs.mode")))
			out->mode = (uint32_t)n & 07777;
		else if (bytes_eq(pair.first, bytes_str("cellfs.uid")))
			out->uid = (uint32_t)n;
		else if (bytes_eq(pair.first, bytes_str("cellfs.gid")))
			out->gid = (uint32_t)n;
	}
	return r;
}

int descriptor_take(const struct pb_descriptor *d, uint32_t uid, uint32_t gid,
		    struct schema *out)
{
	struct proto_list l = d->families;
	struct pb_family f;
	int r;

	schema_init(out, uid, gid);
	out->fixed = true;
	r = table_take(d, out);
	while (r == 0 && (r = proto_next(&l, &f)) > 0) {
		struct family_attrs attrs;

		if (bytes_eq(f.name, bytes_str(NO_FAMILY))) {
			r = 0;
			continue;
		}
		r = family_take(&f, &attrs);
		if (r == 0)
			r = schema_add(out, f.name, &attrs);
	}
	if (r < 0)
		schema_free(out);
	return r;
}

/* Sets *on if the attributes say that @key is true. */
static int is_true(struct proto_list l, const char *key, bool *on)
{
	struct pb_pair pair;
	int r;

	while ((r = proto_next(&l, &pair)) > 0)
		*on |= bytes_eq(pair.first, bytes_str(key)) &&
		       same_word(pair.second, "true");
	return r;
}

int descriptor_traits(const struct pb_descriptor *d, struct table_traits *out)
{
	struct proto_list l = d->families;
	struct pb_family f;
	int r;

	*out = (struct table_traits){0};
	r = is_true(d->attributes, "READONLY", &out->read_only);
	while (r == 0 && (r = proto_next(&l, &f)) > 0)
		r = is_true(f.attributes, "IS_MOB", &out->has_mob);
	return r;
}

/* The description of a family of that name, if there is one. */
static int find_family(const struct pb_descriptor *was, struct bytes name,
		       struct pb_family *out)
{
	struct proto_list l = was ? was->families : (struct proto_list){0};
	int r;

	while (was && (r = proto_next(&l, out)) != 0)
		if (r < 0 || bytes_eq(out->name, name))
			return r;
	*out = (struct pb_family){.name = name};
	return 0;
}

/* The attributes of a family and of a table have one number. */
static void put_attribute(struct encoder *e, const char *key, const char *text)
{
	const struct pb_pair pair = {.first = bytes_str(key),
				     .second = bytes_str(text)};

	put_message(e, DESCRIPTOR_ATTRIBUTES, &pb_pair, &pair);
}

/* Copies the pairs of a list but for those that @leaves_out. */
static int copy_pairs(struct encoder *e, uint8_t number, struct proto_list l,
		      bool (*leaves_out)(const void *arg, struct bytes key),
		      const void *arg)
{
	struct pb_pair pair;
	int r;

	if (!l.field)
		return 0;
	while ((r = proto_next(&l, &pair)) > 0) {
		if (leaves_out && leaves_out(arg, pair.first))
			continue;
		put_message(e, number, &pb_pair, &pair);
	}
	return r;
}

/* Which attributes of a family change, as a mask by their index. */
static bool is_changed(const void *arg, struct bytes key)
{
	const uint32_t *mask = arg;

	for (size_t i = 0; i < ATTRIBUTES; i++)
		if (bytes_eq(key, bytes_str(attributes[i].key)))
			return *mask >> i & 1;
	return *mask & KEPT_SINCE_BIT && bytes_eq(key, bytes_str(KEPT_SINCE));
}

static int kept_since(const struct pb_family *f, int64_t *since)
{
	struct proto_list l = f->attributes;
	struct pb_pair pair;
	uint64_t n;
	int r;

	while (l.field && (r = proto_next(&l, &pair)) != 0) {
		if (r < 0)
			return r;
		if (!bytes_eq(pair.first, bytes_str(KEPT_SINCE)) ||
		    !number_of(pair.second, &n) || n > INT64_MAX)
			continue;
		*since = (int64_t)n;
		return 1;
	}
	return 0;
}

int descriptor_kept_since(const struct pb_descriptor *d, struct bytes family,
			  int64_t *since)
{
	struct pb_family f;
	int r = find_family(d, family, &f);

	return r > 0 ? kept_since(&f, since) : r;
}

/*
 * Notes since when the family keeps what it keeps, if that changes: then its
 * note of before goes, by the mask. @old is NULL for a new family.
 */
static int put_kept_since(struct encoder *e, const struct family_attrs *attrs,
			  const struct pb_family *old,
			  const struct family_attrs *was, int64_t now_ms,
			  uint32_t *mask)
{
	bool keeps = attrs->keep_deleted == KEEP_DELETED_YES;
	char text[TEXT_MAX];
	int64_t since;
	int r = old ? kept_since(old, &since) : 0;

	if (r < 0)
		return r;
	if (keeps && r > 0 && was->keep_deleted == KEEP_DELETED_YES &&
	    attrs->versions <= was->versions)
		return 0;
	*mask |= KEPT_SINCE_BIT;
	snprintf(text, sizeof(text), "%" PRId64, old ? now_ms : 0);
	if (keeps)
		put_attribute(e, KEPT_SINCE, text);
	return 0;
}

static int check_family(const struct family_schema *f)
{
	const struct family_attrs *a = &f->attrs;

	if (a->min_versions > HBASE_MAX)
		return why(-EINVAL,
			   "family %s: HBase keeps min_versions of up to %d, "
			   "not %" PRIu32,
			   f->name, HBASE_MAX, a->min_versions);
	if (a->ttl_ms == TTL_FOREVER)
		return 0;
	if (a->ttl_ms % 1000)
		return why(-EINVAL,
			   "family %s: HBase keeps a ttl in whole seconds, not "
			   "%" PRIu64 " ms",
			   f->name, a->ttl_ms);
	if (a->ttl_ms / 1000 >= HBASE_MAX)
		return why(-EINVAL,
			   "family %s: HBase keeps a ttl of up to %d s (24855 "
			   "days), not %" PRIu64 " s: give less, or none",
			   f->name, HBASE_MAX - 1, a->ttl_ms / 1000);
	return 0;
}

int descriptor_check(const struct schema *schema)
{
	int r = 0;

	for (uint32_t i = 0; i < schema->nfamilies && r == 0; i++)
		r = check_family(&schema->families[i]);
	return r;
}

/* The description of one family, appended to @out. */
static int family_put(struct buf *out, const struct family_schema *f,
		      const struct pb_descriptor *was, int64_t now_ms)
{
	struct bytes name = bytes_str(f->name);
	struct encoder e = {.out = out};
	struct family_attrs now;
	struct pb_family old;
	uint32_t mask = 0;
	int r = find_family(was, name, &old);

	if (r < 0)
		return r;
	attrs_of_hbase(&now);
	if (r > 0 && family_take(&old, &now) < 0)
		return -EPROTO;
	put_field(&e, FAMILY_NAME, name);
	for (size_t i = 0; i < ATTRIBUTES; i++) {
		char text[TEXT_MAX], is[TEXT_MAX];

		attribute_put(&attributes[i], &f->attrs, text);
		attribute_put(&attributes[i], &now, is);
		if (r > 0 && strcmp(text, is) == 0)
			continue;
		mask |= 1u << i;
		put_attribute(&e, attributes[i].key, text);
	}
	r = put_kept_since(&e, &f->attrs, r > 0 ? &old : NULL, &now, now_ms,
			   &mask);
	if (r == 0)
		r = copy_pairs(&e, FAMILY_ATTRIBUTES, old.attributes,
			       is_changed, &mask);
	if (r == 0)
		r = copy_pairs(&e, FAMILY_CONFIGURATION, old.configuration,
			       NULL, NULL);
	return r < 0 ? r : e.err;
}

static int put_family(struct encoder *out, const struct family_schema *f,
		      const struct pb_descriptor *was, int64_t now_ms)
{
	struct buf body = {0};
	int r = family_put(&body, f, was, now_ms);

	put_field(out, DESCRIPTOR_FAMILIES, buf_bytes(&body));
	if (r == -ENOMEM)
		out->err = r;
	buf_free(&body);
	return r;
}

static bool is_ours(const void *arg, struct bytes key)
{
	return bytes_has_prefix(key, bytes_str("cellfs."));
}

static int put_table(struct encoder *e, const struct schema *s,
		     const struct pb_descriptor *was)
{
	const struct {
		const char *key;
		uint32_t value;
	} own[] = {
		{"cellfs.fixed", s->fixed},
		{"cellfs.mode", s->mode},
		{"cellfs.uid", s->uid},
		{"cellfs.gid", s->gid},
	};
	char text[TEXT_MAX];

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		snprintf(text, sizeof(text), "%" PRIu32, own[i].value);
		put_attribute(e, own[i].key, text);
	}
	return was ? copy_pairs(e, DESCRIPTOR_ATTRIBUTES, was->attributes,
				is_ours, NULL)
		   : 0;
}

int descriptor_put(struct bytes table, const struct schema *schema,
		   const struct pb_descriptor *was, int64_t now_ms,
		   struct buf *out)
{
	const struct pb_table_name name = table_name_of(table);
	struct encoder e = {.out = out};
	struct family_schema none = {.name = NO_FAMILY};
	struct pb_family old = {0};
	int r, had = find_family(was, bytes_str(NO_FAMILY), &old);

	put_message(&e, DESCRIPTOR_TABLE, &pb_table_name, &name);
	r = had < 0 ? had : descriptor_check(schema);
	if (r == 0)
		r = put_table(&e, schema, was);
	family_attrs_default(&none.attrs);
	if (r == 0 && (had > 0 || !schema->nfamilies))
		r = put_family(&e, &none, was, now_ms);
	for (uint32_t i = 0; i < schema->nfamilies && r == 0; i++)
		r = put_family(&e, &schema->families[i], was, now_ms);
	if (r == 0 && was)
		r = copy_pairs(&e, DESCRIPTOR_CONFIGURATION, was->configuration,
			       NULL, NULL);
	if (r == 0 && e.err)
		r = why(e.err, "out of memory for a table's description");
	return r;
}

/* The one family that is another one, or only in one of the two; NULL if more. */
static const struct family_schema *
only_change(const struct schema *now, const struct schema *to, uint8_t *step)
{
	const struct family_schema *only = NULL;
	unsigned n = 0;

	for (uint32_t i = 0; i < to->nfamilies; i++) {
		const struct family_schema *f = &to->families[i];
		int at = schema_find(now, bytes_str(f->name));

		if (at >= 0 &&
		    family_attrs_equal(&now->families[at].attrs, &f->attrs))
			continue;
		*step = at >= 0 ? STEP_CHANGE : STEP_ADD;
		only = f;
		n++;
	}
	for (uint32_t i = 0; i < now->nfamilies; i++) {
		const struct family_schema *f = &now->families[i];

		if (schema_find(to, bytes_str(f->name)) >= 0)
			continue;
		*step = STEP_DROP;
		only = f;
		n++;
	}
	return n == 1 ? only : NULL;
}

int descriptor_step(const struct schema *from, const struct schema *to,
		    const struct pb_descriptor *was, int64_t now_ms,
		    uint8_t *step, struct buf *out)
{
	const struct family_schema *f;
	struct schema now;
	int r = descriptor_check(to);

	if (r == 0)
		r = descriptor_take(was, from->uid, from->gid, &now);
	if (r < 0)
		return r;
	f = only_change(&now, to, step);
	if (!schema_equal(&now, from))
		r = why(-EAGAIN, "the schema has been changed");
	/* A table without families is more than a step: see NO_FAMILY. */
	else if (!f || !to->nfamilies || now.fixed != to->fixed ||
		 now.mode != to->mode || now.uid != to->uid ||
		 now.gid != to->gid)
		*step = STEP_ALL;
	else if (*step == STEP_DROP)
		r = buf_append(out, f->name, strlen(f->name));
	else
		r = family_put(out, f, was, now_ms);
	schema_free(&now);
	return r == -ENOMEM ? why(r, "out of memory for a table's description")
			    : r;
}
