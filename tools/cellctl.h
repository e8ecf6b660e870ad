/*
 * What the commands of cellctl share.
 */
#ifndef CELLFS_TOOLS_CELLCTL_H
#define CELLFS_TOOLS_CELLCTL_H

#include "tools/line/args.h"
#include "tools/line/fail.h"
#include "tools/line/opened.h"

extern const struct command cellctl_commands[]; /* ends with name NULL */

#endif
