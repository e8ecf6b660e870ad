#include "fs/control/scrape.h"

#include <errno.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fs/control/metrics.h"
#include "fs/tree/fs.h"

/* Of one connection: the head of a request, and of its reply. */
#define CONNECTION_BYTES (16 << 10)

struct scrape {
	struct MHD_Daemon *daemon;
	/* Sockets, the oldest first; only the thread that serves uses them. */
	int open[SCRAPE_CONNECTIONS + 1];
	unsigned nopen;
};

int scrape_check(void)
{
	return 0;
}

static enum MHD_Result say(struct MHD_Connection *c, unsigned status,
			   const char *text)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
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
	int err = metrics_text(fs, &text);
	enum MHD_Result r;

	if (err < 0) {
		char words[128];

		buf_free(&text);
		snprintf(words, sizeof(words), "%s\n", strerror(-err));
		return say(c, MHD_HTTP_SERVICE_UNAVAILABLE, words);
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

static void leave(struct scrape *s, int fd)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < s->nopen; i++)
		if (s->open[i] != fd)
			s->open[kept++] = s->open[i];
	s->nopen = kept;
}

/* Who is slow, or says nothing, keeps nobody out: one too many ends the oldest. */
static void note_connection(void *arg, struct MHD_Connection *c, void **context,
			    enum MHD_ConnectionNotificationCode what)
{
	int fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)
			 ->connect_fd;
	struct scrape *s = arg;

	leave(s, fd);
	if (what != MHD_CONNECTION_NOTIFY_STARTED)
		return;
	if (s->nopen == SCRAPE_CONNECTIONS)
		shutdown(s->open[0], SHUT_RDWR);
	s->open[s->nopen++] = fd;
}

/* Who breaks off or sends nonsense is no news. */
static void say_nothing(void *arg, const char *format, va_list ap)
{
}

int scrape_start(struct fs *fs, int listening, struct scrape **out)
{
	struct scrape *s = calloc(1, sizeof(*s));
	sigset_t all, before;

	if (!s) {
		close(listening);
		return why(-ENOMEM, "out of memory for metrics");
	}
	/* Signals are the main thread's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	s->daemon = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO |
			MHD_USE_ERROR_LOG,
		0, NULL, NULL, answer, fs, MHD_OPTION_EXTERNAL_LOGGER,
		say_nothing, NULL, MHD_OPTION_LISTEN_SOCKET, listening,
		MHD_OPTION_NOTIFY_CONNECTION, note_connection, s,
		MHD_OPTION_CONNECTION_LIMIT, SCRAPE_CONNECTIONS + 1u,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SCRAPE_IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!s->daemon) {
		close(listening);
		free(s);
		return why(-EIO, "metrics: libmicrohttpd cannot serve here");
	}
	*out = s;
	return 0;
}

void scrape_stop(struct scrape *s)
{
	if (s)
		MHD_stop_daemon(s->daemon);
	free(s);
}
