/*
 * The client's questions about the store itself.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/os/os.h"
#include "store/remote/client_inside.h"

static int table_call(struct store *s, enum wire_op op, struct table *t)
{
	struct call c;

	call_begin(&c, remote_of(s), op);
	put_u32(&c.out, table_handle(t));
	return call_plain(&c);
}

int remote_flush(struct store *s, struct table *t)
{
	return table_call(s, WIRE_FLUSH, t);
}

int remote_compact(struct store *s, struct table *t)
{
	return table_call(s, WIRE_COMPACT, t);
}

int remote_table_info(struct table *t, struct table_info *out)
{
	struct table_info i = {0};
	struct call c;
	int r;

	call_begin(&c, remote_of(t->store), WIRE_TABLE_INFO);
	put_u32(&c.out, table_handle(t));
	r = call_run(&c);
	if (r >= 0) {
		i.exact = take_bool(&c.in);
		i.rows = take_u64(&c.in);
		i.cells = take_u64(&c.in);
		i.oldest = take_i64(&c.in);
		i.newest = take_i64(&c.in);
		i.entries = take_u64(&c.in);
		i.bytes = take_u64(&c.in);
		i.files = take_u64(&c.in);
		i.has_ttl = take_bool(&c.in);
		r = call_taken(&c, 0);
	}
	if (r >= 0)
		*out = i;
	call_end(&c);
	return r;
}

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

int remote_space(struct store *s, struct store_space *out)
{
	struct store_space space;
	struct call c;
	int r;

	call_begin(&c, remote_of(s), WIRE_SPACE);
	r = call_run(&c);
	if (r >= 0) {
		space.total_bytes = take_u64(&c.in);
		space.free_bytes = take_u64(&c.in);
		space.avail_bytes = take_u64(&c.in);
		r = call_taken(&c, 0);
	}
	if (r >= 0)
		*out = space;
	call_end(&c);
	return r;
}

int remote_health(struct store *s)
{
	struct call c;

	call_begin(&c, remote_of(s), WIRE_HEALTH);
	return call_plain(&c);
}

int64_t remote_now_ms(struct store *s)
{
	int64_t now = 0;
	struct call c;
	int r;

	call_begin(&c, remote_of(s), WIRE_NOW);
	r = call_run(&c);
	if (r >= 0) {
		now = take_i64(&c.in);
		r = call_taken(&c, r);
	}
	call_end(&c);
	/* The server runs on this machine, so the clock is the same. */
	return r < 0 ? os_now_ms(os_posix()) : now;
}
