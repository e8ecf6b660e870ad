/*
 * The daemon over a disk that forgets what was not synced.
 *
 *	cellfs-cut STORE MOUNTPOINT -f [-o ...]
 *
 * The store lies on a simulated disk (tests/sim) and has no threads of its
 * own, so that nothing is synced but what a request asks for. It begins with the
 * files of the directory STORE, if there is one, and never writes there. On
 * SIGUSR1 the disk is written as a power cut would leave it that loses all it
 * may: to the directory STORE.cut, which appears whole, and the daemon goes on.
 * On SIGUSR2 a random part of what was not synced is lost, another each time.
 * When the daemon has ended, an image that lost all is in STORE.end. With
 * CELLFS_CUT_IGNORE=PREFIX syncs of files that begin so do nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/mount.h"
#include "store/store.h"
#include "tests/sim/os_sim.h"

/* Its only directory is called so. */
#define SIM_STORE "store"

static struct {
	struct os *os;
	char whole[4096], end[4096], parts[4096]; /* .cut, .end, .cut~ */
} cut;

static void die(const char *what)
{
	fprintf(stderr, "cellfs-cut: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void write_out(const char *name, const void *data, size_t n)
{
	char path[8192];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", cut.parts, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, data, n) != (ssize_t)n || close(fd))
		die(path);
}

static int copy_file(void *arg, const char *name)
{
	struct os_file *f;
	uint64_t size = 0;
	ssize_t got;
	void *data;

	if (os_open(arg, name, OS_READ, &f) < 0 || os_size(f, &size) < 0)
		die(name);
	data = malloc(size + 1);
	got = data ? os_pread(f, data, size, 0) : -1;
	if (got < 0)
		die(name);
	write_out(name, data, (size_t)got);
	free(data);
	os_close(f);
	return 0;
}

/* A file of STORE, as one that was synced long ago. */
static int load_file(struct os_dir *dir, int from, const char *name)
{
	int fd = openat(from, name, O_RDONLY), r;
	struct os_file *f;
	uint64_t at = 0;
	char part[65536];
	ssize_t n;

	if (fd < 0)
		die(name);
	r = os_open(dir, name, OS_WRITE | OS_CREATE, &f);
	while (r == 0 && (n = read(fd, part, sizeof(part))) > 0) {
		r = os_pwrite(f, part, (size_t)n, at);
		at += (uint64_t)n;
	}
	close(fd);
	if (r < 0)
		return r;
	r = os_fdatasync(f);
	os_close(f);
	return r;
}

static int load(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	struct os_dir *dir;
	struct os *loaded;
	int r;

	if (!d)
		return 0;
	r = os_dir_open(cut.os, SIM_STORE, true, &dir);
	while (r == 0 && (e = readdir(d)))
		if (e->d_type == DT_REG)
			r = load_file(dir, dirfd(d), e->d_name);
	closedir(d);
	if (r < 0)
		return r;
	os_dir_close(dir);
	/* What follows has a log of its own. */
	loaded = sim_after_kill(cut.os);
	sim_free(cut.os);
	cut.os = loaded;
	return 0;
}

static void write_image(const char *as, bool some)
{
	static uint64_t seed;
	struct os *image =
		some ? sim_after_power_cut(
			       cut.os, ++seed << 32 ^ sim_log_length(cut.os))
		     : sim_after_power_loss(cut.os);
	struct os_dir *dir;

	if (mkdir(cut.parts, 0700))
		die(cut.parts);
	if (os_dir_open(image, SIM_STORE, false, &dir) < 0 ||
	    os_dir_list(dir, copy_file, dir) < 0)
		die("the image");
	os_dir_close(dir);
	sim_free(image);
	if (rename(cut.parts, as))
		die(as);
}

static void *wait_for_cuts(void *set)
{
	int number;

	while (!sigwait(set, &number))
		write_image(cut.whole, number == SIGUSR2);
	return NULL;
}

static int open_on_sim(const char *path, const struct store_options *o,
		       struct store **out)
{
	const char *ignored = getenv("CELLFS_CUT_IGNORE");
	struct store_options so = *o;
	static sigset_t set;
	pthread_t thread;
	uint64_t seed;
	int r;

	snprintf(cut.whole, sizeof(cut.whole), "%s.cut", path);
	snprintf(cut.end, sizeof(cut.end), "%s.end", path);
	snprintf(cut.parts, sizeof(cut.parts), "%s.cut~", path);
	/* Or one start of a store would have the random numbers of another. */
	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		return -EIO;
	cut.os = sim_new(seed);
	r = load(path);
	if (r < 0)
		return r;
	if (ignored)
		sim_ignore(cut.os, SIM_FDATASYNC, ignored, 0);
	so.os = cut.os;
	so.inline_background = true;
	/* Each cut copies it. */
	so.wal_segment_bytes = 1 << 20;
	/* Before the mount's threads, which inherit it. */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (pthread_create(&thread, NULL, wait_for_cuts, &set))
		return -EAGAIN;
	pthread_detach(thread);
	return store_open(SIM_STORE, &so, out);
}

int main(int argc, char **argv)
{
	/* What is cut off is written beside the store. */
	char *with[64] = {[0] = argv[0]}, option[] = "-o", no[] = "sandbox=no";
	int code;

	if (argc > 60)
		return 2;
	memcpy(with + 1, argv + 1, sizeof(*argv) * (size_t)(argc - 1));
	with[argc] = option;
	with[argc + 1] = no;
	code = mount_main(argc + 2, with, open_on_sim);

	if (cut.os)
		write_image(cut.end, false);
	return code;
}
