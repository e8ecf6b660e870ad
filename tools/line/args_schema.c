/*
 * Parses a table's schema from words such as d:versions=5,ttl=1d.
 *
 * The attributes are those of the schema's text (schema.h). HBase's names and
 * values are translated into these first.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/line/args.h"
#include "tools/line/fail.h"
#include "fs/text/nearest.h"

static const struct synonym {
	const char *hbase, *ours;
} attr_synonyms[] = {
	{"keep_deleted_cells", "keep_deleted"},
	{"bloomfilter", "bloom"},
	{"blocksize", "block_size"},
	{"blockcache", "block_cache"},
};

/* Synonyms of values, in any case. */
static const struct synonym value_synonyms[] = {
	{"true", "yes"},  {"false", "no"},	{"gz", "zlib"},
	{"yes", "yes"},	  {"no", "no"},		{"ttl", "ttl"},
	{"none", "none"}, {"zlib", "zlib"},	{"row", "row"},
	{"all", "all"},	  {"rowcol", "rowcol"}, {"forever", "forever"},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* HBase's TTL is in seconds; one number means for ever. */
static const char *hbase_ttl(const char *value, char out[32])
{
	size_t n = strspn(value, "0123456789");

	if (!n || value[n] || n > 20)
		return value;
	if (!strcmp(value, "2147483647"))
		return "forever";
	snprintf(out, 32, "%ss", value);
	return out;
}

/* Applies ATTR=VALUE, which is cut in two. */
static int apply_attr(const char *family, char *text, struct family_attrs *a)
{
	char *equals = strchr(text, '='), seconds[32];
	struct nearest near;
	struct family_attr attr;
	const char *value;
	int r;

	if (!equals || equals == text)
		return fail_usage("'%s:%s' is no FAMILY:ATTRIBUTE=VALUE,...",
				  family, text);
	*equals = '\0';
	value = equals + 1;
	for (char *p = text; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	for (size_t i = 0; i < COUNT(attr_synonyms); i++)
		if (!strcmp(text, attr_synonyms[i].hbase))
			text = (char *)attr_synonyms[i].ours;
	for (size_t i = 0; i < COUNT(value_synonyms); i++)
		if (!strcasecmp(value, value_synonyms[i].hbase)) {
			value = value_synonyms[i].ours;
			break;
		}
	if (!strcmp(text, "ttl"))
		value = hbase_ttl(value, seconds);
	r = family_attr_set(a, bytes_str(text), bytes_str(value));
	if (r == 0)
		return EXIT_DONE;
	if (r == -EINVAL)
		return fail_usage("family %s: %s", family, store_why());
	nearest_init(&near, text);
	for (unsigned i = 0; family_attr_get(a, i, &attr); i++)
		nearest_offer(&near, attr.word);
	return fail_nearest(&near, "", "family %s: there is no attribute '%s'",
			    family, text);
}

enum {
	MAY_CHANGE = 1,
	MAY_ADD = 2,
};

/* Applies FAMILY[:ATTR=VALUE,...] to @schema. */
static int apply_family(struct schema *schema, const char *word, int may)
{
	char *copy = strdup(word), *colon, *part, *left;
	struct family_attrs attrs;
	int i, r, code = EXIT_DONE;

	if (!copy)
		return fail_memory();
	colon = strchr(copy, ':');
	if (colon)
		*colon = '\0';
	i = schema_find(schema, bytes_str(copy));
	if (i >= 0 && !(may & MAY_CHANGE)) {
		code = fail_usage("family '%s' exists already", copy);
		goto out;
	}
	family_attrs_default(&attrs);
	if (i >= 0)
		attrs = schema->families[i].attrs;
	left = colon ? colon + 1 : NULL;
	while (code == EXIT_DONE && left && *left) {
		part = strsep(&left, ",");
		code = apply_attr(copy, part, &attrs);
	}
	if (code)
		goto out;
	r = family_attrs_check(&attrs);
	if (r == 0 && i >= 0)
		schema->families[i].attrs = attrs;
	else if (r == 0)
		r = schema_add(schema, bytes_str(copy), &attrs);
	if (r < 0)
		code = fail_usage("family '%s': %s", copy, store_why());
out:
	free(copy);
	return code;
}

static int remove_family(struct schema *schema, const char *name)
{
	struct nearest near;

	if (schema_remove(schema, bytes_str(name)) == 0)
		return EXIT_DONE;
	nearest_init(&near, name);
	for (uint32_t i = 0; i < schema->nfamilies; i++)
		nearest_offer(&near, schema->families[i].name);
	return fail_nearest(&near, "", "there is no family '%s'", name);
}

static int replace_by_text(const struct request *rq, struct alter *a)
{
	struct bytes text = buf_bytes(&rq->schema_text);
	struct schema now = a->to;
	int r;

	if (rq->table)
		r = alter_parse(text, &now, 0, a);
	else
		r = schema_parse(text, &now, &a->to);
	if (r < 0)
		return fail_store(rq->schema_file);
	schema_free(&now);
	return EXIT_DONE;
}

/*
 * Reads the text before the store is opened, since its writer may be reading
 * the store.
 */
static int read_schema_text(struct request *rq)
{
	int code;

	if (!rq->schema_file)
		return EXIT_DONE;
	code = read_file(rq->schema_file, SCHEMA_TEXT_MAX, &rq->schema_text);
	/*
	 * A schema is never empty: the program that should write it has failed.
	 */
	if (code == EXIT_DONE && !rq->schema_text.len) {
		why(-EINVAL, "the schema's text is empty");
		return fail_store(rq->schema_file);
	}
	return code;
}

int apply_schema(const struct request *rq, int from, struct alter *a)
{
	int may = rq->table ? MAY_CHANGE | MAY_ADD : MAY_ADD;
	struct schema *schema = &a->to;
	int code = EXIT_DONE;

	if (rq->schema_file)
		code = replace_by_text(rq, a);
	for (int i = from; code == EXIT_DONE && i < rq->nwords; i++)
		code = apply_family(schema, rq->words[i], may);
	for (size_t i = 0; code == EXIT_DONE && i < rq->add.n; i++)
		code = apply_family(schema, rq->add.texts[i], MAY_ADD);
	for (size_t i = 0; code == EXIT_DONE && i < rq->delete.n; i++)
		code = remove_family(schema, rq->delete.texts[i]);
	return code;
}

/* Checks the name of a table to be made, before its store is opened. */
static int check_name(const struct request *rq)
{
	if (table_name_check(bytes_str(rq->words[1])) == 0)
		return EXIT_DONE;
	return fail_store(rq->words[1]);
}

int parse_import(struct request *rq)
{
	int code = check_records(rq);

	if (code)
		return code;
	return rq->create ? check_name(rq) : EXIT_DONE;
}

int parse_create(struct request *rq)
{
	struct alter a = {0};
	int code = check_name(rq);

	if (code == EXIT_DONE)
		code = read_schema_text(rq);
	if (code)
		return code;
	schema_init(&a.to, getuid(), getgid());
	a.to.fixed = rq->nwords > 2;
	code = apply_schema(rq, 2, &a);
	rq->schema = a.to;
	return code;
}

int parse_alter(struct request *rq)
{
	/*
	 * If no word says what to change, the schema is read from the standard
	 * input.
	 */
	if (rq->nwords == 2 && !rq->add.n && !rq->delete.n && !rq->schema_file)
		rq->schema_file = "-";
	return read_schema_text(rq);
}
