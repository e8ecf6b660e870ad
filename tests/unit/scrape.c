/* What a scraper is told that asks for no figures, or when there are none. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "fs/control/metrics.h"
#include "fs/control/scrape.h"

static int figures_fail;

int metrics_text(struct fs *fs, struct buf *out)
{
	/* What fails may have begun to say something. */
	if (buf_append(out, "a 1\n", 4) < 0)
		return -ENOMEM;
	return figures_fail;
}

struct fixture {
	struct scrape *scrape;
	struct sockaddr_un at;
	socklen_t len; /* of at */
	int fd;	       /* of who is connected */
};

static void dial(struct fixture *f)
{
	f->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(f->fd, (struct sockaddr *)&f->at, f->len), 0);
}

static void begin(struct fixture *f)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* A name of no filesystem, which the kernel chooses. */
	*f = (struct fixture){.at.sun_family = AF_UNIX, .len = sizeof(f->at)};
	assert_true(fd >= 0);
	assert_int_equal(
		bind(fd, (struct sockaddr *)&f->at, sizeof(sa_family_t)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&f->at, &f->len),
			 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(scrape_start(NULL, fd, &f->scrape), 0);
	dial(f);
}

static void end(struct fixture *f)
{
	close(f->fd);
	scrape_stop(f->scrape);
}

/* The whole reply, until the connection ends; "" if it has ended before. */
static void ask_once(struct fixture *f, char out[1024])
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n"
				      "Connection: close\r\n\r\n";
	size_t len = 0;
	ssize_t n;

	if (send(f->fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0)
		assert_int_equal(errno, EPIPE);
	while ((n = read(f->fd, out + len, 1023 - len)) > 0)
		len += (size_t)n;
	out[len] = '\0';
}

/* Who has been silent for too long, on a slow machine, is not answered. */
static void ask(struct fixture *f, char out[1024])
{
	ask_once(f, out);
	for (int i = 0; !out[0] && i < 100; i++) {
		close(f->fd);
		dial(f);
		ask_once(f, out);
	}
}

TEST(a_connection_that_says_nothing_is_closed)
{
	struct fixture f;
	char c;

	begin(&f);
	assert_int_equal(read(f.fd, &c, 1), 0);
	end(&f);
}

TEST(figures_that_cannot_be_had_say_why)
{
	struct fixture f;
	char text[1024];

	figures_fail = -ETIMEDOUT;
	begin(&f);
	ask(&f, text);
	assert_non_null(strstr(text, " 503 "));
	assert_non_null(strstr(text, "\r\n\r\nConnection timed out\n"));
	end(&f);
	figures_fail = 0;
	begin(&f);
	ask(&f, text);
	assert_non_null(strstr(text, "\r\n\r\na 1\n"));
	end(&f);
}

TEST(a_socket_that_cannot_be_served_is_closed)
{
	int r, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct rlimit files, none;
	struct scrape *s;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	none = files;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	r = scrape_start(NULL, fd, &s);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(r, -EIO);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

TEST(what_is_built_in_is_said_to_be_there)
{
	assert_int_equal(scrape_check(), 0);
	scrape_stop(NULL);
}
