#include "fs/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cellfs-version.h"
#include "fs/control/scrape.h"
#include "fs/files/lost_found.h"
#include "fs/host/descriptors.h"
#include "fs/host/host_dir.h"
#include "fs/host/listener.h"
#include "fs/host/mountpoint.h"
#include "fs/host/sandbox.h"
#include "fs/host/supervisor.h"
#include "fs/mounter.h"
#include "fs/ops/fs_life.h"
#include "fs/ops/ops.h"
#include "fs/report/log.h"
#include "fs/tree/fs.h"
#include "fs/tree/root.h"
#include "store/keys.h"

/* In the foreground, lines of libfuse's trace are printed as they are. */
static bool in_background;

static void log_libfuse(enum fuse_log_level level, const char *fmt, va_list ap)
{
	if (!in_background)
		vfprintf(stderr, fmt, ap);
	else if (level <= FUSE_LOG_ERR)
		log_verror(LOG_ERR, fmt, ap);
}

/* In libfuse's option lists ',' and '\' are escaped. */
static int add_escaped(struct buf *b, const char *s)
{
	int r = 0;

	for (; r == 0 && *s; s++) {
		if (*s == ',' || *s == '\\')
			r = buf_append(b, "\\", 1);
		if (r == 0)
			r = buf_append(b, s, 1);
	}
	return r;
}

static int session_args(const struct options *o, struct fuse_args *args)
{
	static const char fixed[] =
		",subtype=cellfs,default_permissions,noatime,nosuid,nodev";
	struct buf b = {0};
	int r = buf_append(&b, "fsname=", 7);

	if (r == 0)
		r = add_escaped(&b, o->store);
	if (r == 0)
		r = buf_append(&b, fixed, sizeof(fixed) - 1);
	if (r == 0 && o->read_only)
		r = buf_append(&b, ",ro", 3);
	if (r == 0 && o->noexec)
		r = buf_append(&b, ",noexec", 7);
	if (r == 0 && o->allow_other)
		r = buf_append(&b, ",allow_other", 12);
	if (r == 0 && o->io_uring)
		r = buf_printf(&b, ",io_uring,io_uring_q_depth=%d",
			       TRANSPORT_DEPTH);
	if (r == 0)
		r = buf_append(&b, "", 1);
	if (r == 0 &&
	    (fuse_opt_add_arg(args, "cellfs") || fuse_opt_add_arg(args, "-o") ||
	     fuse_opt_add_arg(args, (const char *)b.data) ||
	     (o->debug && fuse_opt_add_arg(args, "-d"))))
		r = -ENOMEM;
	buf_free(&b);
	return r < 0 ? why(r, "out of memory") : 0;
}

/* Called by any thread of the store. */
static void store_news(void *arg, enum store_news what, const char *sentence)
{
	const struct options *o = arg;

	if (what == STORE_NEWS_FAILED)
		log_tell(LOG_CRIT,
			 "the store %s takes no more writes until it is "
			 "mounted again: %s",
			 o->store, sentence);
	else if (what == STORE_NEWS_STUCK)
		log_tell(LOG_ERR, "the store %s: %s", o->store, sentence);
	else if (what == STORE_NEWS_DAMAGED)
		log_tell(LOG_CRIT, "the store %s is damaged: %s", o->store,
			 sentence);
	else
		log_notice("the store %s: %s", o->store, sentence);
}

/* The statistic @name of @s, 0 if there is none. */
static uint64_t figure(struct store *s, const char *name)
{
	struct store_stat f;

	for (unsigned i = 0; store_stat(s, i, &f) > 0; i++)
		if (!strcmp(f.name, name))
			return f.value;
	return 0;
}

static void say_recovery(const struct options *o, struct store *s)
{
	log_notice("recovered %s: %llu segments and %llu records of the log "
		   "in %llu ms",
		   o->store,
		   (unsigned long long)figure(s, "recovered_segments"),
		   (unsigned long long)figure(s, "recovered_records"),
		   (unsigned long long)figure(s, "recovery_ns") / 1000000);
}

static int open_for_mount(const struct options *o, mount_open_fn open_store,
			  struct store **out)
{
	const struct store_options so = {
		.create = !o->read_only,
		.read_only = o->read_only,
		.no_delete = o->nodelete,
		.insecure = o->insecure_store,
		/* umount(8) returns before the daemon has closed the store. */
		.wait_ms = STORE_WAIT_MS,
		.sync = o->sync,
		.cache_bytes = o->cache_bytes,
		.write_buffer_bytes = o->write_buffer_bytes,
		.background_bytes_s = o->background_io,
		.timeout_ms = (uint32_t)(o->timeout_s * 1000),
		.news = store_news,
		.news_arg = (void *)o,
	};

