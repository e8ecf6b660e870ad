/*
 * Keys in memory: for the programs of this project, not for a library, since it
 * concerns the whole process.
 */
#ifndef CELLFS_STORE_KEYS_H
#define CELLFS_STORE_KEYS_H

/*
 * To be called before store_open(): if @path names a cluster that is asked for
 * Kerberos or TLS, the process leaves no core dump from now on, and nobody may
 * debug it.
 */
void store_hide_keys(const char *path);

#endif
