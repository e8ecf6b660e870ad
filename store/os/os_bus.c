#include "store/os/os_bus.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

/* The range that this thread copies from: [from, end), empty if equal. */
static _Thread_local struct {
	volatile uintptr_t from, end;
	sigjmp_buf back;
} copying;

static struct {
	pthread_mutex_t lock;
	unsigned watchers;	 /* lock */
	bool installed;		 /* lock */
	struct sigaction before; /* set before the handler can run */
} bus = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A signal that no copy caused: act as if this handler were absent. */
static void hand_on(int sig, siginfo_t *info, void *context)
{
	const struct sigaction *b = &bus.before;

	if (b->sa_flags & SA_SIGINFO) {
		b->sa_sigaction(sig, info, context);
	} else if (b->sa_handler != SIG_DFL && b->sa_handler != SIG_IGN) {
		b->sa_handler(sig);
	} else if (info->si_code > 0) {
		/* The access faults again on return and ends the process. */
		signal(sig, SIG_DFL);
	} else if (b->sa_handler == SIG_DFL) {
		/* The signal is masked until the handler returns. */
		signal(sig, SIG_DFL);
		raise(sig);
	}
}

static void on_bus(int sig, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;

	if (info->si_code > 0 && at >= copying.from && at < copying.end) {
		const ucontext_t *c = context;

		copying.end = copying.from = 0;
		/* siglongjmp() restores no mask here, so do it as a return. */
		pthread_sigmask(SIG_SETMASK, &c->uc_sigmask, NULL);
		siglongjmp(copying.back, 1);
	}
	hand_on(sig, info, context);
}

static bool is_ours(const struct sigaction *a)
{
	return a->sa_flags & SA_SIGINFO && a->sa_sigaction == on_bus;
}

int bus_watch(void)
{
	struct sigaction ours = {
		.sa_sigaction = on_bus,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART,
	};
	int r = 0;

	pthread_mutex_lock(&bus.lock);
	if (!bus.installed) {
		sigemptyset(&ours.sa_mask);
		if (sigaction(SIGBUS, NULL, &bus.before) ||
		    sigaction(SIGBUS, &ours, NULL))
			r = -errno;
		else
			bus.installed = true;
	}
	if (r == 0)
		bus.watchers++;
	pthread_mutex_unlock(&bus.lock);
	return r;
}

void bus_unwatch(void)
{
	struct sigaction now;

	pthread_mutex_lock(&bus.lock);
	/* A later handler may call ours, which then stays installed. */
	if (--bus.watchers == 0 && sigaction(SIGBUS, NULL, &now) == 0 &&
	    is_ours(&now) && sigaction(SIGBUS, &bus.before, NULL) == 0)
		bus.installed = false;
	pthread_mutex_unlock(&bus.lock);
}

bool bus_copy(void *to, const void *from, size_t n)
{
	if (sigsetjmp(copying.back, 0))
		return false;
	copying.from = (uintptr_t)from;
	copying.end = (uintptr_t)from + n;
	atomic_signal_fence(memory_order_seq_cst);
	memcpy(to, from, n);
	atomic_signal_fence(memory_order_seq_cst);
	copying.end = copying.from = 0;
	return true;
}
