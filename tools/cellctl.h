/*
 * What the commands of cellctl share.
 */
#ifndef CELLFS_TOOLS_CELLCTL_H
#define CELLFS_TOOLS_CELLCTL_H

#include "tools/args.h"
#include "tools/fail.h"
#include "tools/opened.h"

extern const struct command cellctl_commands[]; /* ends with name NULL */

#endif
