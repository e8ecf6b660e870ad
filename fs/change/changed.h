/*
 * What goes before a change and what follows it.
 *
 * A file of the tree, the lines of a stream and a program that has
 * .cellfs/store open change the same store, and the same follows. It is found
 * by the keys of the mutation, whichever path the change took:
 *
 *	before	The directories above a cell that a file deletes are kept in
 *		memory; those above what others delete go, but for the ones in
 *		which something is in memory (directories.h).
 *	after	At the first cell with a ttl of its own (fstable.h) the kernel
 *		drops what it keeps of the table.
 *		Look-ups under way learn that the row has changed (changes.h).
 *		A version that was moved aside and is written anew is shown
 *		(moved.h).
 *		Directories that now hold a cell leave memory (not those that
 *		a stream fills). After a delete the store is asked for one only
 *		if it may have left a version, or if a put meanwhile had to leave
 *		that to the delete (overlay.h).
 *		The kernel drops what it keeps of the row (invalidate.h):
 *
 *	put			the column's attributes; the version, if it has
 *				another value or was absent; those pushed out
 *	delete of a version	the version; the column's attributes and time
 *	delete of a column,	a file: all versions, as the directories stay;
 *	family or row		others: the name of what is gone
 *
 * But for what the kernel does itself: it gives the directory a new time in which
 * it makes or removes a file. A file that it makes is published later, so its
 * column is told of that if the kernel was given older attributes meanwhile
 * (nodes_believe(), nodes_shows()), or may keep names that it listed.
 *
 * Of F:Q the kernel hears before the change is replied to (invalidate_now()), as
 * its attributes are believed for long; a notice about its name could not be
 * waited for. If it has gone, the kernel that asks for attributes is told to look
 * its name up again. While somebody has it open, there is something to tell of
 * it, so all names are looked up again then (changed_aliases_gone()).
 *
 * Only nodes that the kernel knows are told, so a change of what nobody has
 * looked at costs a few probes. A notice too many costs the kernel a look-up.
 * Where it is not known what exactly has gone, the whole column, family or row
 * is told. Views get no notices: the kernel keeps their entries for a second
 * only.
 *
 * Notices are queued: while the kernel waits for the answer to a request it may
 * hold a lock that the notice needs. For a program that changes the store by
 * .cellfs/store the kernel holds none, so its request waits until the kernel
 * has taken the notices. A change in .put and the end of a stream wait for them
 * too (changed_wait()), but only for a moment.
 *
 * Threads: any. Who waits holds no lock that a request of the kernel needs.
 */
#ifndef CELLFS_FS_CHANGE_CHANGED_H
#define CELLFS_FS_CHANGE_CHANGED_H

#include "fs/tree/fs.h"
#include "store/served.h"

/* Who changes a table. */
struct changer {
	struct fs *fs;
	struct fstable *table;
	uint64_t node;		  /* the table's; 0 = the kernel has none */
	const struct place *file; /* by which it is changed, or NULL */
	bool put;		  /* by a path in .put */
	bool program;
	/*
	 * By changed_before(): behind a version that is deleted there are others, or
	 * some may be seen again.
	 */
	bool left;
	/* And of what only puts: overlay_deletes() of the row. */
	uint64_t deletes;
};
/* Who changes other than by a file, such as a stream, at the place. */
struct changer changer_at(struct fs *fs, const struct place *p);
/*
 * False when the kernel does not know the table of a program, which is in the
 * mount's root or is the root. Else w->table is a reference.
 */
bool changer_program(struct fs *fs, struct table *t, struct changer *w);

/*
 * table_mutate() of the file's table with all that goes before and follows.
 * Returns what table_mutate() does.
 */
int changed_mutate(struct fs *fs, const struct place *file, struct mutation *m,
		   unsigned flags);
/*
 * The parts of changed_mutate(), for who mutates otherwise. changed_before()
 * returns the number of the delete for changed_after(). @done: the mutation was
 * applied, or may be in part.
 */
uint64_t changed_before(struct changer *w, const struct mutation *m);
void changed_after(const struct changer *w, const struct mutation *m,
		   uint64_t turn, bool done);
/*
 * changed_after() of the lines of a stream, of which the first @done rows were
 * applied.
 */
void changed_many(const struct changer *w, const struct mutation *rows,
		  size_t n, size_t done);
/* changes_begin() and changes_end() of @n rows. */
void changed_begin(struct fs *fs, const struct table *t,
		   const struct mutation *rows, size_t n);
void changed_end(struct fs *fs, const struct table *t,
		 const struct mutation *rows, size_t n);
/* May one of these be of the file's row? */
bool changed_under_way(struct fs *fs, const struct place *file);
/* The version @file is seen no more, though the store has it: see moved.h. */
void changed_hidden(struct fs *fs, const struct place *file);

/*
 * Some F:Q may have gone whose attributes the kernel asks for: who has it open is
 * told of a file without a link, and others are to find none by its name.
 */
void changed_aliases_gone(struct fs *fs);
/* Everything beneath that node may be another, or gone. */
void changed_below(struct fs *fs, uint64_t node);

/* The same of the rows that a program changes. */
void changed_rows_before(struct fs *fs, struct table *t,
			 const struct mutation *rows, size_t n);
void changed_rows(struct fs *fs, struct table *t, const struct mutation *rows,
		  size_t n);

/*
 * The directory of that node got or lost an entry by a request of the kernel:
 * it has a new time. In .put the kernel has heard of it on return.
 */
void changed_entries(struct fs *fs, uint64_t dir);
/* The same without the wait. Is there something to wait for? */
bool changed_entries_later(struct fs *fs, uint64_t dir);
/* mkdir made or rmdir removed a directory of data, or of scratch files. */
void changed_directory(struct fs *fs, const struct place *dir);
/* A node has another name: @from is @to. */
void changed_name(struct fs *fs, const struct place *from,
		  const struct place *to);
/* Waits, for a moment, until the kernel has heard of what was changed so far. */
void changed_wait(struct fs *fs);
/* The same, if that was by a path in .put. */
void changed_wait_put(struct fs *fs, const struct place *file);

/* A table was dropped or renamed. */
void changed_table_dropped(struct fs *fs, struct bytes name);
void changed_table_renamed(struct fs *fs, struct bytes from, struct bytes to);
/* The schema of the table with that node is another: all beneath has other attributes. */
void changed_schema(struct fs *fs, uint64_t node);
/*
 * A program changes something other than rows, and then has changed it, or failed to:
 * @result.
 */
void changed_by_program_before(struct fs *fs, const struct served_act *act);
void changed_by_program(struct fs *fs, const struct served_act *act,
			int result);

#endif
