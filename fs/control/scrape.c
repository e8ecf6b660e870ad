#include "fs/control/scrape.h"

#include <errno.h>
#include <microhttpd.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "fs/control/metrics.h"
#include "fs/tree/fs.h"

/* Of one connection: the head of a request, and of its reply. */
#define CONNECTION_BYTES (16 << 10)

int scrape_check(void)
{
	return 0;
}

/* @text: static. */
static enum MHD_Result say(struct MHD_Connection *c, unsigned status,
			   const char *text)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
	enum MHD_Result r;

	if (!response)
		return MHD_NO;
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, "Allow", "GET, HEAD");
	r = MHD_queue_response(c, status, response);
	MHD_destroy_response(response);
	return r;
}

static enum MHD_Result give_metrics(struct fs *fs, struct MHD_Connection *c)
{
	struct MHD_Response *response;
	struct buf text = {0};
	enum MHD_Result r;

	if (metrics_text(fs, &text) < 0) {
		buf_free(&text);
		return say(c, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory\n");
	}
	response = MHD_create_response_from_buffer(text.len, text.data,
						   MHD_RESPMEM_MUST_COPY);
	buf_free(&text);
	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type",
				"text/plain; version=0.0.4; charset=utf-8");
	r = MHD_queue_response(c, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return r;
}

static enum MHD_Result answer(void *fs, struct MHD_Connection *c,
			      const char *url, const char *method,
			      const char *version, const char *data,
			      size_t *len, void **request)
{
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return say(c, MHD_HTTP_METHOD_NOT_ALLOWED,
			   "this is to be read only\n");
	if (strcmp(url, "/metrics") != 0)
		return say(c, MHD_HTTP_NOT_FOUND, "/metrics is what is here\n");
	return give_metrics(fs, c);
}

/* Who breaks off or sends nonsense is no news. */
static void say_nothing(void *arg, const char *format, va_list ap)
{
}

int scrape_start(struct fs *fs, int listening, struct scrape **out)
{
	struct MHD_Daemon *d;
	sigset_t all, before;

	/* Signals are the main thread's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	d = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO |
			MHD_USE_ERROR_LOG,
		0, NULL, NULL, answer, fs, MHD_OPTION_EXTERNAL_LOGGER,
		say_nothing, NULL, MHD_OPTION_LISTEN_SOCKET, listening,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)SCRAPE_CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SCRAPE_IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!d) {
		close(listening);
		return why(-EIO, "metrics: libmicrohttpd cannot serve here");
	}
	*out = (struct scrape *)d;
	return 0;
}

void scrape_stop(struct scrape *s)
{
	if (s)
		MHD_stop_daemon((struct MHD_Daemon *)s);
}
