/*
 * Attributes of a family in HBase's words as those of the schema's text.
 *
 * Names and values are in any case. A number of versions without limit is "all",
 * a TTL without a unit is in seconds and may be "1 DAY 2 HOURS", of "7776000
 * SECONDS (90 DAYS)" and "65536 B (64KB)" the number counts; other words behind a
 * number stay, for the schema to refuse. What compresses is zlib. What only says how HBase's
 * files are made, cached or copied means nothing here.
 */
#ifndef CELLFS_TOOLS_SHELL_ATTRS_H
#define CELLFS_TOOLS_SHELL_ATTRS_H

#include <stdbool.h>

struct attr_text {
	char name[64], value[64];
	bool left_out; /* it means nothing here */
	bool off;      /* and is off there, so that nothing is lost */
	bool replaced; /* the value is the nearest that there is */
};

void attr_translate(const char *name, const char *value, struct attr_text *out);

#endif
