/*
 * The daemon over a disk that forgets what was not synced.
 *
 *	cellfs-cut STORE MOUNTPOINT -f [-o ...]
 *
 * The store lies on a simulated disk (tests/sim) and has no threads of its
 * own, so that nothing is synced but what a request asks for. On SIGUSR1 the
 * disk is written as a power cut would leave it that loses all it may: to the
 * directory STORE.cut, which appears whole, and the daemon goes on. When the
 * daemon has ended, such an image is in STORE.end.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void write_image(const char *as)
{
	struct os *image = sim_after_power_loss(cut.os);
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
		write_image(cut.whole);
	return NULL;
}

static int open_on_sim(const char *path, const struct store_options *o,
		       struct store **out)
{
	struct store_options so = *o;
	static sigset_t set;
	pthread_t thread;

	snprintf(cut.whole, sizeof(cut.whole), "%s.cut", path);
	snprintf(cut.end, sizeof(cut.end), "%s.end", path);
	snprintf(cut.parts, sizeof(cut.parts), "%s.cut~", path);
	cut.os = sim_new(1);
	so.os = cut.os;
	so.inline_background = true;
	/* Each cut copies it. */
	so.wal_segment_bytes = 1 << 20;
	/* Before the mount's threads, which inherit it. */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
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
		write_image(cut.end);
	return code;
}
