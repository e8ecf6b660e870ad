/*
 * What the failure of a call means.
 *
 * The classes of exceptions are HBase's; a table says of each the errno that
 * store.h has for it, and what helps. HBase marks those that no second try can
 * help (DoNotRetryIOException); of an unknown class that mark decides.
 */
#ifndef CELLFS_STORE_HBASE_CLUSTER_FAILURE_H
#define CELLFS_STORE_HBASE_CLUSTER_FAILURE_H

#include "store/hbase/wire/frame.h"
#include "store/os/os.h"

enum cure {
	CURE_NONE,    /* the same again would fail again */
	CURE_WAIT,    /* the same again, later */
	CURE_LOCATE,  /* ask again where the region, or the master, is */
	CURE_SCANNER, /* open the scanner again, where it was */
	CURE_DOUBT,   /* as CURE_WAIT, but it rarely helps: a few times */
};

struct failure {
	int err; /* negative errno for the caller, if nothing helps */
	uint8_t cure;
	/* Did the server refuse it? Else it may have been applied. */
	bool is_refused;
};

/*
 * Of the result @r of rpc_start() or rpc_wait() and, with -EREMOTEIO, what the
 * server says.
 */
struct failure failure_judge(int r, const struct pb_exception *x);
/* Of an action of several in one call, which has its exception as a class. */
struct failure failure_of_class(struct bytes class);
/*
 * The same, where the words tell more than the class: then *advice is what to do
 * or to know, else NULL.
 */
struct failure failure_of_words(struct bytes class, struct bytes words,
				const char **advice);

/* Is it an answer that another try, or another server, would give again? */
bool is_refusal(int r);

/* How often and how long something is tried. */
struct retry {
	struct os *os;
	uint64_t deadline_ns;
	unsigned tries;
};

/*
 * Waits until the next attempt is due: longer each time. 1, or 0 when no
 * attempt is left before the deadline, or for a cure that rarely helps, or when
 * the caller is gone (patience.h): then the last failure stands.
 */
int retry_wait(struct retry *retry, const struct failure *f);

#endif
