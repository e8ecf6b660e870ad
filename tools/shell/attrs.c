#include "tools/shell/attrs.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct synonym {
	const char *hbase, *ours;
} names[] = {
	{"keep_deleted_cells", "keep_deleted"},
	{"bloomfilter", "bloom"},
	{"blocksize", "block_size"},
	{"blockcache", "block_cache"},
};

static const struct synonym values[] = {
	{"true", "yes"},  {"false", "no"},	{"gz", "zlib"},
	{"yes", "yes"},	  {"no", "no"},		{"ttl", "ttl"},
	{"none", "none"}, {"zlib", "zlib"},	{"row", "row"},
	{"all", "all"},	  {"rowcol", "rowcol"}, {"forever", "forever"},
};

/* Codecs that HBase has besides. */
static const char *const codecs[] = {"snappy", "lz4", "zstd", "lzo", "bzip2"};

static const char *const left_out[] = {
	"cache_blooms_on_write",
	"cache_data_on_write",
	"cache_index_on_write",
	"compression_compact",
	"compression_compact_major",
	"compression_compact_minor",
	"configuration",
	"data_block_encoding",
	"dfs_replication",
	"evict_blocks_on_close",
	"in_memory_compaction",
	"index_block_encoding",
	"is_mob",
	"metadata",
	"mob_compact_partition_policy",
	"mob_threshold",
	"prefetch_blocks_on_open",
	"replication_scope",
	"storage_policy",
};

static const char *const offs[] = {"none", "false", "0", "default", "{}", ""};

/* Is the word in the list, in any case? */
static bool among(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcasecmp(word, list[i]))
			return true;
	return false;
}

static void replace(char *text, const struct synonym *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcasecmp(text, list[i].hbase)) {
			strcpy(text, list[i].ours);
			return;
		}
}

#define DIGITS "0123456789"

/* Cuts off " SECONDS (90 DAYS)", or another @unit, behind a number. */
static void cut_unit(char *value, const char *unit)
{
	size_t n = strspn(value, DIGITS), len = strlen(unit);
	const char *rest = value + n;

	if (!n || *rest++ != ' ' || strncasecmp(rest, unit, len) != 0)
		return;
	if (!rest[len] || !strncmp(rest + len, " (", 2))
		value[n] = '\0';
}

/* Passes @word, in any case and perhaps with an s behind it. NULL: not there. */
static const char *pass_word(const char *p, const char *word)
{
	size_t n = strlen(word);

	if (strncasecmp(p, word, n) != 0)
		return NULL;
	p += n + (tolower((unsigned char)p[n]) == 's');
	return *p && *p != ' ' ? NULL : p + strspn(p, " ");
}

/* Reads "1 DAY 2 HOURS", the greatest unit first. Is it so? */
static bool read_interval(const char *p, unsigned long long *seconds)
{
	static const struct {
		const char *word;
		unsigned seconds;
	} units[] = {
		{"day", 86400}, {"hour", 3600}, {"minute", 60}, {"second", 1}};
	size_t next = 0;

	for (*seconds = 0; *p; next++) {
		size_t n = strspn(p, DIGITS);
		unsigned long long number = strtoull(p, NULL, 10);
		const char *rest = NULL;

		if (n == 0 || n > 10)
			return false;
		p += n + strspn(p + n, " ");
		for (; next < COUNT(units); next++) {
			rest = pass_word(p, units[next].word);
			if (rest)
				break;
		}
		if (!rest)
			return false;
		*seconds += number * units[next].seconds;
		p = rest;
	}
	return next > 0;
}

/* A ttl as the schema's text has it. */
static void translate_ttl(char *value, size_t size)
{
	unsigned long long seconds;

	cut_unit(value, "seconds");
	if (!strcmp(value, "2147483647"))
		strcpy(value, "forever");
	else if (read_interval(value, &seconds))
		snprintf(value, size, "%llus", seconds);
	else if (*value && !value[strspn(value, DIGITS)] &&
		 strlen(value) + 2 < size)
		strcat(value, "s");
}

void attr_translate(const char *name, const char *value, struct attr_text *out)
{
	*out = (struct attr_text){.left_out = false};
	snprintf(out->name, sizeof(out->name), "%s", name);
	snprintf(out->value, sizeof(out->value), "%s", value);
	for (char *p = out->name; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	out->left_out = among(out->name, left_out, COUNT(left_out));
	out->off = out->left_out && among(value, offs, COUNT(offs));
	replace(out->name, names, COUNT(names));
	replace(out->value, values, COUNT(values));
	if (!strcmp(out->name, "ttl"))
		translate_ttl(out->value, sizeof(out->value));
	else
		cut_unit(out->value, "B");
	if (!strcmp(out->name, "versions") && !strcmp(out->value, "2147483647"))
		strcpy(out->value, "all");
	if (!strcmp(out->name, "compression") &&
	    among(value, codecs, COUNT(codecs))) {
		strcpy(out->value, "zlib");
		out->replaced = true;
	}
}
