#include "store/hold.h"

#include <errno.h>
#include <stdlib.h>

#include "store/front/front.h"

int store_hold(struct store *s, struct hold **out)
{
	struct hold *h = NULL;
	int r;

	front_begin();
	r = s->ops->hold
		    ? s->ops->hold(s, &h)
		    : why(-EOPNOTSUPP,
			  "this store has no files of its own to be "
			  "carried: take a snapshot, or export its tables");
	if (r < 0)
		return front_end(s, r);
	h->store = s;
	*out = h;
	return 0;
}

int store_keep_log(struct store *s, uint64_t bytes)
{
	int r;

	front_begin();
	r = s->ops->keep_log
		    ? s->ops->keep_log(s, bytes)
		    : why(-EOPNOTSUPP, "this store has no log of its own to be "
				       "kept");
	return front_end(s, r);
}

void hold_release(struct hold *h)
{
	if (!h)
		return;
	free(h->files);
	buf_free(&h->catalog);
	h->store->ops->hold_release(h);
}
