#include "fs/memory/write_state.h"

#include <errno.h>
#include <stdlib.h>

#include "store/os/clock.h"

int write_state_new(uint64_t scratch_max, struct budget *budget,
		    struct write_state **out)
{
	struct write_state *ws = calloc(1, sizeof(*ws));

	if (!ws)
		return -ENOMEM;
	ws->scratch = scratch_new(scratch_max, budget);
	if (!ws->scratch) {
		free(ws);
		return -ENOMEM;
	}
	pthread_mutex_init(&ws->lock, NULL);
	clock_cond_init(&ws->settled_cond);
	*out = ws;
	return 0;
}

void write_state_free(struct write_state *ws)
{
	if (!ws)
		return;
	scratch_free(ws->scratch);
	pthread_cond_destroy(&ws->settled_cond);
	pthread_mutex_destroy(&ws->lock);
	free(ws);
}

bool write_state_open(struct write_state *ws, uint64_t node)
{
	bool open;

	if (!ws->open)
		return false;
	pthread_mutex_lock(&ws->lock);
	open = sorted_next(&ws->writers, bytes_of(&node, sizeof(node)), false,
			   (struct bytes){0}) != NULL;
	pthread_mutex_unlock(&ws->lock);
	return open;
}

bool write_state_any(struct write_state *ws)
{
	return ws->open || scratch_any(ws->scratch);
}
