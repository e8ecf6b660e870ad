/*
 * Eight writers, and a daemon that is killed under them, or a disk whose power
 * is cut.
 *
 *	killtest [--cycles N] [--seed N] [--option O] [--work MS]
 *		 [--power CELLFS-CUT] CELLFS STORE MOUNTPOINT
 *
 * A cycle starts the daemon, lets each writer work in rows of its own, kills
 * the daemon with SIGKILL at a random moment within MS milliseconds, mounts the
 * store anew and reads back what the writers did in this and, of a part, in all
 * earlier cycles:
 *
 *	acknowledged change	there, with its value, in its listing
 *	acknowledged removal	gone
 *	the one under way	there whole, or not at all
 *
 * Every second cycle leaves the dead mount to the next daemon to heal.
 *
 * With --power the daemon is CELLFS-CUT, whose disk forgets what was not
 * synced, and a cycle is a power cut: the disk as it is left then, all unsynced
 * work gone or a random part of it, is mounted by CELLFS and read. What counts
 * as acknowledged is what a sync had returned for before the cut was asked for.
 * After some cuts, from which the writers work on, the daemon is killed, and
 * the next one starts from the disk that the last cut left.
 *
 * A cycle that proves nothing fails: each writer must have had something
 * acknowledged, and one must have been inside a call, or have had unsynced work,
 * when the signal was sent. The seed decides what is written, but not when the
 * signal falls.
 */
#include "tests/mount/killtest.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 60000
/* The death of a daemon takes no longer, nor the answer to who waited for it. */
#define STUCK_MS 60000
/* Before some cuts so much is done that nobody syncs, or that long. */
#define QUIET_OPS 40
#define QUIET_MS 100

/* A daemon and its mount. */
struct mount {
	const char *program, *store, *point;
	pid_t pid;    /* while it runs */
	bool mounted; /* a mount may be there, dead or alive */
};

struct run run;
static const char *cut_program, *mount_option;
static struct mount work, image; /* image: what a power cut left */
static unsigned cycle, work_ms = 400;
static pid_t writer_pids[WRITERS];
static uint64_t in_flight;
static char cut_path[4096], image_point[4096];

static int detach(struct mount *m);

void fail(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr,
		"killtest: seed %llu, cycle %u: ", (unsigned long long)run.seed,
		cycle);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	for (unsigned w = 0; w < WRITERS; w++)
		if (writer_pids[w])
			kill(writer_pids[w], SIGKILL);
	for (struct mount *m = &work; m; m = m == &work ? &image : NULL) {
		if (m->pid) {
			kill(m->pid, SIGKILL);
			umount2(m->point, MNT_FORCE);
			waitpid(m->pid, NULL, 0);
		}
		if (m->mounted)
			detach(m);
	}
	exit(1);
}

static void sleep_us(unsigned us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000L};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

static pid_t run_program(const char *const *argv)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork: %s", strerror(errno));
	if (pid == 0) {
		execvp(argv[0], (char *const *)argv);
		fprintf(stderr, "killtest: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	return pid;
}

static int reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			fail("waitpid: %s", strerror(errno));
	return status;
}

/* Operations and checks are there from now on. */
static void start_daemon(struct mount *m)
{
	/* A store that is only read makes no segments ahead, which take time. */
	const char *ro = m == &image && cycle % 4 ? "ro" : "rw";
	const char *option = mount_option ? mount_option : "rw";
	const char *argv[] = {m->program, m->store, m->point, "-f", "-o",
			      option,	  "-o",	    ro,	      NULL};
	uint8_t version[256];
	char path[4096];
	int status;

	m->pid = run_program(argv);
	m->mounted = true;
	run.point = m->point;
	snprintf(path, sizeof(path), "%s/.cellfs/version", m->point);
	/* What the kernel remembers of a dead mount would please access(2). */
	for (unsigned ms = 0; read_file(path, version, sizeof(version)) <= 0;
	     ms++) {
		if (waitpid(m->pid, &status, WNOHANG) == m->pid) {
			m->pid = 0;
			fail("the daemon did not start: status %#x", status);
		}
		if (ms > WAIT_MS)
			fail("the daemon has not mounted %s in %d s", m->point,
			     WAIT_MS / 1000);
		sleep_us(1000);
	}
}

static int detach(struct mount *m)
{
	const char *argv[] = {"fusermount3", "-u", "-z", m->point, NULL};

	m->mounted = false;
	return reap(run_program(argv));
}

static void end_daemon(struct mount *m)
{
	int status;

	kill(m->pid, SIGTERM);
	status = reap(m->pid);
	m->pid = 0;
	m->mounted = false;
	if (status != 0)
		fail("after SIGTERM the daemon ended with status %#x", status);
}

