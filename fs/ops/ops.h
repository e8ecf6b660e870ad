/*
 * The requests of the kernel, one function each.
 *
 * An op decodes, calls a do_x() that works on places, and replies once. The
 * files: ops.c (the table, forget, statfs), ops_lookup.c, ops_dir.c,
 * ops_read.c (open, read, release), ops_write.c (create, write, flush, fsync),
 * ops_make.c, ops_remove.c, ops_rename.c and ops_setattr.c.
 *
 * Extended attributes answer ENOSYS once, so that the kernel never asks
 * again; it says EOPNOTSUPP to callers.
 */
#ifndef CELLFS_FS_OPS_OPS_H
#define CELLFS_FS_OPS_OPS_H

#include "fs/tree/fs.h"

/* All of them, for fuse_session_new(); userdata is the struct fs. */
const struct fuse_lowlevel_ops *fs_ops(void);

/* A request that was handed to a thread apart: transport.h. */
void ops_serve_apart(struct transport_request *r);

/* ops_lookup.c */
void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

/* ops_dir.c */
void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		struct fuse_file_info *fi);
void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi);
void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync,
		 struct fuse_file_info *fi);

/* ops_read.c */
void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
	     struct fuse_file_info *fi);
void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

/* ops_write.c */
void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *fi);
void op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size,
	      off_t off, struct fuse_file_info *fi);
void op_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned cmd, void *arg,
	      struct fuse_file_info *fi, unsigned flags, const void *in,
	      size_t in_size, size_t out_size);
void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
	      struct fuse_file_info *fi);
void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off,
		  off_t len, struct fuse_file_info *fi);

/* ops_setattr.c */
void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		struct fuse_file_info *fi);

/* ops_make.c */
void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	      dev_t rdev);
void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t newparent,
	     const char *newname);
void op_symlink(fuse_req_t req, const char *link, fuse_ino_t parent,
		const char *name);

/* ops_remove.c */
void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);

/* ops_rename.c */
void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
	       fuse_ino_t newparent, const char *newname, unsigned flags);

#endif
