/* The wrapper of store.h that says what a table holds. */
#include "store/front/front.h"

/* Counts cells, to replace the backend's estimates. */
static int count(struct table *t, struct table_info *out)
{
	struct scan_spec spec = {.granularity = SCAN_CELLS, .keys_only = true};
	struct buf row = {0};
	struct scan *sc;
	struct cell c;
	int r = front_scan_open(t, &spec, &sc);

	if (r < 0)
		return r;
	out->rows = out->cells = 0;
	out->exact = true;
	while (r == 0 && (r = scan_next(sc, &c)) > 0) {
		if (!out->cells || c.ts < out->oldest)
			out->oldest = c.ts;
		if (!out->cells || c.ts > out->newest)
			out->newest = c.ts;
		r = 0;
		if (!out->rows || !bytes_eq(c.row, buf_bytes(&row))) {
			r = buf_set(&row, c.row);
			out->rows++;
		}
		out->cells++;
	}
	scan_close(sc);
	buf_free(&row);
	return r;
}

/* Of what is damaged the estimates stay. */
static int count_cells(struct table *t, struct table_info *out)
{
	struct table_info counted = *out;
	int r = count(t, &counted);

	if (r == 0)
		*out = counted;
	return r == -EUCLEAN ? 0 : r;
}

int table_info(struct table *t, struct table_info *out)
{
	struct table_info info = {0};
	int r;

	front_begin();
	r = front_can(t->store, CAN_TELL_INFO);
	if (r == 0)
		r = t->store->ops->table_info(t, &info);
	if (r == 0 && !info.exact && info.entries <= TABLE_INFO_COUNTED)
		r = count_cells(t, &info);
	if (r == 0)
		*out = info;
	return front_end(t->store, r);
}

int table_has_ttl(struct table *t)
{
	struct table_info info = {0};
	int r;

	front_begin();
	if (!store_can(t->store, CAN_TELL_INFO))
		return 1;
	r = t->store->ops->table_info(t, &info);
	if (r == 0)
		r = info.has_ttl;
	return front_end(t->store, r);
}
