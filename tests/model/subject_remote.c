/*
 * The engine again, behind a session that serves it: what the model sees is
 * the client's end.
 */
#include "tests/model/loop.h"
#include "tests/model/subject.h"

static int serve(struct world *w)
{
	w->behind = w->store;
	w->store = NULL;
	return loop_open(w->behind, NULL, &w->store);
}

/* With @die the session ends all the same: its end is in this process. */
static int reopen(struct world *w, bool die)
{
	int r = store_close(w->store), err;

	w->store = w->behind;
	w->behind = NULL;
	err = w->reopen_behind(w, die);
	if (err < 0)
		return err;
	err = serve(w);
	return r < 0 ? r : err;
}

int subject_remote(const struct step_mode *mode, struct world *w)
{
	int r = subject_lsm(mode, w);

	if (r < 0)
		return r;
	w->reopen_behind = w->reopen;
	w->reopen = reopen;
	return serve(w);
}

void subject_remote_free(struct world *w)
{
	store_close(w->store);
	w->store = w->behind;
	subject_lsm_free(w);
}
