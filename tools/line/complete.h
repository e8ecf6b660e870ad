/*
 * What may stand next on a command line of cellctl, for shells.
 *
 *	cellctl complete WORD...	the last word is the one begun
 *
 * prints one candidate a line: commands; options of the command; and of a store
 * its tables, families, namespaces and snapshots, as the usage of the command
 * names the word. A line ":directories" asks the shell for names of directories,
 * ":files" for those of files. It finds nothing where the store cannot be opened,
 * says no error, and waits for nobody.
 */
#ifndef CELLFS_TOOLS_LINE_COMPLETE_H
#define CELLFS_TOOLS_LINE_COMPLETE_H

#include "tools/line/command.h"

/* @words begin behind "complete". Returns an exit code. */
int complete(const struct command *commands, int n, char **words);

#endif
