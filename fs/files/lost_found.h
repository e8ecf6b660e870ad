/*
 * Scratch files that are left when the mount ends.
 *
 * Scratch files are in memory only. Those that exist at unmount are saved in
 * the store's directory lost+found, under a name made of their path:
 *
 *	/T/R/f/q/note.tmp -> lost+found/1795341609871-0,T,R,f,q,note.tmp
 *
 * and a person is told. Left out are empty files, which hold nothing: vim's
 * 4913, locks. kill -9 loses scratch files.
 */
#ifndef CELLFS_FS_FILES_LOST_FOUND_H
#define CELLFS_FS_FILES_LOST_FOUND_H

struct fs;

/* No request may run any more, and the store is still open. */
void lost_found_keep(struct fs *fs);

#endif
