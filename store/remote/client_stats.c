/*
 * The client's copy of the store's figures.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/remote/client_inside.h"

static char *copy(struct bytes s)
{
	return strndup((const char *)s.data, s.len);
}

/* A figure's name must not change or move, since callers keep pointers. */
static int take_figure(struct decoder *d, struct remote *r, size_t i)
{
	struct bytes name = take_bytes(d, 256), help = take_bytes(d, 1024);
	bool counter = take_u8(d);
	uint64_t value = take_u64(d);
	struct figure *f = &r->figures[i];

	if (d->bad)
		return 0;
	if (i == r->nfigures) {
		*f = (struct figure){copy(name), copy(help), false, 0};
		if (!f->name || !f->help) {
			free(f->name);
			free(f->help);
			return why(-ENOMEM, "out of memory for figures");
		}
		r->nfigures++;
	} else if (!bytes_eq(bytes_str(f->name), name)) {
		d->bad = true;
		return 0;
	}
	f->counter = counter;
	f->value = value;
	return 0;
}

/* REQUIRES: lock. */
static int take_figures(struct decoder *d, struct remote *r)
{
	uint32_t n = take_u32(d);
	int err = 0;

	if (n > FIGURES_MAX || n < r->nfigures)
		d->bad = true;
	for (uint32_t i = 0; err == 0 && !d->bad && i < n; i++)
		err = take_figure(d, r, i);
	return err;
}

/* Fetches all figures; called when the first one is asked for. */
static int fetch_figures(struct remote *r)
{
	struct field got[FIELDS_MAX] = {0};
	struct buf reply = {0};
	struct decoder d;
	int result = call_holding(r, WIRE_STATS, NULL, got, &reply);

	if (result == 0) {
		d = decoder_of(got[0].s);
		pthread_mutex_lock(&r->lock);
		result = take_figures(&d, r);
		pthread_mutex_unlock(&r->lock);
		if (result == 0 && (d.bad || decoder_left(&d)))
			result = call_nonsense(r);
	}
	buf_free(&reply);
	return result;
}

int remote_stat(struct store *s, unsigned i, struct store_stat *out)
{
	struct remote *r = remote_of(s);
	int result = i == 0 ? fetch_figures(r) : 0;

	if (result < 0)
		return result;
	pthread_mutex_lock(&r->lock);
	if (i < r->nfigures) {
		const struct figure *f = &r->figures[i];

		*out = (struct store_stat){f->name, f->help, f->counter,
					   f->value};
		result = 1;
	}
	pthread_mutex_unlock(&r->lock);
	return result;
}