	int r;

	store_hide_keys(o->store);
	r = open_store(o->store, &so, out);
	/* Without the memory for it pictures have no heat. */
	if (r == 0)
		(void)store_heat(*out);
	return r;
}

/* The parts of a session, made step by step; freed from any step on. */
struct mount {
	const struct options *options;
	struct store *store;
	struct fs *fs;
	struct fuse_args args;
	struct fuse_session *session;
	struct mounter mounter;
	struct sandbox sandbox;
	struct scrape *scrape;
	int listening; /* for scrape_start(); -1 = no, or it was taken over */
	bool handlers, mounted;
};

static int say_no_mount(const struct options *o)
{
	return why(-EIO,
		   "%s cannot be mounted on (see above; is /dev/fuse there and "
		   "fusermount3 installed?)",
		   o->mountpoint);
}

/* Has it mounted by who still may. */
static int take_device(struct mount *m)
{
	char path[32];
	int fd;

	fd = mounter_mount(&m->mounter);
	if (fd < 0)
		return say_no_mount(m->options);
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	if (fuse_session_mount(m->session, path)) {
		close(fd);
		return why(-EIO, "libfuse does not take the device");
	}
	m->mounted = true;
	return fuse_parallel_dirops(m->session) < 0
		       ? why(-ENOMEM, "out of memory")
		       : 0;
}

/*
 * The device is closed at once, so that nobody waits for a request that is not
 * served; libfuse closes the number later. Unmounted is what is not yet.
 */
static void leave_device(struct mount *m)
{
	int fd = fuse_session_fd(m->session);
	struct pollfd p = {.fd = fd};
	bool there = poll(&p, 1, 0) <= 0 || !(p.revents & POLLERR);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		dup3(null, fd, O_CLOEXEC);
		close(null);
	}
	mounter_end(&m->mounter, there);
}

static int mount_up(struct mount *m, mount_open_fn open_store)
{
	const struct options *o = m->options;
	int r = open_for_mount(o, open_store, &m->store);

	if (r == 0) {
		if (store_is_directory(o->store))
			say_recovery(o, m->store);
		r = fs_new(m->store, o, &m->fs);
	}
	if (r == 0 && o->root)
		r = root_open(m->fs, o->root);
	if (r < 0)
		return r;
	m->fs->sandbox = &m->sandbox;
	m->session = fuse_session_new(&m->args, fs_ops(),
				      sizeof(struct fuse_lowlevel_ops), m->fs);
	if (!m->session)
		return why(-EINVAL, "libfuse refused the options");
	m->fs->session = m->session;
	if (fuse_set_signal_handlers(m->session))
		return why(-EINVAL, "no signal handlers can be set");
	m->handlers = true;
	r = take_device(m);
	if (r < 0)
		return r;
	r = invalidator_start(m->fs->invalidator, m->session, !o->foreground);
	return r < 0 ? why(r, "no thread can be started") : 0;
}

static int serve_metrics(struct mount *m)
{
	int fd = m->listening;

	m->listening = -1;
	return fd < 0 ? 0 : scrape_start(m->fs, fd, &m->scrape);
}

/* When it returns 0, all acknowledged writes are on disk. */
static int mount_down(struct mount *m)
{
	int r = 0;

	supervisor_stopping();
	scrape_stop(m->scrape);
	if (m->listening >= 0)
		close(m->listening);
	if (m->fs)
		invalidator_stop(m->fs->invalidator);
	if (m->mounted)
		leave_device(m);
	else
		mounter_end(&m->mounter, false);
	if (m->mounted)
		lost_found_keep(m->fs);
	fs_free(m->fs);
	if (m->store)
		r = store_close(m->store);
	if (m->handlers)
		fuse_remove_signal_handlers(m->session);
	if (m->session)
		fuse_session_destroy(m->session);
	fuse_opt_free_args(&m->args);
	supervisor_close();
	return r;
}

/* Tells the waiting command that the mount is ready, and leaves its files. */
static void report_ready(int fd)
{
	if (write(fd, "", 1) != 1)
		log_error("the starting command did not wait");
	close(fd);
	if (chdir("/") < 0)
		log_error("chdir: %s", strerror(errno));
	descriptors_silence();
	in_background = true;
	log_background();
}

