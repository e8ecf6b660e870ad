#include "tools/shell/attrs.h"

#include <ctype.h>
#include <stdio.h>
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

/* Cuts off the blank and the words behind a number. */
static void cut_words(char *value)
{
	size_t n = strspn(value, "0123456789");

	if (n && value[n] == ' ')
		value[n] = '\0';
}

void attr_translate(const char *name, const char *value, struct attr_text *out)
{
	size_t n;

	*out = (struct attr_text){.left_out = false};
	snprintf(out->name, sizeof(out->name), "%s", name);
	snprintf(out->value, sizeof(out->value), "%s", value);
	for (char *p = out->name; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	out->left_out = among(out->name, left_out, COUNT(left_out));
	out->off = out->left_out && among(value, offs, COUNT(offs));
	replace(out->name, names, COUNT(names));
	replace(out->value, values, COUNT(values));
	cut_words(out->value);
	n = strspn(out->value, "0123456789");
	if (!strcmp(out->name, "compression") &&
	    among(value, codecs, COUNT(codecs))) {
		strcpy(out->value, "zlib");
		out->replaced = true;
	} else if (!strcmp(out->value, "2147483647")) {
		if (!strcmp(out->name, "ttl"))
			strcpy(out->value, "forever");
		else if (!strcmp(out->name, "versions"))
			strcpy(out->value, "all");
	} else if (!strcmp(out->name, "ttl") && n && !out->value[n] &&
		   n + 2 < sizeof(out->value)) {
		strcat(out->value, "s");
	}
}
