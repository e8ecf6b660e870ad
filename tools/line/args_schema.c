/*
 * Parses a table's schema from words such as d:versions=5,ttl=1d.
 *
 * The attributes are those of the schema's text (schema.h). HBase's names and
 * values are translated into these first (attrs.h). A family may also be a hash of
 * HBase's shell, and the text what its describe prints (hash.h): this changes the
 * families that it names, and leaves others alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/line/args.h"
#include "tools/line/fail.h"
#include "fs/text/nearest.h"
#include "tools/shell/attrs.h"
#include "tools/shell/hash.h"

/* Notes are said once, also when a schema is made again (table_edit()). */
static bool is_noted;

/* Says what of HBase's attribute is not as it was there. */
static void note(const char *family, const char *name, const char *value,
		 const struct attr_text *as)
{
	if (is_noted)
		return;
	if (as->replaced)
		fprintf(stderr, "cellctl: note: family %s: %s %s becomes %s\n",
			family, name, value, as->value);
	else if (as->left_out && !as->off)
		fprintf(stderr,
			"cellctl: note: family %s: %s %s is left out: it "
			"means nothing here\n",
			family, name, value);
}

static int set_attr(const char *family, const char *name, const char *value,
		    struct family_attrs *a)
{
	struct nearest near;
	struct family_attr attr;
	struct attr_text as;
	int r;

	attr_translate(name, value, &as);
	note(family, name, value, &as);
	if (as.left_out)
		return EXIT_DONE;
	r = family_attr_set(a, bytes_str(as.name), bytes_str(as.value));
	if (r == 0)
		return EXIT_DONE;
	if (r == -EINVAL)
		return fail_usage("family %s: %s", family, store_why());
	nearest_init(&near, as.name);
	for (unsigned i = 0; family_attr_get(a, i, &attr); i++)
		nearest_offer(&near, attr.word);
	return fail_nearest(&near, "", "family %s: there is no attribute '%s'",
			    family, as.name);
}

/* Applies ATTR=VALUE, which is cut in two. */
static int apply_attr(const char *family, char *text, struct family_attrs *a)
{
	char *equals = strchr(text, '=');

	if (!equals || equals == text)
		return fail_usage("'%s:%s' is no FAMILY:ATTRIBUTE=VALUE,...",
				  family, text);
	*equals = '\0';
	return set_attr(family, text, equals + 1, a);
}

enum {
	MAY_CHANGE = 1,
	MAY_ADD = 2,
};

/* The attributes to change: those of the family, or of a new one. */
static int begin_family(struct schema *schema, const char *name, int may,
			struct family_attrs *attrs)
{
	int i = schema_find(schema, bytes_str(name));

	if (i >= 0 && !(may & MAY_CHANGE))
		return fail_usage("family '%s' exists already", name);
	family_attrs_default(attrs);
	if (i >= 0)
		*attrs = schema->families[i].attrs;
	return EXIT_DONE;
}

static int end_family(struct schema *schema, const char *name,
		      const struct family_attrs *attrs)
{
	int i = schema_find(schema, bytes_str(name));
	int r = family_attrs_check(attrs);

	if (r == 0 && i >= 0)
		schema->families[i].attrs = *attrs;
	else if (r == 0)
		r = schema_add(schema, bytes_str(name), attrs);
	return r < 0 ? fail_usage("family '%s': %s", name, store_why())
		     : EXIT_DONE;
}

/* What is of the whole table: quota=SIZE. */
static int apply_table_word(struct schema *schema, const char *word)
{
	if (strncmp(word, "quota=", 6) != 0)
		return fail_usage("'%s' names no family: FAMILY:%s, or "
				  "quota=SIZE for the table",
				  word, word);
	return schema_set_quota(schema, bytes_str(word + 6)) < 0
		       ? fail_usage("%s", store_why())
		       : EXIT_DONE;
}

