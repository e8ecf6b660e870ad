#include "store/hbase/calls/multi.h"

#include <errno.h>
#include <stdlib.h>

#include "store/hbase/cellblock/cellblock.h"
#include "store/value/array.h"
#include "store/value/why.h"

static uint32_t type_of(const struct change *c)
{
	switch (c->op) {
	case CHANGE_PUT:
		return MUTATION_PUT;
	case CHANGE_INCREMENT:
		return MUTATION_INCREMENT;
	case CHANGE_APPEND:
		return MUTATION_APPEND;
	default:
		return MUTATION_DELETE;
	}
}

/* A ttl of an action: its attribute, and the bytes that it points to. */
struct ttl {
	struct pb_attribute attribute;
	uint64_t be_ms;
};

/*
 * HBase adds a ttl to the timestamp with 63 bits: one that ends behind all of them, so
 * never, would have ended long ago there, and is left out. A sum gets its time later.
 */
static uint64_t ttl_to_send(const struct change *c)
{
	uint64_t from = c->ts <= TS_MAX ? (uint64_t)c->ts : INT64_MAX / 2;

	return c->ttl_ms > INT64_MAX - from ? 0 : c->ttl_ms;
}

static uint64_t ttl_of(const struct pb_mutation *m)
{
	const struct pb_attribute *a = m->attributes.items;

	return m->attributes.n ? be64toh(bytes_load64(a->value.data)) : 0;
}

