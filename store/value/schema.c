#include "store/value/schema.h"

#include <errno.h>
#include <stdlib.h>

#include "store/value/utf8.h"
#include "store/value/why.h"

void family_attrs_default(struct family_attrs *a)
{
	*a = (struct family_attrs){
		.versions = 3,
		.ttl_ms = TTL_FOREVER,
		.keep_deleted = KEEP_DELETED_NO,
		.compression = COMPRESSION_NONE,
		.bloom = BLOOM_ROW,
		.block_cache = true,
		.new_version_behavior = true,
		.block_size = 16u << 10,
		.max_value = 10u << 20,
	};
}

void schema_init(struct schema *s, uint32_t uid, uint32_t gid)
{
	*s = (struct schema){.mode = 0755, .uid = uid, .gid = gid};
}

void schema_free(struct schema *s)
{
	free(s->families);
	s->families = NULL;
	s->nfamilies = 0;
}

void alter_free(struct alter *a)
{
	schema_free(&a->to);
	schema_free(&a->drop);
}

int schema_copy(struct schema *to, const struct schema *from)
{
	struct family_schema *families = NULL;

	if (from->nfamilies) {
		families = calloc(from->nfamilies, sizeof(*families));
		if (!families)
			return -ENOMEM;
		memcpy(families, from->families,
		       from->nfamilies * sizeof(*families));
	}
	*to = *from;
	to->families = families;
	return 0;
}

/* Compares field by field, since padding bytes are undefined. */
bool family_attrs_equal(const struct family_attrs *a,
			const struct family_attrs *b)
{
	return a->versions == b->versions &&
	       a->min_versions == b->min_versions && a->ttl_ms == b->ttl_ms &&
	       a->keep_deleted == b->keep_deleted &&
	       a->compression == b->compression && a->bloom == b->bloom &&
	       a->block_cache == b->block_cache &&
	       a->in_memory == b->in_memory &&
	       a->new_version_behavior == b->new_version_behavior &&
	       a->block_size == b->block_size && a->max_value == b->max_value;
}

bool schema_equal(const struct schema *a, const struct schema *b)
{
	if (a->fixed != b->fixed || a->mode != b->mode || a->uid != b->uid ||
	    a->gid != b->gid || a->quota != b->quota ||
	    a->nfamilies != b->nfamilies)
		return false;
	for (uint32_t i = 0; i < a->nfamilies; i++)
		if (strcmp(a->families[i].name, b->families[i].name) ||
		    !family_attrs_equal(&a->families[i].attrs,
					&b->families[i].attrs))
			return false;
	return true;
}

bool schema_is_plain(const struct schema *s)
{
	struct family_attrs defaults;

	family_attrs_default(&defaults);
	for (uint32_t i = 0; i < s->nfamilies; i++)
		if (!family_attrs_equal(&s->families[i].attrs, &defaults))
			return false;
	return !s->fixed;
}