/* Applies FAMILY[:ATTR=VALUE,...] to @schema. */
static int apply_family(struct schema *schema, const char *word, int may)
{
	char *copy, *colon, *part, *left;
	struct family_attrs attrs;
	int code;

	if (strchr(word, '=') && !strchr(word, ':'))
		return apply_table_word(schema, word);
	copy = strdup(word);
	if (!copy)
		return fail_memory();
	colon = strchr(copy, ':');
	if (colon)
		*colon = '\0';
	code = begin_family(schema, copy, may, &attrs);
	left = colon ? colon + 1 : NULL;
	while (code == EXIT_DONE && left && *left) {
		part = strsep(&left, ",");
		code = apply_attr(copy, part, &attrs);
	}
	if (code == EXIT_DONE)
		code = end_family(schema, copy, &attrs);
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

/* A family as HBase's shell says it, in two readings: its name, then the rest. */
struct hash_family {
	char name[FAMILY_LEN_MAX + 1];
	bool named, gone; /* METHOD => 'delete' */
	struct family_attrs *attrs;
};

static int hash_name(void *arg, const char *key, const char *value)
{
	struct hash_family *f = arg;

	if (!strcasecmp(key, "NAME")) {
		f->named = strlen(value) < sizeof(f->name);
		snprintf(f->name, sizeof(f->name), "%s", value);
	}
	f->gone |= !strcasecmp(key, "METHOD") && !strcasecmp(value, "delete");
	return EXIT_DONE;
}

static int hash_attr(void *arg, const char *key, const char *value)
{
	struct hash_family *f = arg;

	if (!strcasecmp(key, "NAME"))
		return EXIT_DONE;
	return set_attr(f->name, key, value, f->attrs);
}

/* Applies {NAME => FAMILY, ATTRIBUTE => VALUE, ...}, and moves *text behind. */
static int apply_hash(struct schema *schema, const char **text, int may)
{
	struct hash_family f = {0};
	struct family_attrs attrs;
	const char *from = *text;
	int r = hash_read(text, hash_name, &f);

	if (r < 0)
		return fail_usage("%s", store_why());
	if (!f.named)
		return fail_usage("'%.40s' has no NAME of a family", from);
	if (f.gone && may & MAY_CHANGE)
		return remove_family(schema, f.name);
	r = begin_family(schema, f.name, may, &attrs);
	f.attrs = &attrs;
	if (r == EXIT_DONE)
		r = hash_read(&from, hash_attr, &f);
	return r ? r : end_family(schema, f.name, &attrs);
}

/* Applies hashes with commas between and behind them. */
static int apply_hashes(struct schema *schema, const char *text, int may)
{
	int code;

	do {
		code = apply_hash(schema, &text, may);
		text += strspn(text, ", ");
	} while (code == EXIT_DONE && hash_begins(text));
	if (code == EXIT_DONE && *text)
		return fail_usage("'%s' is too much", text);
	return code;
}

static int apply_word(struct schema *schema, const char *word, int may)
{
	char *hash;
	int code;

	if (hash_begins(word))
		return apply_hashes(schema, word, may);
	if (!hash_is_bare(word))
		return apply_family(schema, word, may);
	if (asprintf(&hash, "{%s}", word) < 0)
		return fail_memory();
	code = apply_hashes(schema, hash, may);
	free(hash);
	return code;
}

/*
 * Does the text come from HBase's describe? Then a line of it begins with the hash
 * of a family.
 */
static const char *next_hash(const char *text)
{
	for (; text; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (*text == '{')
			return text;
	}
	return NULL;
}

static bool is_describe(const struct request *rq)
{
	return next_hash((const char *)rq->schema_text.data);
}

/* Says which attributes of the whole table are left out, but how HBase stores it. */
static int note_table(void *arg, const char *key, const char *value)
{
	if (!strcmp(key, "TABLE_ATTRIBUTES"))
		return hash_read(&value, note_table, arg);
	if (strcmp(key, "METADATA") != 0 && !is_noted)
		fprintf(stderr,
			"cellctl: note: %s %s of the table is left out: it "
			"means nothing here\n",
			key, value);
	return EXIT_DONE;
}

/* Applies the families of HBase's describe; no other line says anything of them. */
static int apply_describe(const struct request *rq, struct schema *schema,
			  int may)
{
	const char *at = (const char *)rq->schema_text.data;
	const char *table = strstr(at, "{TABLE_ATTRIBUTES");
	int code = EXIT_DONE;

	if (table && hash_read(&table, note_table, NULL) < 0)
		return fail_usage("%s", store_why());
	while (code == EXIT_DONE && (at = next_hash(at)))
		code = apply_hash(schema, &at, may);
	return code;
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
	/* The text ends with a NUL, which is not counted. */
	if (code == EXIT_DONE && buf_append(&rq->schema_text, "", 1) < 0)
		code = fail_memory();
	if (code == EXIT_DONE)
		rq->schema_text.len--;
	/*
	 * A schema is never empty: the program that should write it has failed.
	 */
	if (code == EXIT_DONE && !rq->schema_text.len) {
		why(-EINVAL, "the schema's text is empty");
		return fail_store(strcmp(rq->schema_file, "-") != 0
					  ? rq->schema_file
					  : "the standard input");
	}
	return code;
}

static bool names_family(const char *word, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(word, name, len) && (!word[len] || word[len] == ':');
}

/* Drops the @i-th family to be dropped, which nothing else may name. */
static int apply_delete(const struct request *rq, size_t i,
			struct schema *schema)
{
	const char *name = rq->delete.texts[i];
	bool named = false;

	for (int k = 2; k < rq->nwords; k++)
		named |= names_family(rq->words[k], name);
	for (size_t k = 0; k < rq->add.n; k++)
		named |= names_family(rq->add.texts[k], name);
	if (named)
		return fail_usage("family '%s' is to be dropped, and to be "
				  "otherwise: say one of them",
				  name);
	return remove_family(schema, name);
}

int apply_schema(const struct request *rq, struct alter *a)
{
	int may = rq->table ? MAY_CHANGE | MAY_ADD : MAY_ADD;
	struct schema *schema = &a->to;
	int code = EXIT_DONE;

	if (rq->schema_file && is_describe(rq))
		code = apply_describe(rq, schema, may);
	else if (rq->schema_file)
		code = replace_by_text(rq, a);
	for (int i = 2; code == EXIT_DONE && i < rq->nwords; i++)
		code = apply_word(schema, rq->words[i], may);
	for (size_t i = 0; code == EXIT_DONE && i < rq->add.n; i++)
		code = apply_family(schema, rq->add.texts[i], MAY_ADD);
	for (size_t i = 0; code == EXIT_DONE && i < rq->delete.n; i++)
		code = apply_delete(rq, i, schema);
	is_noted = true;
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
	a.to.fixed = rq->nwords > 2 || is_describe(rq);
	code = apply_schema(rq, &a);
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
