/*
 * Is T/.schema there?
 *
 * A table has a schema from its start to its end, and who reads it finds it.
 * But what restores a table makes the directory and then each file in it with
 * O_EXCL, since nothing can be there (cp, cpio, mv), or removes a file that is
 * there and makes it with O_EXCL (tar, install). The kernel refuses O_EXCL by
 * itself when a look-up has found the name, and a look-up does not say what it
 * is for. So .schema is absent
 *
 *   - for a few seconds after somebody has removed it, to everybody, or until
 *     it is made again: it comes back as it was;
 *   - to who made the table, when its first look for .schema is to create it
 *     and nobody has written it.
 *
 * How the kernel goes on after ESTALE tells the second case. The kernel walks
 * the path once more, keeps no attributes of the table meanwhile (their timeout
 * is 0), and needs them once to search the directory and once more to create:
 *
 *	stat, open		LOOKUP=ESTALE  GETATTR(T)  LOOKUP
 *	open(O_CREAT)		LOOKUP=ESTALE  GETATTR(T)  GETATTR(T)  LOOKUP
 *
 * (A mkdir of that name is not tried again: it gets ESTALE and not EEXIST.)
 *
 * rsync --ignore-existing asks by lstat(2) alone, and so does rsync --append,
 * which takes the text that is there for the beginning of its own. They are
 * known by their command line.
 *
 * Threads: any; the lock is innermost.
 */
#ifndef CELLFS_FS_KERNEL_SCHEMA_ABSENT_H
#define CELLFS_FS_KERNEL_SCHEMA_ABSENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct schema_absent {
	_Atomic bool any; /* is there anything of what follows? */
	_Atomic bool asked;
	pthread_mutex_t lock; /* guards all below */
	pid_t maker;	      /* who made the table; 0 = it does not matter */
	unsigned looks;	      /* at the table's attributes, while asked */
	bool promised;	      /* the maker was told that .schema is absent */
	int64_t until_ms;     /* it was removed; by the monotonic clock */
};

void schema_absent_init(struct schema_absent *s);
void schema_absent_destroy(struct schema_absent *s);

/* The thread @maker has made the table. */
void schema_absent_made(struct schema_absent *s, pid_t maker);
/* .schema was unlinked. */
void schema_absent_removed(struct schema_absent *s);
/* It was written, whoever did it. */
void schema_absent_written(struct schema_absent *s);
/* Is it absent to everybody? */
bool schema_absent_to_all(struct schema_absent *s);

/*
 * A look-up of .schema: 1 = it is there, 0 = it is not, -ESTALE = the kernel is
 * to ask once more, with no attributes of the table in its hands. @plain:
 * nobody wrote it.
 */
int schema_absent_look(struct schema_absent *s, pid_t who, bool plain);
/* A GETATTR of the table. */
void schema_absent_table_asked(struct schema_absent *s, pid_t who);
/* A LOOKUP of it: a walk begins, of which a rename has two. */
void schema_absent_table_found(struct schema_absent *s, pid_t who);
/* Is somebody between the two? No attributes of the table are kept then. */
static inline bool schema_absent_is_asked(struct schema_absent *s)
{
	return atomic_load_explicit(&s->asked, memory_order_relaxed);
}
/* CREATE with O_EXCL: was its absence told? From now on it is there. */
bool schema_absent_may_make(struct schema_absent *s, pid_t who);

#endif
