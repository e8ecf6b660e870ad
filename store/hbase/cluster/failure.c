#include "store/hbase/cluster/failure.h"

#include <errno.h>
#include <string.h>

#include "store/os/patience.h"

/* The first wait, each next one twice as long up to the last. */
#define WAIT_FIRST_MS 20
#define WAIT_LAST_MS 2000
/* A failure with CURE_DOUBT is tried again so often, for 0.3 s to 0.6 s. */
#define DOUBTFUL_TRIES 5

static const struct known {
	const char *class; /* without the package */
	int err;
	uint8_t cure;
} known[] = {
	/* The region is elsewhere, or not open yet. */
	{"NotServingRegionException", -EAGAIN, CURE_LOCATE},
	{"RegionMovedException", -EAGAIN, CURE_LOCATE},
	{"RegionOpeningException", -EAGAIN, CURE_LOCATE},
	{"WrongRegionException", -EAGAIN, CURE_LOCATE},
	{"RegionServerStoppedException", -EAGAIN, CURE_LOCATE},
	{"RegionServerAbortedException", -EAGAIN, CURE_LOCATE},
	{"RegionInRecoveryException", -EAGAIN, CURE_LOCATE},
	{"ServerNotRunningYetException", -EAGAIN, CURE_LOCATE},
	{"FailedSanityCheckException", -EINVAL, CURE_NONE},
	/* The master is another one, or begins. */
	{"MasterNotRunningException", -EAGAIN, CURE_LOCATE},
	{"MasterStoppedException", -EAGAIN, CURE_LOCATE},
	{"PleaseHoldException", -EAGAIN, CURE_WAIT},
	{"PleaseRestartMasterException", -EAGAIN, CURE_WAIT},
	{"StandbyException", -EAGAIN, CURE_LOCATE},
	/* The server has too much to do. */
	{"CallQueueTooBigException", -EAGAIN, CURE_WAIT},
	{"CallDroppedException", -EAGAIN, CURE_WAIT},
	{"CallTimeoutException", -EAGAIN, CURE_WAIT},
	{"RegionTooBusyException", -EAGAIN, CURE_WAIT},
	{"RpcThrottlingException", -EAGAIN, CURE_WAIT},
	{"TimeoutIOException", -EAGAIN, CURE_WAIT},
	/* A scanner is gone or out of step. */
	{"UnknownScannerException", -EAGAIN, CURE_SCANNER},
	{"ScannerResetException", -EAGAIN, CURE_SCANNER},
	{"OutOfOrderScannerNextException", -EAGAIN, CURE_SCANNER},
	{"LeaseException", -EAGAIN, CURE_SCANNER},
	/* What was asked for cannot be had. */
	{"NoSuchColumnFamilyException", -EPERM, CURE_NONE},
	{"InvalidFamilyOperationException", -EINVAL, CURE_NONE},
	{"TableNotFoundException", -ENOENT, CURE_NONE},
	{"TableExistsException", -EEXIST, CURE_NONE},
	{"ConcurrentTableModificationException", -EALREADY, CURE_NONE},
	{"TableNotEnabledException", -EBUSY, CURE_NONE},
	{"TableNotDisabledException", -EBUSY, CURE_NONE},
	{"NamespaceNotFoundException", -ENOENT, CURE_NONE},
	{"NamespaceExistException", -EEXIST, CURE_NONE},
	{"SnapshotDoesNotExistException", -ENOENT, CURE_NONE},
	{"SnapshotExistsException", -EEXIST, CURE_NONE},
	{"ConstraintException", -ENOTEMPTY, CURE_NONE},
	{"AccessDeniedException", -EACCES, CURE_NONE},
	{"AccessControlException", -EACCES, CURE_NONE},
	{"QuotaExceededException", -EDQUOT, CURE_NONE},
	{"SpaceLimitingException", -EDQUOT, CURE_NONE},
	{"UnsupportedOperationException", -EOPNOTSUPP, CURE_NONE},
	{"IllegalArgumentException", -EINVAL, CURE_NONE},
	{"NumberFormatException", -EINVAL, CURE_NONE},
	{"DoNotRetryIOException", -EINVAL, CURE_NONE},
	/* The server ends. */
	{"InterruptedException", -EAGAIN, CURE_WAIT},
	/* As what follows. */
	{"BufferUnderflowException", -EIO, CURE_DOUBT},
};

/*
 * A fault of the server's program, of any other class of the language itself. A
 * region that closes may cause it.
 */
static const struct known fault = {"", -EIO, CURE_DOUBT};