static int set_ttl(struct pb_mutation *m, uint64_t ms)
{
	struct ttl *t = malloc(sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->be_ms = htobe64(ms);
	t->attribute = (struct pb_attribute){
		true, bytes_str("_ttl"), bytes_of(&t->be_ms, sizeof(t->be_ms))};
	m->attributes = (struct proto_list){.items = &t->attribute, .n = 1};
	return 0;
}

static struct pb_mutation *new_action(struct row_actions *ra,
				      const struct change *c)
{
	uint64_t ttl_ms = ttl_to_send(c);
	struct pb_mutation *m;
	struct pb_action *all;

	if (ARRAY_ONE_MORE(ra->actions, ra->n) < 0)
		return NULL;
	all = &ra->actions[ra->n];
	proto_init(&pb_action, all);
	all->here = true;
	all->index = (uint32_t)ra->n;
	m = &all->mutation;
	m->here = true;
	m->row = ra->row;
	m->type = type_of(c);
	if (c->ts_max || c->ts_min) {
		m->range = (struct pb_time_range){true, (uint64_t)c->ts_min,
						  (uint64_t)c->ts_max};
	}
	ra->n++;
	return ttl_ms && set_ttl(m, ttl_ms) < 0 ? NULL : m;
}

int row_actions_add(struct row_actions *ra, const struct change *c)
{
	struct pb_mutation *m = ra->n ? &ra->actions[ra->n - 1].mutation : NULL;
	struct encoder e = {.out = &ra->cells};
	uint32_t type = type_of(c);
	bool counts = op_adds(c->op);

	if (!m || m->type != type || counts || ttl_of(m) != ttl_to_send(c))
		m = new_action(ra, c);
	if (m) {
		cellblock_put(&e, ra->row, c);
		m->cells++;
	}
	ra->counts |= counts;
	return !m || e.err ? why(-ENOMEM, "out of memory for a change") : 0;
}

int row_actions_get(struct row_actions *ra, const struct pb_get *get)
{
	struct pb_action *a;

	if (ARRAY_ONE_MORE(ra->actions, ra->n) < 0)
		return why(-ENOMEM, "out of memory for a question");
	a = &ra->actions[ra->n++];
	proto_init(&pb_action, a);
	a->here = true;
	a->get = *get;
	ra->newest = -1;
	return 0;
}

void row_actions_free(struct row_actions *ra)
{
	for (size_t i = 0; i < ra->n; i++) {
		const struct proto_list *l =
			&ra->actions[i].mutation.attributes;

		/* The attribute is the first member of what set_ttl() made. */
		if (l->n)
			free((void *)(uintptr_t)l->items);
	}
	free(ra->actions);
	buf_free(&ra->cells);
	*ra = (struct row_actions){0};
}

static void prepare(struct cluster *c, struct row_actions *ra,
		    uint32_t durability)
{
	for (size_t i = 0; i < ra->n; i++) {
		struct pb_mutation *m = &ra->actions[i].mutation;

		if (!m->here)
			continue;
		m->durability = durability;
		if (m->type == MUTATION_INCREMENT || m->type == MUTATION_APPEND)
			m->nonce = os_random(cluster_os(c)) | 1;
	}
}

/* The first line of what a server says, and the errno of its class. */
static int fail(const struct pb_fault *fault, struct failure *f)
{
	struct bytes s =
		frame_words(fault->trace.len ? fault->trace : fault->class);
	const char *advice;

	*f = failure_of_words(fault->class, s, &advice);
	return why(f->err, "HBase refused a change: %.*s%s%s%s", (int)s.len,
		   (const char *)s.data, advice ? " (" : "",
		   advice ? advice : "", advice ? ")" : "");
}

/*
 * The first fault in what the server says of one region's actions. *sums has the
 * cells of all sums, which are in the first result if they are one atomic act.
 */
static int judge(struct pb_region_result *region, struct proto_list *sums,
		 struct failure *f)
{
	struct pb_action_result one;
	int r;

	if (region->fault.here)
		return fail(&region->fault, f);
	while ((r = proto_next(&region->results, &one)) > 0) {
		if (one.fault.here)
			return fail(&one.fault, f);
		if (one.index == 0)
			*sums = one.result.inside;
	}
	return r;
}

/* What the server says of the region's next action: 1, or -EPROTO. */
static int next_result(struct pb_multi_response *m,
		       struct pb_region_result *out)
{
	int r = proto_next(&m->regions, out);

	return r ? r : why(-EPROTO, "a server did not say what it has done");
}

/* Reads the answer of one row: 1, 0, or why not, and in *f if to try again. */
static int take_row(const struct attempt *call, bool has_condition,
		    struct proto_list *sums, struct failure *f)
{
	struct pb_multi_response m;
	struct pb_region_result region;
	int r = proto_take(call->rpc.answer.message, &pb_multi_response, &m);

	*f = (struct failure){-EPROTO, CURE_NONE, false};
	if (r == 0)
		r = next_result(&m, &region);
	if (r > 0)
		r = judge(&region, sums, f);
	if (r < 0)
		return r;
	return !has_condition || region.processed || m.processed;
}

int multi_row(struct cluster *c, struct bytes table, struct row_actions *ra,
	      const struct pb_condition *condition, uint32_t durability,
	      struct row_result *out)
{
	struct pb_region_action action = {
		.here = true,
		.atomic = true,
		.actions = {.items = ra->actions, .n = ra->n},
	};
	struct pb_multi_request m = {
		.regions = {.items = &action, .n = 1},
	};
	struct region_call rc = {
		.cluster = c,
		.table = table,
		.row = ra->row,
		.request = {.method = "Multi",
			    .type = &pb_multi_request,
			    .message = &m,
			    .cells = buf_bytes(&ra->cells)},
		.region = &action.region,
		/* A nonce, a timestamp or what follows makes it so. */
		.is_repeatable = true,
	};
	struct retry retry = cluster_retry(c);
	struct region *at = NULL;
	struct failure f;
	int r;

	if (condition)
		action.condition = *condition;
	prepare(c, ra, durability);
	m.nonce_group = os_random(cluster_os(c)) | 1;
	do {
		r = region_call(&rc, &retry, &out->call, &at, &f);
		if (r < 0)
			break;
		r = take_row(&out->call, condition != NULL, &out->sums, &f);
		if (r < 0 && f.cure == CURE_LOCATE)
			region_forget(c, at);
	} while (r < 0 && retry_wait(&retry, &f));
	region_put(at);
	out->may_be_done = rc.was_repeated || (r < 0 && !f.is_refused);
	return r == -EAGAIN ? -ETIMEDOUT : r;
}

/*
 * A server does the actions of one call one after the other, and syncs its log for each:
 * what is more goes in another call beside it.
 */
#define SHARE_ROWS 512

/*
 * The rows that one region has, sent in one call. A row that needs one action
 * only, and no condition, is a single. All singles make one action of the region, for
 * which the server writes to its log once; each of them is atomic by itself. Any other
 * row makes an action of the region of its own, so that it is atomic too.
 */
struct share {
	struct region *region;
	struct attempt call;
	struct pb_region_action
		*actions; /* [0]: the singles; then a row each */
	size_t *rows;	  /* the caller's number of each, from [1] */
	size_t n;	  /* of both, with [0] */
	struct pb_action *singles;
	size_t *single_rows;
	size_t nsingles;
	struct buf cells, single_cells;
};

static void share_free(struct share *s)
{
	attempt_end(&s->call);
	region_put(s->region);
	free(s->actions);
	free(s->rows);
	free(s->singles);
	free(s->single_rows);
	buf_free(&s->cells);
	buf_free(&s->single_cells);
}

static struct pb_region_action
region_action(const struct share *s, struct proto_list actions, bool atomic)
{
	struct pb_region_action a;

	proto_init(&pb_region_action, &a);
	a.here = true;
	a.region = (struct pb_region){true, REGION_BY_NAME, s->region->name};
	a.atomic = atomic;
	a.actions = actions;
	return a;
}

/* With room for @n rows. share_free() is due in any case. */
static int share_init(struct share *s, struct region *at, size_t n)
{
	*s = (struct share){.region = at, .n = 1};
	atomic_fetch_add(&at->refs, 1);
	s->actions = calloc(n + 1, sizeof(*s->actions));
	s->rows = calloc(n + 1, sizeof(*s->rows));
	s->singles = calloc(n, sizeof(*s->singles));
	s->single_rows = calloc(n, sizeof(*s->single_rows));
	return s->actions && s->rows && s->singles && s->single_rows ? 0
								     : -ENOMEM;
}

/* Adds a row to the share of its region. */
static int share_add(struct share *s, size_t row, struct row_actions *ra)
{
	bool single = ra->n == 1 && !ra->condition;
	struct buf *cells = single ? &s->single_cells : &s->cells;

	if (buf_append(cells, ra->cells.data, ra->cells.len) < 0)
		return -ENOMEM;
	if (single) {
		s->singles[s->nsingles] = ra->actions[0];
		s->singles[s->nsingles].index = (uint32_t)s->nsingles;
		s->single_rows[s->nsingles++] = row;
	} else {
		s->rows[s->n] = row;
		s->actions[s->n] = region_action(
			s,
			(struct proto_list){.items = ra->actions, .n = ra->n},
			true);
		if (ra->condition)
			s->actions[s->n].condition = *ra->condition;
		s->n++;
	}
	ra->tries++;
	return 0;
}

struct shares {
	struct share *all;
	size_t n;
};

/* A share of the region that is not full, with room for @n rows; NULL: no memory. */
static struct share *share_of(struct shares *ss, struct region *at, size_t n)
{
	struct share *s;

	for (size_t i = 0; i < ss->n; i++)
		if (ss->all[i].region == at && ss->all[i].n <= SHARE_ROWS)
			return &ss->all[i];
	if (ARRAY_ONE_MORE(ss->all, ss->n) < 0)
		return NULL;
	s = &ss->all[ss->n++];
	return share_init(s, at, n) < 0 ? NULL : s;
}

static int divide(struct cluster *c, struct bytes table, struct row_actions *ra,
		  size_t n, const bool *done, struct retry *retry,
		  struct shares *ss)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		struct region *at = NULL;
		struct share *s;

		if (done[i])
			continue;
		r = region_find(c, table, ra[i].row, SIDE_OF, retry, &at);
		if (r < 0)
			break;
		s = share_of(ss, at, n);
		if (!s || share_add(s, i, &ra[i]) < 0)
			r = why(-ENOMEM, "out of memory for changes");
		region_put(at);
	}
	return r;
}

