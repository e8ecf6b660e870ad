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
	bool counter = take_bool(d);
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

/* Fetches all figures; called when the first one is asked for. */
static int fetch_figures(struct remote *r)
{
	struct call c;
	uint32_t n;
	int result;

	call_begin(&c, r, WIRE_STATS);
	result = call_run(&c);
	if (result >= 0) {
		int err = 0;

		pthread_mutex_lock(&r->lock);
		n = take_u32(&c.in);
		if (n > FIGURES_MAX || n < r->nfigures)
			c.in.bad = true;
		for (uint32_t i = 0; err == 0 && !c.in.bad && i < n; i++)
			err = take_figure(&c.in, r, i);
		pthread_mutex_unlock(&r->lock);
		result = err < 0 ? err : call_taken(&c, 0);
	}
	call_end(&c);
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