static const struct known *find(struct bytes class)
{
	bool is_fault = bytes_has_prefix(class, bytes_str("java.lang."));

	/* Some are inside another class, or behind a package. */
	for (size_t i = class.len; i > 0; i--)
		if (class.data[i - 1] == '.' || class.data[i - 1] == '$') {
			class.data += i;
			class.len -= i;
			break;
		}
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (bytes_eq(class, bytes_str(known[i].class)))
			return &known[i];
	return is_fault ? &fault : NULL;
}

/*
 * A server sends an exception that is no IOException inside one. The trace names
 * the class of the inner one behind these words.
 */
static const struct known *find_cause(struct bytes trace)
{
	const struct bytes words = bytes_str("\nCaused by: ");
	const uint8_t *at =
		trace.len ? memmem(trace.data, trace.len, words.data, words.len)
			  : NULL;
	size_t n = 0;

	if (!at)
		return NULL;
	trace.len -= (size_t)(at + words.len - trace.data);
	trace.data = at + words.len;
	while (n < trace.len && trace.data[n] != ':' && trace.data[n] != '\n')
		n++;
	return find(bytes_of(trace.data, n));
}

static struct failure failure_of(const struct known *k)
{
	if (!k)
		return (struct failure){-EIO, CURE_NONE, true};
	return (struct failure){k->err, k->cure, true};
}

/* What a server says in words alone, of a class that is many things. */
static const struct told {
	const char *words;
	int err;
	const char *advice;
} told[] = {
	{"region is read only", -EROFS,
	 "the table is READONLY: set that to false in HBase"},
	{"exceeds limit of", -EFBIG,
	 "with its key it is more than hbase.server.keyvalue.maxsize"},
};

static const struct told *find_told(struct bytes words)
{
	for (size_t i = 0; words.len && i < sizeof(told) / sizeof(*told); i++)
		if (memmem(words.data, words.len, told[i].words,
			   strlen(told[i].words)))
			return &told[i];
	return NULL;
}

struct failure failure_of_class(struct bytes class)
{
	return failure_of(find(class));
}

struct failure failure_of_words(struct bytes class, struct bytes words,
				const char **advice)
{
	struct failure f = failure_of_class(class);
	const struct told *t = f.cure == CURE_NONE ? find_told(words) : NULL;

	*advice = t ? t->advice : NULL;
	if (t)
		f.err = t->err;
	return f;
}

struct failure failure_judge(int r, const struct pb_exception *x)
{
	const struct known *k;
	struct failure f;

	switch (r) {
	case -EREMOTEIO:
		k = find(x->class);
		if (!k)
			k = find_cause(x->trace);
		f = failure_of(k);
		if (!k && !x->do_not_retry)
			f.cure = CURE_WAIT;
		return f;
	case -ENOMEM:
	case -EFBIG:
	case -EACCES: /* one side does not accept the other */
	case -EINVAL: /* of a setting */
	case -EOPNOTSUPP:
		return (struct failure){r, CURE_NONE, true};
	case -EPROTO:
	case -ECANCELED:
	case -EINTR:
		return (struct failure){r, CURE_NONE, false};
	default: /* the network, or a server that does not answer */
		return (struct failure){r, CURE_LOCATE, false};
	}
}

bool is_refusal(int r)
{
	return r == -EACCES || r == -EINVAL || r == -EOPNOTSUPP;
}

int retry_wait(struct retry *retry, const struct failure *f)
{
	unsigned ms = WAIT_FIRST_MS;
	uint64_t now = os_monotonic_ns(retry->os);

	if (f->cure == CURE_NONE || now >= retry->deadline_ns)
		return 0;
	if (f->cure == CURE_DOUBT && retry->tries >= DOUBTFUL_TRIES)
		return 0;
	/* What was only looked for in the wrong place is tried at once. */
	if (retry->tries++ == 0 && f->cure != CURE_WAIT &&
	    f->cure != CURE_DOUBT)
		return 1;
	for (unsigned i = 1; i < retry->tries && ms < WAIT_LAST_MS; i++)
		ms *= 2;
	if (ms > WAIT_LAST_MS)
		ms = WAIT_LAST_MS;
	/* Callers that failed together do not come back together. */
	ms = ms / 2 + (unsigned)(os_random(retry->os) % (ms / 2 + 1));
	if (now + ms * 1000000ull >= retry->deadline_ns)
		return 0;
	for (int step, left = (int)ms; left; left -= step) {
		if (patience_is_over())
			return 0;
		step = patience_step(left);
		os_sleep_ms(retry->os, (unsigned)step);
	}
	patience_lose(ms * 1000000ull, now + ms * 1000000ull);
	return 1;
}
