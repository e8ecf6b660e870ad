/*
 * The hashes of HBase's shell, as it takes and prints them:
 *
 *	{NAME => 'd', VERSIONS => 5, COLUMNS => ['d:a', 'd:b'], SUB => {...}}
 *
 * Blanks and line ends are where they like. A text is in single or double quotes,
 * in which a backslash before a quote is left out and others stay; anything else
 * up to a comma or bracket is a word.
 */
#ifndef CELLFS_TOOLS_SHELL_HASH_H
#define CELLFS_TOOLS_SHELL_HASH_H

#include "store/value/bytes.h"

/*
 * Is called for each pair; of a list for each of its members. A hash within is the
 * text "{...}". What is not 0 ends the reading and is its result.
 */
typedef int hash_pair(void *arg, const char *key, const char *value);

/* Does the text begin with a hash? */
bool hash_begins(const char *text);
/* Does it begin with KEY => VALUE, as in a hash whose brackets are left out? */
bool hash_is_bare(const char *text);
/*
 * Reads the hash at *text and moves it behind. 0; what @take gave; -EINVAL with a
 * reason; -ENOMEM.
 */
int hash_read(const char **text, hash_pair *take, void *arg);

#endif
