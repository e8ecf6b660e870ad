#include "tests/model/loop.h"

#include <errno.h>
#include <stdlib.h>

#include "store/remote/client.h"

struct loop {
	struct channel base;
	struct served *served;
};

static struct loop *loop_of(struct channel *ch)
{
	return (struct loop *)ch;
}

static int loop_send(struct channel *ch, struct bytes data)
{
	return served_feed(loop_of(ch)->served, data);
}

struct portion {
	uint8_t *to;
	size_t n;
};

static int give(void *arg, struct bytes data)
{
	struct portion *p = arg;

	if (data.len)
		memcpy(p->to, data.data, data.len);
	p->n = data.len;
	return 0;
}

static ssize_t loop_receive(struct channel *ch, void *to, size_t n)
{
	struct portion p = {.to = to};
	int r = served_take(loop_of(ch)->served, n, give, &p);

	return r < 0 ? r : (ssize_t)p.n;
}

static void loop_close(struct channel *ch)
{
	served_free(loop_of(ch)->served);
	free(ch);
}

int loop_open(struct store *behind, const struct served_hooks *hooks,
	      struct store **out)
{
	struct loop *loop = calloc(1, sizeof(*loop));
	int r;

	if (!loop)
		return -ENOMEM;
	loop->base = (struct channel){loop_send, loop_receive, loop_close};
	r = served_new(behind, hooks, &loop->served);
	if (r < 0) {
		free(loop);
		return r;
	}
	return remote_open(&loop->base, NULL, out);
}