static void kill_daemon(struct mount *m)
{
	unsigned ms = 0;
	int status;

	if (kill(m->pid, SIGKILL) < 0)
		fail("kill: %s", strerror(errno));
	while (waitpid(m->pid, &status, WNOHANG) == 0) {
		if (ms++ == STUCK_MS)
			fail("the daemon does not die of SIGKILL");
		sleep_us(1000);
	}
	m->pid = 0;
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		fail("the daemon ended before the kill: status %#x", status);
}

static void make_table(void)
{
	static const char schema[] = "families open\n"
				     "family v\n\tversions 1000000\n"
				     "family l\n\tversions 1000000\n"
				     "family o\n\tversions 3\n";
	char path[4096];

	snprintf(path, sizeof(path), "%s/T", run.point);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		fail("%s: %s", path, strerror(errno));
	snprintf(path, sizeof(path), "%s/T/.schema", run.point);
	if (put_file(path, O_TRUNC, schema, sizeof(schema) - 1) < 0)
		fail("%s: %s", path, strerror(errno));
}

static enum op_state state_now(unsigned w, uint32_t i)
{
	return (enum op_state)__atomic_load_n(&run.writers[w].state[i],
					      __ATOMIC_ACQUIRE);
}

static uint32_t begun_now(unsigned w)
{
	return __atomic_load_n(&run.writers[w].n, __ATOMIC_ACQUIRE);
}

static uint32_t acked_since(unsigned w, uint32_t from)
{
	uint32_t n = begun_now(w), acked = 0;

	for (uint32_t i = from; i < n; i++)
		acked += state_now(w, i) == OP_ACKED;
	return acked;
}

/* How many operations are in one of these states. */
static unsigned in_state(enum op_state least, enum op_state most)
{
	unsigned n = 0;

	for (unsigned w = 0; w < WRITERS; w++)
		for (uint32_t i = begun_now(w); i-- > run.since[w];) {
			enum op_state state = state_now(w, i);

			n += state >= least && state <= most;
		}
	return n;
}

static void wait_for_acks(void)
{
	for (unsigned ms = 0;; ms++) {
		unsigned ready = 0;

		for (unsigned w = 0; w < WRITERS; w++) {
			ready += acked_since(w, run.since[w]) > 0;
			if (run.writers[w].error)
				fail("writer %u: %s at operation %u", w,
				     strerror(run.writers[w].error),
				     run.writers[w].n - 1);
		}
		if (ready == WRITERS)
			return;
		if (ms > WAIT_MS)
			fail("only %u of %d writers got anything done", ready,
			     WRITERS);
		sleep_us(1000);
	}
}

static void wait_for_work(void)
{
	unsigned n = 0;

	wait_for_acks();
	sleep_us((unsigned)(mix(run.seed + cycle) % (work_ms * 1000ul + 1)));
	for (unsigned tries = 0; tries < 1000000 && n == 0; tries++)
		n = in_state(OP_BEGUN, OP_CLOSED);
	if (n == 0)
		fail("no writer was at work at the signal");
	in_flight += n;
}

static void start_writers(void)
{
	*run.killing = false;
	for (unsigned w = 0; w < WRITERS; w++) {
		run.since[w] = run.writers[w].n;
		run.writers[w].error = 0;
		writer_pids[w] = fork();
		if (writer_pids[w] < 0)
			fail("fork: %s", strerror(errno));
		if (writer_pids[w] == 0) {
			write_on(w);
			_exit(0);
		}
	}
}

static void end_writers(void)
{
	for (unsigned w = 0; w < WRITERS; w++) {
		int status = reap(writer_pids[w]), error = run.writers[w].error;

		if (status != 0)
			fail("writer %u ended with status %#x", w, status);
		if (error == 0)
			fail("writer %u ran out of work: lower --cycles", w);
		/* EIO is that of a request that was being copied. */
		if (run.writers[w].early ||
		    (error != ENOTCONN && error != ECONNABORTED &&
		     error != EIO))
			fail("writer %u: %s at operation %u", w,
			     strerror(error), run.writers[w].n - 1);
	}
}

/*
 * Kills the daemon, while a writer waits for it, and the writers end. Only then the
 * mount goes: beneath it all that they ask for is absent.
 */
static void end_work(bool heal)
{
	__atomic_store_n(run.killing, true, __ATOMIC_RELEASE);
	kill_daemon(&work);
	end_writers();
	if (!heal && detach(&work) != 0)
		fail("%s cannot be unmounted", work.point);
}

static void check_all(void)
{
	for (unsigned w = 0; w < WRITERS; w++)
		check_writer(w);
	run.turn++;
}