/* What went wrong with one row counts if nothing did before. */
static void note(int r, const struct failure *one, int *first,
		 struct failure *f)
{
	if (r == 0 || *first)
		return;
	*first = r;
	*f = *one;
}

/* Reads the @n cells that a row's get has found. */
static int take_found(struct row_actions *ra, struct decoder *cells, uint32_t n)
{
	struct cell cell;
	int r = 1;

	for (; n && (r = cellblock_next(cells, &cell)) > 0; n--)
		if (cell.ts > ra->newest && (kind_is_family_marker(cell.kind) ||
					     bytes_eq(cell.qualifier, ra->of)))
			ra->newest = cell.ts;
	return r ? r : why(-EPROTO, "a server sent fewer cells than it said");
}

/* Reads what the server says of each row that went with others. */
static int take_singles(struct share *s, struct pb_region_result *region,
			struct row_actions *ra, bool *done, int *first,
			struct failure *f)
{
	struct decoder cells = decoder_of(s->call.rpc.answer.cells);
	struct pb_action_result one;
	struct failure why_not;
	int r;

	if (region->fault.here) {
		note(fail(&region->fault, &why_not), &why_not, first, f);
		return 0;
	}
	while ((r = proto_next(&region->results, &one)) > 0) {
		if (one.index >= s->nsingles)
			return why(-EPROTO, "a server speaks of a change that "
					    "it was not asked for");
		if (one.fault.here) {
			note(fail(&one.fault, &why_not), &why_not, first, f);
			continue;
		}
		r = take_found(&ra[s->single_rows[one.index]], &cells,
			       one.result.cells);
		if (r < 0)
			return r;
		done[s->single_rows[one.index]] = true;
	}
	for (size_t i = 0; r == 0 && !*first && i < s->nsingles; i++)
		if (!done[s->single_rows[i]])
			return why(-EPROTO,
				   "a server did not say what it has done");
	return r;
}