/*
 * Long values are mapped, so that freeing one gives its memory back. Without
 * this the allocator would raise the length from which it does so.
 */
static void set_up_memory(void)
{
#ifdef M_MMAP_THRESHOLD
	mallopt(M_MMAP_THRESHOLD, 512 << 10);
#endif
}

/*
 * Makes @user the owner of the store's directory, which root has just made. Between
 * the two calls the owner of the directory above may have put something else at
 * @path, a link to a directory of root's, say, which @user is not to have. So the
 * owner is changed by descriptor, and only of a directory as it was made: reached by
 * no link, root's, and empty.
 */
static int give_store_to(uid_t user, gid_t group, const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int r = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		r = why(-errno, "the store %s: %m", path);
	else if (st.st_uid != geteuid() || host_dir_is_empty(fd, ".") != 1)
		r = why(-EPERM, "the store %s: somebody has replaced it", path);
	else if (fchown(fd, user, group) < 0)
		r = why(-errno, "the store %s: %m", path);
	if (fd >= 0)
		close(fd);
	return r;
}

/*
 * Makes the store's directory if it is not there, for @user if that is not root:
 * @user himself may have no right to make one there.
 */
static int make_store_for(const struct options *o, uid_t user, gid_t group)
{
	if (!store_is_directory(o->store) || o->read_only)
		return 0;
	if (mkdir(o->store, 0700) < 0)
		return errno == EEXIST
			       ? 0
			       : why(-errno, "the store %s: %m", o->store);
	return user ? give_store_to(user, group, o->store) : 0;
}

/*
 * Parts with what serving does not need. Threads that are started later have
 * it no more either.
 */
static int give_up_privileges(struct mount *m, mount_open_fn open_store,
			      bool background)
{
	const struct options *o = m->options;
	const struct passwd *p = o->run_as ? getpwnam(o->run_as) : NULL;
	uid_t user = p ? p->pw_uid : 0;
	gid_t group = p ? p->pw_gid : 0;
	int r = session_args(o, &m->args);

	if (r == 0)
		r = mounter_start(&m->mounter, &m->args, o->mountpoint, user,
				  group, background);
	if (r == 0 && open_store == store_open)
		r = make_store_for(o, user, group);
	if (r == 0 && o->run_as)
		r = sandbox_become(o->run_as, o->sandbox == SANDBOX_NO);
	if (store_is_directory(o->store))
		m->sandbox.store = o->store;
	m->sandbox.ring = o->io_uring;
	m->sandbox.syslog = !log_is_file(o->log);
	if (r == 0 && o->sandbox != SANDBOX_NO)
		r = sandbox_enter(&m->sandbox, o->sandbox == SANDBOX_REQUIRED);
	return r;
}

static int listen_for_metrics(const char *where, int *fd)
{
	int r = scrape_check();

	return r < 0 ? r : listener_open("metrics", where, fd);
}

/* @ready: descriptor to report to when mounted; -1 in the foreground. */
static int serve(const struct options *o, mount_open_fn open_store, int ready)
{
	struct mount m = {.options = o,
			  .args = FUSE_ARGS_INIT(0, NULL),
			  .listening = -1,
			  .mounter.socket = -1};
	struct rlimit files;
	int r, end;

	umask(077);
	set_up_memory();
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	fuse_set_log_func(log_libfuse);
	supervisor_open();
	r = log_open(o->log);
	if (r == 0 && o->metrics)
		r = listen_for_metrics(o->metrics, &m.listening);
	if (r == 0)
		r = give_up_privileges(&m, open_store, ready >= 0);
	if (r == 0)
		r = mount_up(&m, open_store);
	if (r == 0)
		r = serve_metrics(&m);
	if (r < 0) {
		log_error("%s", store_why());
	} else {
		if (ready >= 0)
			report_ready(ready);
		supervisor_ready(o->mountpoint);
		log_notice("mounted %s on %s", o->store, o->mountpoint);
		/* Positive: ended by a signal, which is a success. */
		r = transport_loop(&m.fs->transport, m.session, FS_THREADS_MAX);
		if (r < 0)
			log_error("the kernel's requests cannot be read: %s",
				  strerror(-r));
	}
	end = mount_down(&m);
	if (end < 0)
		log_error("the store could not be closed: %s", store_why());
	if (r == 0 && mountpoint_is_dead(o->mountpoint)) {
		r = -ENOTCONN;
		log_error("%s has lost its connection to the kernel, which "
			  "somebody has ended (fusectl, abort), and is still "
			  "mounted: start cellfs anew, or run "
			  "\"fusermount3 -u -z %s\"",
			  o->mountpoint, why_word(o->mountpoint));
	} else if (end == 0 && m.mounted) {
		log_notice("unmounted %s from %s", o->store, o->mountpoint);
	}
	return r < 0 || end < 0;
}

