/*
 * The name of a cluster, and what it asks for:
 *
 *	hbase://HOST[:PORT][,HOST[:PORT]...][/][?SETTING=VALUE[&SETTING=VALUE...]]
 *
 * A name is the one thing that the mount, fstab, cellctl and programs all give,
 * so what is set for a cluster stands in it. In a value %HH is a byte. A setting
 * that is not known, comes twice or says nothing beside the others is refused.
 */
#ifndef CELLFS_STORE_HBASE_BACKEND_NAME_H
#define CELLFS_STORE_HBASE_BACKEND_NAME_H

#include "store/hbase/transport/security.h"

struct hbase_name {
	char masters[1024]; /* as struct cluster_options has them */
	struct security security;
	uint32_t timeout_ms; /* of a call with all its tries; 0 = not said */
};

/* 0, or -EINVAL and in why() the setting, and which ones there are. */
int hbase_name_parse(const char *path, struct hbase_name *out);

#endif