/* Reads what the server says of each row of a share. */
static int take_share(struct share *s, struct row_actions *ra, bool *done,
		      struct failure *f)
{
	struct pb_multi_response m;
	struct pb_region_result region;
	int r = proto_take(s->call.rpc.answer.message, &pb_multi_response, &m);
	struct proto_list sums;
	int first = 0;

	*f = (struct failure){-EPROTO, CURE_NONE, false};
	if (r == 0 && s->nsingles) {
		r = next_result(&m, &region);
		if (r > 0)
			r = take_singles(s, &region, ra, done, &first, f);
	}
	for (size_t i = 1; i < s->n && r >= 0; i++) {
		struct failure one;
		int k;

		r = next_result(&m, &region);
		if (r < 0)
			break;
		k = judge(&region, &sums, &one);
		done[s->rows[i]] = k == 0 && (!ra[s->rows[i]].condition ||
					      region.processed);
		note(k, &one, &first, f);
	}
	return r < 0 ? r : first;
}

static int send_share(struct cluster *c, struct share *s,
		      const struct retry *retry, struct failure *f)
{
	size_t first = s->nsingles ? 0 : 1;
	struct pb_multi_request m = {
		.regions = {.items = s->actions + first, .n = s->n - first},
	};
	struct rpc_request q = {
		.method = "Multi",
		.type = &pb_multi_request,
		.message = &m,
		.deadline_ns = retry->deadline_ns,
	};

	s->actions[0] = region_action(
		s, (struct proto_list){.items = s->singles, .n = s->nsingles},
		false);
	/* The cells are in the order of the actions. */
	if (buf_append(&s->single_cells, s->cells.data, s->cells.len) < 0) {
		*f = (struct failure){-ENOMEM, CURE_NONE, true};
		return why(-ENOMEM, "out of memory for changes");
	}
	q.cells = buf_bytes(&s->single_cells);
	return attempt_start(c, &s->region->server, SERVICE_CLIENT, &q,
			     &s->call, f);
}

/* Sends all shares, then reads all answers. 0 or the first failure. */
static int try_shares(struct cluster *c, struct shares *ss,
		      struct row_actions *ra, const struct retry *retry,
		      bool *done, struct failure *f)
{
	int result = 0;

	for (size_t pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < ss->n; i++) {
			struct share *s = &ss->all[i];
			struct failure one;
			int r = 0;

			if (pass == 0)
				r = send_share(c, s, retry, &one);
			else if (s->call.rpc.c) {
				r = attempt_wait(&s->call, &one);
				if (r == 0)
					r = take_share(s, ra, done, &one);
			}
			if (r == 0)
				continue;
			if (one.cure == CURE_LOCATE)
				region_forget(c, s->region);
			if (pass == 0)
				attempt_end(&s->call);
			if (!result || one.cure == CURE_NONE) {
				result = r == -EREMOTEIO ? one.err : r;
				*f = one;
			}
		}
	return result;
}

int multi_rows(struct cluster *c, struct bytes table, struct row_actions *ra,
	       size_t n, uint32_t durability, bool *done)
{
	struct retry retry = cluster_retry(c);
	struct failure f;
	int r;

	for (size_t i = 0; i < n; i++) {
		done[i] = false;
		prepare(c, &ra[i], durability);
	}
	do {
		struct shares ss = {0};

		f = (struct failure){0};
		r = divide(c, table, ra, n, done, &retry, &ss);
		if (r == 0)
			r = try_shares(c, &ss, ra, &retry, done, &f);
		for (size_t i = 0; i < ss.n; i++)
			share_free(&ss.all[i]);
		free(ss.all);
	} while (r < 0 && retry_wait(&retry, &f));
	return r == -EAGAIN ? -ETIMEDOUT : r;
}
