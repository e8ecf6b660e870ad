#include "fs/memory/draft.h"

#include <errno.h>

#include "store/value/why.h"

/*
 * Up to this a copy costs less than what the kernel does for new memory, and the
 * buffer is of the heap, which keeps the holes that a memtable's end leaves.
 */
#define OFFER_NOT ((size_t)256 << 10)

void draft_init(struct draft *d, struct budget *budget, size_t len_max)
{
	*d = (struct draft){.len_max = len_max};
	budget_share_init(&d->share, budget);
}

void draft_clear(struct draft *d)
{
	shared_free(&d->shared);
	(void)budget_hold(&d->share, 0);
}

static int too_big(const struct draft *d)
{
	return why(-EFBIG, "a value here is at most %zu bytes (max_value)",
		   d->len_max);
}

/* Makes space for @len bytes in all, within the budget. */
static int reserve(struct draft *d, size_t len)
{
	size_t cap = d->content.cap;
	int err;

	if (len <= cap)
		return 0;
	if (budget_hold(&d->share, budget_grown(cap, len)) < 0)
		return budget_say(d->share.budget, -ENOSPC);
	err = buf_reserve(&d->content, len - d->content.len);
	(void)budget_hold(&d->share, d->content.cap);
	return err ? why(err, "out of memory for a file being written") : 0;
}

/* Makes the content the draft's own, if a store may hold it, before it changes. */
static int own(struct draft *d)
{
	size_t len = d->content.len;
	int err;

	if (!d->shared.piece)
		return 0;
	if (budget_hold(&d->share, budget_grown(0, len)) < 0)
		return budget_say(d->share.budget, -ENOSPC);
	err = shared_own(&d->shared);
	return err ? why(err, "out of memory for a file being written") : 0;
}

struct piece *draft_offer(struct draft *d)
{
	if (d->content.len <= OFFER_NOT || shared_offer(&d->shared) < 0)
		return NULL;
	return d->shared.piece;
}

/* Gives the draft @len bytes; of those that are new the ones up to @zeros are 0. */
static int resize(struct draft *d, uint64_t len, uint64_t zeros)
{
	size_t old = d->content.len;
	int err;

	if (len > d->len_max)
		return too_big(d);
	err = own(d);
	if (!err)
		err = reserve(d, (size_t)len);
	if (err)
		return err;
	if (zeros > old)
		memset(d->content.data + old, 0, (size_t)zeros - old);
	d->content.len = (size_t)len;
	return 0;
}

int draft_write(struct draft *d, struct bytes data, uint64_t off)
{
	int err;

	if (off > d->len_max || data.len > d->len_max - off)
		return too_big(d);
	if (off + data.len > d->content.len)
		err = resize(d, off + data.len, off);
	else
		err = own(d);
	if (err)
		return err;
	if (data.len)
		memcpy(d->content.data + off, data.data, data.len);
	return 0;
}

int draft_truncate(struct draft *d, uint64_t len)
{
	return resize(d, len, len);
}

int draft_set(struct draft *d, struct bytes data)
{
	size_t old = d->content.len;
	int err = data.len > old ? resize(d, data.len, 0) : own(d);

	if (err)
		return err;
	if (data.len)
		memcpy(d->content.data, data.data, data.len);
	d->content.len = data.len;
	return 0;
}
