#include "store/hbase/calls/multi.h"

#include <errno.h>
#include <stdlib.h>

#include "store/hbase/cellblock/cellblock.h"
#include "store/value/why.h"

/* Of what a server says about a failure, so much is told. */
#define WORDS_MAX 400

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
	struct pb_action *all =
		realloc(ra->actions, (ra->n + 1) * sizeof(*all));
	struct pb_mutation *m;

	if (!all)
		return NULL;
	ra->actions = all;
	all += ra->n;
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
	return c->ttl_ms && set_ttl(m, c->ttl_ms) < 0 ? NULL : m;
}

int row_actions_add(struct row_actions *ra, const struct change *c)
{
	struct pb_mutation *m = ra->n ? &ra->actions[ra->n - 1].mutation : NULL;
	struct encoder e = {.out = &ra->cells};
	uint32_t type = type_of(c);
	bool counts = type == MUTATION_INCREMENT || type == MUTATION_APPEND;

	if (!m || m->type != type || counts || ttl_of(m) != c->ttl_ms)
		m = new_action(ra, c);
	if (m) {
		cellblock_put(&e, ra->row, c);
		m->cells++;
	}
	ra->counts |= counts;
	return !m || e.err ? why(-ENOMEM, "out of memory for a change") : 0;
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

		m->durability = durability;
		if (m->type == MUTATION_INCREMENT || m->type == MUTATION_APPEND)
			m->nonce = os_random(cluster_os(c)) | 1;
	}
}

/* The first line of what a server says, and the errno of its class. */
static int fail(const struct pb_fault *fault, struct failure *f)
{
	struct bytes s = fault->trace.len ? fault->trace : fault->class;
	size_t n = 0;

	while (n < s.len && n < WORDS_MAX && s.data[n] >= ' ')
		n++;
	*f = failure_of_class(fault->class);
	return why(f->err, "HBase refused a change: %.*s", (int)n,
		   (const char *)s.data);
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

/* Reads the answer of one row: 1, 0, or why not, and in *f if to try again. */
static int take_row(const struct attempt *call, bool has_condition,
		    struct proto_list *sums, struct failure *f)
{
	struct pb_multi_response m;
	struct pb_region_result region;
	int r = proto_take(call->rpc.answer.message, &pb_multi_response, &m);

	*f = (struct failure){-EPROTO, CURE_NONE, false};
	if (r == 0)
		r = proto_next(&m.regions, &region);
	if (r == 0)
		r = why(-EPROTO, "a server did not say what it has done");
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
	out->may_be_done = rc.was_repeated;
	return r == -EAGAIN ? -ETIMEDOUT : r;
}

/* The rows that one region has, sent in one call. */
struct share {
	struct region *region;
	struct attempt call;
	struct pb_region_action *actions;
	size_t *rows; /* which of the caller's */
	size_t n;
	struct buf cells;
};

static void share_free(struct share *s)
{
	attempt_end(&s->call);
	region_put(s->region);
	free(s->actions);
	free(s->rows);
	buf_free(&s->cells);
}

/* Adds a row to the share of its region. */
static int share_add(struct share *s, size_t row, struct row_actions *ra)
{
	struct pb_region_action *actions =
		realloc(s->actions, (s->n + 1) * sizeof(*actions));
	size_t *rows = realloc(s->rows, (s->n + 1) * sizeof(*rows));

	if (actions)
		s->actions = actions;
	if (rows)
		s->rows = rows;
	if (!actions || !rows ||
	    buf_append(&s->cells, ra->cells.data, ra->cells.len) < 0)
		return why(-ENOMEM, "out of memory for changes");
	proto_init(&pb_region_action, &actions[s->n]);
	actions[s->n].here = true;
	actions[s->n].region =
		(struct pb_region){true, REGION_BY_NAME, s->region->name};
	actions[s->n].atomic = ra->n > 1;
	actions[s->n].actions =
		(struct proto_list){.items = ra->actions, .n = ra->n};
	rows[s->n++] = row;
	return 0;
}

struct shares {
	struct share *all;
	size_t n;
};

static struct share *share_of(struct shares *ss, struct region *at)
{
	struct share *all;

	for (size_t i = 0; i < ss->n; i++)
		if (ss->all[i].region == at)
			return &ss->all[i];
	all = realloc(ss->all, (ss->n + 1) * sizeof(*all));
	if (!all)
		return NULL;
	ss->all = all;
	all[ss->n] = (struct share){.region = at};
	atomic_fetch_add(&at->refs, 1);
	return &all[ss->n++];
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
		s = share_of(ss, at);
		r = s ? share_add(s, i, &ra[i])
		      : why(-ENOMEM, "out of memory for changes");
		region_put(at);
	}
	return r;
}

/* Reads what the server says of each row of a share. */
static int take_share(struct share *s, bool *done, struct failure *f)
{
	struct pb_multi_response m;
	struct pb_region_result region;
	int r = proto_take(s->call.rpc.answer.message, &pb_multi_response, &m);
	struct proto_list sums;
	int first = 0;

	*f = (struct failure){-EPROTO, CURE_NONE, false};
	for (size_t i = 0; i < s->n && r >= 0; i++) {
		struct failure one;
		int k;

		r = proto_next(&m.regions, &region);
		if (r == 0)
			r = why(-EPROTO,
				"a server did not say what it has done");
		if (r < 0)
			break;
		k = judge(&region, &sums, &one);
		done[s->rows[i]] = k == 0;
		if (k < 0 && !first) {
			first = k;
			*f = one;
		}
	}
	return r < 0 ? r : first;
}

static int send_share(struct cluster *c, struct share *s,
		      const struct retry *retry, struct failure *f)
{
	struct pb_multi_request m = {
		.regions = {.items = s->actions, .n = s->n},
	};
	struct rpc_request q = {
		.method = "Multi",
		.type = &pb_multi_request,
		.message = &m,
		.cells = buf_bytes(&s->cells),
		.deadline_ns = retry->deadline_ns,
	};

	return attempt_start(c, &s->region->server, SERVICE_CLIENT, &q,
			     &s->call, f);
}

/* Sends all shares, then reads all answers. 0 or the first failure. */
static int try_shares(struct cluster *c, struct shares *ss,
		      const struct retry *retry, bool *done, struct failure *f)
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
					r = take_share(s, done, &one);
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
			r = try_shares(c, &ss, &retry, done, &f);
		for (size_t i = 0; i < ss.n; i++)
			share_free(&ss.all[i]);
		free(ss.all);
	} while (r < 0 && retry_wait(&retry, &f));
	return r == -EAGAIN ? -ETIMEDOUT : r;
}