static void kill_cycle(bool heal)
{
	uint32_t total = 0;

	start_daemon(&work);
	if (cycle == 0)
		make_table();
	check_all();
	start_writers();
	wait_for_work();
	end_work(heal);
	for (unsigned w = 0; w < WRITERS; w++)
		total += acked_since(w, run.since[w]);
	printf("cycle %u: %u acknowledged%s\n", cycle, total,
	       heal ? ", dead mount left to heal" : "");
	fflush(stdout);
}

/* What must be, and what may be, on the disk of a cut that is asked for now. */
static void judge_before(void)
{
	for (unsigned w = 0; w < WRITERS; w++) {
		uint32_t n = begun_now(w);

		run.judged[w].n = n;
		for (uint32_t i = 0; i < n; i++)
			run.judged[w].state[i] = (uint8_t)state_now(w, i);
	}
}

/* What was begun until the image is there may be in it. */
static void judge_after(void)
{
	for (unsigned w = 0; w < WRITERS; w++) {
		uint32_t n = begun_now(w), had = run.judged[w].n;

		for (uint32_t i = had ? had - 1 : 0; i < n; i++) {
			uint8_t *is = &run.judged[w].state[i];

			if (i >= had || *is == OP_NONE)
				*is = state_now(w, i) == OP_NONE ? OP_NONE
								 : OP_BEGUN;
		}
		run.judged[w].n = n;
	}
}

/* What the writers did behind the last cut never was. */
static void go_back(void)
{
	for (unsigned w = 0; w < WRITERS; w++) {
		struct writer *me = &run.writers[w];
		uint32_t n = run.judged[w].n;

		for (uint32_t i = 0; i < me->n; i++)
			me->state[i] = i >= n ? OP_NONE
				       : run.judged[w].state[i] == OP_CLOSED
					       ? OP_BEGUN
					       : run.judged[w].state[i];
		me->n = n;
	}
}

static void run_or_fail(const char *const *argv)
{
	int status = reap(run_program(argv));

	if (status != 0)
		fail("%s: status %#x", argv[0], status);
}

/* The image stays as it is: a copy is mounted. */
static void check_image(void)
{
	const char *const copy[] = {"cp", "-a", cut_path, image.store, NULL};
	const char *const drop[] = {"rm", "-rf", image.store, NULL};

	run_or_fail(drop);
	run_or_fail(copy);
	start_daemon(&image);
	check_all();
	end_daemon(&image);
	run.point = work.point;
}

static void signal_writers(int number)
{
	for (unsigned w = 0; w < WRITERS; w++)
		if (kill(writer_pids[w], number) < 0)
			fail("kill: %s", strerror(errno));
}

/* The image is at cut_path. */
static void make_image(bool some)
{
	const char *const drop[] = {"rm", "-rf", cut_path, NULL};

	run_or_fail(drop);
	judge_before();
	if (kill(work.pid, some ? SIGUSR2 : SIGUSR1) < 0)
		fail("kill: %s", strerror(errno));
	for (unsigned ms = 0; access(cut_path, F_OK) < 0; ms++) {
		if (ms > WAIT_MS)
			fail("the power cut never came");
		sleep_us(1000);
	}
	judge_after();
}

static void cut_power(void)
{
	uint64_t lost = run.lost, x = mix(run.seed ^ cycle * 3ull);
	uint32_t total = 0;
	bool some = x & 1;

	wait_for_work();
	/* For a moment nobody syncs, so that there is more to lose. */
	if (x & 2) {
		__atomic_store_n(run.quiet, true, __ATOMIC_RELEASE);
		for (unsigned ms = 0; ms < QUIET_MS; ms++) {
			if (in_state(OP_CLOSED, OP_CLOSED) >= QUIET_OPS)
				break;
			sleep_us(1000);
		}
	}
	make_image(some);
	__atomic_store_n(run.quiet, false, __ATOMIC_RELEASE);
	signal_writers(SIGSTOP);
	for (unsigned w = 0; w < WRITERS; w++) {
		total += acked_since(w, run.since[w]);
		run.since[w] = run.judged[w].n;
	}
	check_image();
	signal_writers(SIGCONT);
	printf("cut %u: %u acknowledged, %s, %llu unsynced files gone\n", cycle,
	       total, some ? "a random part lost" : "all lost that may be",
	       (unsigned long long)(run.lost - lost));
	fflush(stdout);
}

/* The daemon over what the last cut left, and some cuts. */
static void power_cycles(unsigned cycles)
{
	const char *const drop[] = {"rm", "-rf", work.store, NULL};
	unsigned cuts = 1 + (unsigned)(mix(run.seed ^ cycle) % 5);

	start_daemon(&work);
	if (cycle == 0)
		make_table();
	start_writers();
	for (; cuts > 0 && cycle < cycles; cuts--, cycle++)
		cut_power();
	end_work(false);
	go_back();
	run_or_fail(drop);
	if (rename(cut_path, work.store) < 0)
		fail("%s: %s", cut_path, strerror(errno));
}

