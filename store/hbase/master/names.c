#include "store/hbase/master/names.h"

#include <errno.h>
#include <string.h>

#include "store/value/schema.h"
#include "store/value/why.h"

#define BELIEVED_NS 1000000000ull

void names_init(struct names *ns, names_list_fn list,
		bool (*is_hidden)(struct bytes name))
{
	*ns = (struct names){.list = list, .is_hidden = is_hidden};
	pthread_mutex_init(&ns->lock, NULL);
}

void names_release(struct names *ns)
{
	buf_free(&ns->all);
	pthread_mutex_destroy(&ns->lock);
}

void names_forget(struct names *ns)
{
	pthread_mutex_lock(&ns->lock);
	ns->until_ns = 0;
	ns->changes++;
	pthread_mutex_unlock(&ns->lock);
}

struct taken {
	const struct names *names;
	struct buf all;
	int err;
};

static void add(void *arg, struct bytes name)
{
	struct taken *taken = arg;

	if (taken->err || name.len > TABLE_NAME_LEN_MAX ||
	    memchr(name.data, 0, name.len) ||
	    (taken->names->is_hidden && taken->names->is_hidden(name)))
		return;
	taken->err = buf_append(&taken->all, name.data, name.len);
	if (!taken->err)
		taken->err = buf_append(&taken->all, "", 1);
}

/* The least name behind @after in @all, copied to @found. */
static bool find(const struct buf *all, struct bytes after, char *found)
{
	const char *least = NULL;

	for (size_t i = 0; i < all->len;) {
		const char *one = (const char *)all->data + i;

		if (bytes_cmp(bytes_str(one), after) > 0 &&
		    (!least || strcmp(one, least) < 0))
			least = one;
		i += strlen(one) + 1;
	}
	if (least)
		memcpy(found, least, strlen(least) + 1);
	return least;
}

/* Asks the master, and has @ns believe it unless it is old already. */
static int ask(struct names *ns, struct cluster *c)
{
	struct taken taken = {.names = ns};
	uint64_t changes;
	int r;

	pthread_mutex_lock(&ns->lock);
	changes = ns->changes;
	pthread_mutex_unlock(&ns->lock);
	r = ns->list(c, add, &taken);
	if (r == 0 && taken.err)
		r = why(-ENOMEM, "out of memory for names");
	pthread_mutex_lock(&ns->lock);
	if (r == 0) {
		struct buf old = ns->all;

		ns->all = taken.all;
		taken.all = old;
		ns->until_ns =
			changes == ns->changes
				? os_monotonic_ns(cluster_os(c)) + BELIEVED_NS
				: 0;
	}
	pthread_mutex_unlock(&ns->lock);
	buf_free(&taken.all);
	return r;
}

int names_next(struct names *ns, struct cluster *c, struct bytes after,
	       char *name)
{
	char found[TABLE_NAME_LEN_MAX + 1];
	bool is_known, there;
	int r = 0;

	pthread_mutex_lock(&ns->lock);
	is_known = after.len && os_monotonic_ns(cluster_os(c)) < ns->until_ns;
	pthread_mutex_unlock(&ns->lock);
	if (!is_known)
		r = ask(ns, c);
	if (r < 0)
		return r;
	pthread_mutex_lock(&ns->lock);
	there = find(&ns->all, after, found);
	pthread_mutex_unlock(&ns->lock);
	if (there)
		memcpy(name, found, strlen(found) + 1);
	return there;
}
