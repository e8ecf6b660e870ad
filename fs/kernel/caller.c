#include "fs/kernel/caller.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIT(signal) (UINT64_C(1) << ((signal)-1))
/* Signals that do not end a process which has no handler for them. */
#define HARMLESS                                                     \
	(BIT(SIGCHLD) | BIT(SIGURG) | BIT(SIGWINCH) | BIT(SIGCONT) | \
	 BIT(SIGSTOP) | BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU))

/* The mask of signals in the line @name of /proc/ID/status; 0 = there is none. */
static uint64_t mask(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at ? strtoull(at + strlen(name), NULL, 16) : 0;
}

/* The pending signals that the thread neither blocks nor ignores; those it handles. */
static uint64_t signals(pid_t thread, uint64_t *handled)
{
	char path[32], text[4096];
	size_t n;
	FILE *f;

	*handled = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", thread);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	/* A process without memory has ended: the kernel is closing its files. */
	if (!strstr(text, "\nVmSize:"))
		return 0;
	*handled = mask(text, "\nSigCgt:");
	return (mask(text, "\nSigPnd:") | mask(text, "\nShdPnd:")) &
	       ~(mask(text, "\nSigBlk:") | mask(text, "\nSigIgn:"));
}

bool caller_has_signal(pid_t thread)
{
	uint64_t handled;

	return signals(thread, &handled);
}

bool caller_is_killed(pid_t thread)
{
	uint64_t handled, all = signals(thread, &handled);

	return all & ~handled & ~HARMLESS;
}
