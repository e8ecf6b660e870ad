#include "store/filter/pick.h"

#include <errno.h>
#include <stdlib.h>

#include "store/value/array.h"

int pick_init(struct pick *p, const struct scan_spec *spec)
{
	*p = (struct pick){
		.columns = spec->granularity == SCAN_COLUMNS,
		.raw = spec->raw,
		.keys_only = spec->keys_only,
		.versions = spec->versions,
		.limit = spec->family_limit,
		.offset = spec->family_offset,
	};
	if (!spec->filter)
		return 0;
	return filter_run_new(spec->filter, spec->reversed, &p->run);
}

void pick_free(struct pick *p)
{
	filter_run_free(p->run);
	free(p->cells);
	buf_free(&p->memory);
	buf_free(&p->qualifier);
	*p = (struct pick){0};
}

void pick_rows(struct scan_spec *spec)
{
	struct bytes *low = spec->reversed ? &spec->row_stop : &spec->row_start;
	struct bytes *high =
		spec->reversed ? &spec->row_start : &spec->row_stop;
	struct bytes min = *low, max = *high;

	filter_rows(spec->filter, &min, &max);
	if (min.data != low->data) {
		*low = min;
		if (spec->reversed)
			spec->row_stop_inclusive = true;
		else
			spec->row_start_exclusive = false;
	}
	if (max.data != high->data) {
		*high = max;
		if (spec->reversed)
			spec->row_start_exclusive = false;
		else
			spec->row_stop_inclusive = true;
	}
}

bool pick_done(const struct pick *p)
{
	return p->run && filter_done(p->run);
}

int pick_begin(struct pick *p, struct bytes row)
{
	p->family = (struct bytes){0};
	p->in_family = p->in_column = 0;
	p->ncells = p->next = 0;
	p->memory.len = 0;
	return p->run ? filter_row_begin(p->run, row) : 1;
}

/* Keeps a copy, whose qualifier and value are offsets until pick_end(). */
static int keep(struct pick *p, const struct cell *c)
{
	size_t at = p->memory.len;
	struct cell *kept;

	if (ARRAY_RESERVE(p->cells, p->cap, p->ncells + 1) < 0)
		return -ENOMEM;
	if (buf_append(&p->memory, c->qualifier.data, c->qualifier.len) < 0)
		return -ENOMEM;
	if (!p->keys_only &&
	    buf_append(&p->memory, c->value.data, c->value.len) < 0) {
		p->memory.len = at;
		return -ENOMEM;
	}
	kept = &p->cells[p->ncells++];
	*kept = *c;
	kept->qualifier.data = (const uint8_t *)at;
	kept->value.data = (const uint8_t *)(at + c->qualifier.len);
	return 0;
}

static int new_names(struct pick *p, const struct cell *c)
{
	bool same = bytes_eq(p->family, c->family);

	if (!same) {
		p->family = c->family;
		p->in_family = 0;
	}
	if (same && p->in_family + p->in_column &&
	    bytes_eq(buf_bytes(&p->qualifier), c->qualifier))
		return 0;
	p->in_column = 0;
	return buf_set(&p->qualifier, c->qualifier);
}

int pick_cell(struct pick *p, const struct cell *c, struct filter_answer *out)
{
	struct cell shown = *c;
	uint8_t length[4];
	uint32_t most = p->columns ? 1 : p->versions;
	int r;

	*out = (struct filter_answer){.take = true};
	if (p->run) {
		if (filter_done(p->run)) {
			*out = (struct filter_answer){.jump = JUMP_FAMILY};
			return 0;
		}
		r = filter_cell(p->run, c, out);
		if (r < 0 || !out->take)
			return r;
		filter_show(p->run, &shown, length);
	}
	r = new_names(p, c);
	if (r < 0)
		return r;
	/* Only with a filter does a marker count as a result, as in HBase. */
	if (p->run || !p->raw || !kind_is_marker(c->kind)) {
		if (most && p->in_column == most) {
			if (out->jump == JUMP_CELL)
				out->jump = JUMP_COLUMN;
			return 0;
		}
		p->in_column++;
	}
	p->in_family++;
	if (p->limit && p->in_family > p->offset &&
	    p->in_family - p->offset > p->limit) {
		out->jump = JUMP_FAMILY;
		return 0;
	}
	return p->in_family > p->offset ? keep(p, &shown) : 0;
}

int pick_end(struct pick *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->ncells; i++) {
		struct cell *c = &p->cells[i];

		c->qualifier.data =
			p->memory.data + (uintptr_t)c->qualifier.data;
		c->value.data = p->keys_only ? NULL
					     : p->memory.data +
						       (uintptr_t)c->value.data;
		if (!p->run || filter_keep(p->run, c))
			p->cells[n++] = *c;
	}
	p->ncells = n;
	if (n && p->run && !filter_row_end(p->run))
		p->ncells = 0;
	return p->ncells > 0;
}

int pick_next(struct pick *p, struct cell *out)
{
	if (p->next == p->ncells)
		return 0;
	*out = p->cells[p->next++];
	return 1;
}