/* Each kind of operation has returned once, in a run of some length. */
static uint32_t count_kinds(unsigned cycles)
{
	uint32_t of[OP_KINDS] = {0}, total = 0;

	for (unsigned w = 0; w < WRITERS; w++)
		for (uint32_t i = 0; i < run.writers[w].n; i++)
			if (run.writers[w].state[i] >= OP_CLOSED)
				of[op_kind(w, i)]++;
	for (unsigned kind = 0; kind < OP_KINDS; kind++) {
		total += of[kind];
		if (kind != OP_RARE && of[kind] == 0 && cycles >= 40)
			fail("no operation of kind %u has been done", kind);
	}
	return total;
}

/* Of this many cuts one loses something, by a disk that forgets. */
static bool may_be_chance(unsigned cycles)
{
	return run.power && !run.sync && cycles >= 10 && run.lost == 0;
}

static void finish(unsigned cycles)
{
	uint32_t acked = 0, done = count_kinds(cycles);

	run.all = true;
	work.program = image.program;
	start_daemon(&work);
	check_all();
	end_daemon(&work);
	for (unsigned w = 0; w < WRITERS; w++)
		acked += acked_since(w, 0);
	if (may_be_chance(cycles))
		fail("no power cut has lost anything: the disk forgets "
		     "nothing");
	printf("%u cycles: all of %u acknowledged changes are there, of %u "
	       "that returned; %llu in flight at the signals, %llu lost of "
	       "them "
	       "that nobody synced, %llu looks\n",
	       cycle, acked, done, (unsigned long long)in_flight,
	       (unsigned long long)run.lost, (unsigned long long)run.checked);
}

static void *shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		fail("mmap: %s", strerror(errno));
	return p;
}

static void usage(void)
{
	fputs("usage: killtest [--cycles N] [--seed N] [--option O] "
	      "[--work MS]\n"
	      "                [--power CELLFS-CUT] CELLFS STORE MOUNTPOINT\n",
	      stderr);
	exit(2);
}

static unsigned read_options(int argc, char **argv)
{
	static const struct option longs[] = {
		{"cycles", required_argument, NULL, 'c'},
		{"seed", required_argument, NULL, 's'},
		{"option", required_argument, NULL, 'o'},
		{"work", required_argument, NULL, 'w'},
		{"power", required_argument, NULL, 'p'},
		{0},
	};
	unsigned cycles = 8;
	int c;

	run.seed = (uint64_t)time(NULL) << 16 ^ (uint64_t)getpid();
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
		if (c == 'c')
			cycles = (unsigned)strtoul(optarg, NULL, 0);
		else if (c == 's')
			run.seed = strtoull(optarg, NULL, 0);
		else if (c == 'o')
			mount_option = optarg;
		else if (c == 'w')
			work_ms = (unsigned)strtoul(optarg, NULL, 0);
		else if (c == 'p')
			cut_program = optarg;
		else
			usage();
	if (argc - optind != 3)
		usage();
	return cycles;
}

static void set_up(const char *cellfs, const char *store, const char *point)
{
	static char image_store[4096];

	run.power = cut_program != NULL;
	run.sync = mount_option && strstr(mount_option, "sync");
	run.writers = shared(WRITERS * sizeof(*run.writers));
	run.judged = run.power ? shared(WRITERS * sizeof(*run.writers))
			       : run.writers;
	run.killing = shared(sizeof(*run.killing));
	run.quiet = shared(sizeof(*run.quiet));
	snprintf(cut_path, sizeof(cut_path), "%s.cut", store);
	snprintf(image_store, sizeof(image_store), "%s.image", store);
	snprintf(image_point, sizeof(image_point), "%s.image", point);
	if (run.power && mkdir(image_point, 0700) < 0 && errno != EEXIST)
		fail("%s: %s", image_point, strerror(errno));
	work = (struct mount){.program = run.power ? cut_program : cellfs,
			      .store = store,
			      .point = point};
	image = (struct mount){
		.program = cellfs, .store = image_store, .point = image_point};
}

int main(int argc, char **argv)
{
	unsigned cycles = read_options(argc, argv);

	set_up(argv[optind], argv[optind + 1], argv[optind + 2]);
	printf("seed %llu\n", (unsigned long long)run.seed);
	/* Where no cut has lost anything yet, by chance, a few more decide. */
	while (cycle < cycles || (may_be_chance(cycles) && cycle < 3 * cycles))
		if (run.power) {
			power_cycles(cycle < cycles ? cycles : cycle + 5);
		} else {
			kill_cycle(cycle % 2 == 1);
			cycle++;
		}
	finish(cycles);
	return 0;
}