/* Finds the first family whose name is >= @family; true if equal. */
static bool find(const struct schema *s, struct bytes family, uint32_t *at)
{
	uint32_t lo = 0, hi = s->nfamilies;
	int c = -1;

	while (c && lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		c = bytes_cmp(bytes_str(s->families[mid].name), family);
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	*at = hi;
	return c == 0;
}

int schema_search(const struct schema *s, struct bytes family)
{
	uint32_t at;

	return find(s, family, &at) ? (int)at : -1;
}

int schema_add(struct schema *s, struct bytes family,
	       const struct family_attrs *attrs)
{
	struct family_schema *families;
	int r = family_name_check(family);
	uint32_t i;

	if (r == 0)
		r = family_attrs_check(attrs);
	if (r < 0)
		return r;
	if (find(s, family, &i))
		return why(-EEXIST, "the family '%s' is declared already",
			   s->families[i].name);
	if (s->nfamilies >= SCHEMA_FAMILIES_MAX)
		return why(-ENOSPC, "a table has at most %d families",
			   SCHEMA_FAMILIES_MAX);
	families = realloc(s->families, (s->nfamilies + 1) * sizeof(*families));
	if (!families)
		return -ENOMEM;
	s->families = families;
	memmove(families + i + 1, families + i,
		(s->nfamilies - i) * sizeof(*families));
	memset(&families[i], 0, sizeof(families[i]));
	memcpy(families[i].name, family.data, family.len);
	families[i].attrs = *attrs;
	s->nfamilies++;
	return 0;
}

int schema_remove(struct schema *s, struct bytes family)
{
	int i = schema_find(s, family);

	if (i < 0)
		return why(-ENOENT, "the table has no family of that name");
	s->nfamilies--;
	memmove(s->families + i, s->families + i + 1,
		(s->nfamilies - (uint32_t)i) * sizeof(*s->families));
	return 0;
}

int family_name_check(struct bytes name)
{
	uint32_t c;
	size_t n;

	if (!name.len)
		return why(-EINVAL, "a family needs a name");
	if (name.len > FAMILY_LEN_MAX)
		return why(-ENAMETOOLONG,
			   "the family name has %zu bytes, at most %d are "
			   "allowed",
			   name.len, FAMILY_LEN_MAX);
	if (name.data[0] == '.')
		return why(-EINVAL, "a family name does not start with a dot");
	for (size_t i = 0; i < name.len; i += n) {
		n = utf8_char(name.data + i, name.len - i);
		if (!n)
			return why(-EINVAL, "a family name is valid UTF-8, "
					    "this one is not");
		c = utf8_code(name.data + i, n);
		if (c < 0x20 || (c >= 0x7f && c < 0xa0))
			return why(-EINVAL,
				   "a family name holds no control "
				   "characters, this one has 0x%02x at byte "
				   "%zu",
				   c, i + 1);
		if (c == ':' || c == '/' || c == '\\')
			return why(-EINVAL,
				   "a family name holds no '%c': it parts "
				   "names from each other",
				   (int)c);
	}
	/* HBase keeps a directory of this name among the families'. */
	if (bytes_eq(name, bytes_str("recovered.edits")))
		return why(-EINVAL, "'recovered.edits' is reserved by HBase");
	return 0;
}

static bool is_word(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_';
}

/* A namespace, without its colon. */
int namespace_name_check(struct bytes space)
{
	if (!space.len)
		return why(-EINVAL, "the namespace before the ':' of a table "
				    "name is not empty");
	for (size_t i = 0; i < space.len; i++)
		if (!is_word(space.data[i]))
			return why(-EINVAL,
				   "a namespace is made of letters, digits "
				   "and '_'; byte %zu is none of them",
				   i + 1);
	if (bytes_eq(space, bytes_str("default")))
		return why(-EINVAL, "a table of the namespace 'default' is "
				    "named without it");
	if (bytes_eq(space, bytes_str("hbase")))
		return why(-EINVAL, "the namespace 'hbase' is HBase's own");
	return 0;
}

int table_name_check(struct bytes name)
{
	const uint8_t *colon;
	size_t at = 0;
	int r;

	if (!name.len)
		return why(-EINVAL, "a table needs a name");
	if (name.len > TABLE_NAME_LEN_MAX)
		return why(-ENAMETOOLONG,
			   "the table name has %zu bytes, at most %d are "
			   "allowed",
			   name.len, TABLE_NAME_LEN_MAX);
	colon = memchr(name.data, ':', name.len);
	if (colon) {
		at = (size_t)(colon - name.data);
		r = namespace_name_check(bytes_of(name.data, at));
		if (r < 0)
			return r;
		at++;
	}
	if (at == name.len || !is_word(name.data[at]))
		return why(-EINVAL, "a table name starts with a letter, a "
				    "digit or '_'");
	for (; at < name.len; at++)
		if (!is_word(name.data[at]) && name.data[at] != '.' &&
		    name.data[at] != '-')
			return why(-EINVAL,
				   "a table name is made of letters, digits, "
				   "'_', '.' and '-'; byte %zu is none of them",
				   at + 1);
	return 0;
}

int family_attrs_judge(const struct family_attrs *a, const char **word)
{
	*word = "versions";
	if (a->versions < 1)
		return why(-EINVAL, "versions is at least 1");
	*word = "min_versions";
	if (a->min_versions > a->versions)
		return why(-EINVAL, "min_versions %u is more than versions %u",
			   a->min_versions, a->versions);
	*word = "ttl";
	if (a->ttl_ms < 1 ||
	    (a->ttl_ms > (uint64_t)TS_MAX && a->ttl_ms != TTL_FOREVER))
		return why(-EINVAL,
			   "ttl is at least 1ms and at most %lld ms, "
			   "or forever",
			   (long long)TS_MAX);
	*word = "keep_deleted";
	if (a->keep_deleted > KEEP_DELETED_TTL)
		return why(-EINVAL, "keep_deleted is no, yes or ttl");
	*word = "compression";
	if (a->compression > COMPRESSION_ZLIB)
		return why(-EINVAL, "compression is none or zlib");
	*word = "bloom";
	if (a->bloom > BLOOM_ROWCOL)
		return why(-EINVAL, "bloom is none, row or rowcol");
	*word = "block_size";
	if (a->block_size < 1u << 10 || a->block_size > 16u << 20)
		return why(-EINVAL, "block_size is 1KiB to 16MiB");
	*word = "max_value";
	if (a->max_value > VALUE_LEN_MAX)
		return why(-EINVAL, "max_value is at most %uMiB",
			   VALUE_LEN_MAX >> 20);
	*word = NULL;
	return 0;
}

const char *family_attrs_less(const struct family_attrs *a,
			      const struct family_attrs *now)
{
	if (a->versions < now->versions)
		return "versions";
	if (a->ttl_ms < now->ttl_ms)
		return "ttl";
	if (a->min_versions < now->min_versions && a->ttl_ms != TTL_FOREVER)
		return "min_versions";
	/* What .raw and the past show. */
	if (a->keep_deleted != now->keep_deleted &&
	    (a->keep_deleted == KEEP_DELETED_NO ||
	     now->keep_deleted == KEEP_DELETED_YES))
		return "keep_deleted";
	if (a->new_version_behavior != now->new_version_behavior)
		return "new_version_behavior";
	return NULL;
}

int family_attrs_check(const struct family_attrs *a)
{
	const char *word;

	return family_attrs_judge(a, &word);
}
