/*
 * Options as HBase's shell writes them, as those of cellctl:
 *
 *	{LIMIT => 5, COLUMNS => ['d:a', 'd:b']}	--limit=5 --column=d:a --column=d:b
 *	STARTROW => 'b'				--startrow=b
 *
 * A word that begins so is taken apart before options are read; it names the
 * option, whatever that is, so that one that does not exist is refused as any.
 * What only says how HBase's servers go about it is passed over.
 */
#ifndef CELLFS_TOOLS_LINE_CAPITALS_H
#define CELLFS_TOOLS_LINE_CAPITALS_H

#include "tools/line/request.h"

struct capitals {
	int argc;
	char **argv; /* ends with NULL */
	char **made; /* those of argv that are not the caller's */
	size_t nmade, cap[2];
	char *from; /* of a TIMERANGE */
};

/* 0, or an exit code after the failure was printed. @argv[0] is the command. */
int capitals_expand(struct capitals *c, const struct command *command, int argc,
		    char **argv);
void capitals_free(struct capitals *c);

#endif
