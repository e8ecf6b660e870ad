/*
 * The daemon's command line: STORE MOUNTPOINT [-o a,b=c] [-f] [-d].
 *
 * mount(8) calls it by the name mount.cellfs, and gives a helper the letters
 * that are its own: -f is then a mount that is only tried (--fake), and -t TYPE
 * and -N NAMESPACE say nothing new.
 *
 * Options are one table with their help. Options that mount(8) and fstab add
 * are accepted; unknown ones are refused by name, with the list of known ones.
 */
#ifndef CELLFS_FS_REPORT_OPTIONS_H
#define CELLFS_FS_REPORT_OPTIONS_H

#include <stdio.h>
#include <sys/types.h>

#include "store/value/bytes.h"

/* Which names a file that is no data may have. */
enum scratch_rule {
	SCRATCH_TEMP, /* those that tools use: scratch_names.h */
	SCRATCH_ANY,
};

/* What the daemon gives up: host/sandbox.h. */
enum sandbox_rule {
	SANDBOX_AUTO,	  /* what the kernel has */
	SANDBOX_NO,	  /* nothing */
	SANDBOX_REQUIRED, /* all of it, or an error */
};

struct options {
	char *store, *mountpoint;
	char *root;    /* the part to mount; NULL = all */
	char *run_as;  /* a user's name; NULL = who started it */
	char *log;     /* a file instead of syslog; NULL = syslog */
	char *metrics; /* where HTTP has them: host/listener.h; NULL = not */
	bool foreground;
	bool debug; /* libfuse's trace; implies foreground */
	bool help, version;
	bool fake; /* mount --fake: do all but mount */
	bool read_only;
	bool noexec;	   /* as mount(8) says it; not among cellfs's own */
	bool sync;	   /* every close is durable */
	bool nodelete;	   /* no deletes through the mount */
	bool show_control; /* listings show the unlisted names */
	bool strict_attr;  /* chmod and utimens below tables: EPERM */
	bool allow_other;
	bool insecure_store;  /* others may own or write its directory */
	bool io_uring;	      /* requests come over it: transport.h */
	uint8_t scratch;      /* enum scratch_rule */
	uint8_t sandbox;      /* enum sandbox_rule */
	uint64_t scratch_max; /* bytes of all scratch files; 0 = none */
	uint64_t memory;      /* bytes of what clients make the mount keep */
	uint64_t cache_bytes, write_buffer_bytes;
	uint64_t background_io; /* bytes a second; 0 = as fast as it goes */
	double attr_timeout_s, timeout_s;
	bool has_uid, has_gid, has_umask;
	uid_t uid;
	gid_t gid;
	mode_t umask;
};

/* 0, or -EINVAL with a reason in store_why(). Free @out in both cases. */
int options_parse(int argc, char **argv, struct options *out);
void options_free(struct options *o);
void options_help(FILE *to, const char *program);
/* Appends the options in force to @out, one a line. */
int options_format(const struct options *o, struct buf *out);

#endif