/* Waits until the daemon is ready or has ended; returns the exit code. */
static int await(pid_t pid, int fd)
{
	char byte;
	ssize_t n;
	int status;

	do {
		n = read(fd, &byte, 1);
	} while (n < 0 && errno == EINTR);
	close(fd);
	if (n == 1)
		return 0;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	if (WIFSIGNALED(status))
		log_error("the daemon was killed by signal %d while it started",
			  WTERMSIG(status));
	return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status)
							: 1;
}

static int start_daemon(const struct options *o, mount_open_fn open_store)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0) {
		log_error("pipe: %s", strerror(errno));
		return 1;
	}
	pid = fork();
	if (pid < 0) {
		log_error("fork: %s", strerror(errno));
		return 1;
	}
	if (pid > 0) {
		close(fds[1]);
		return await(pid, fds[0]);
	}
	descriptors_close(fds[1]);
	setsid();
	return serve(o, open_store, fds[1]);
}

/* Is the store there, or can it be made, apart from the mountpoint? */
static int check_directory(const struct options *o)
{
	struct stat st;

	if (stat(o->store, &st) < 0) {
		if (errno != ENOENT)
			return why(-errno, "the store %s: %s", o->store,
				   strerror(errno));
		if (o->read_only)
			return why(-ENOENT,
				   "there is no store at %s, and with -o ro "
				   "none is made",
				   o->store);
	} else if (!S_ISDIR(st.st_mode)) {
		return why(-ENOTDIR, "the store %s is not a directory",
			   o->store);
	}
	return 0;
}

static int check(const struct options *o)
{
	bool directory = store_is_directory(o->store);
	int r = o->io_uring ? transport_check() : 0;

	if (r == 0)
		r = directory ? check_directory(o) : store_check_name(o->store);
	/* The sandbox looks at no directory above the store. */
	if (r == 0 && directory && !o->read_only)
		r = store_check_new(o->store);
	if (r == 0)
		r = mountpoint_prepare(o->mountpoint);
	if (r == 0 && directory)
		r = mountpoint_check_apart(o->store, o->mountpoint);
	if (r == 0)
		r = store_check_place(o->mountpoint);
	return r;
}

/* The daemon changes its directory, so paths must be absolute. */
static int make_absolute(const char *what, char **path)
{
	char *p = realpath(*path, NULL);

	if (!p)
		p = mountpoint_absolute(*path);
	if (!p)
		return why(-errno, "the %s %s: %s", what, *path,
			   strerror(errno));
	free(*path);
	*path = p;
	return 0;
}

int mount_run(struct options *o, mount_open_fn open_store)
{
	int r = check(o);

	if (r == 0 && store_is_directory(o->store))
		r = make_absolute("store", &o->store);
	if (r == 0)
		r = make_absolute("mountpoint", &o->mountpoint);
	if (r == 0 && log_is_file(o->log))
		r = make_absolute("log", &o->log);
	if (r < 0) {
		log_error("%s", store_why());
		return 1;
	}
	if (o->fake)
		return 0;
	return o->foreground ? serve(o, open_store, -1)
			     : start_daemon(o, open_store);
}

/* The exit code of who has only printed. */
static int end_output(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	log_error("cannot write the output: %s", strerror(errno));
	return 1;
}

int mount_main(int argc, char **argv, mount_open_fn open_store)
{
	struct options o;
	int r, code;

	descriptors_fill();
	r = options_parse(argc, argv, &o);
	if (r < 0) {
		log_error("%s", store_why());
		code = 2;
	} else if (o.help) {
		options_help(stdout, "cellfs");
		code = end_output();
	} else if (o.version) {
		printf("cellfs %s\nlibfuse %s\n", CELLFS_VERSION,
		       fuse_pkgversion());
		code = end_output();
	} else {
		code = mount_run(&o, open_store);
	}
	options_free(&o);
	return code;
}
