/*
 * cellctl: a store as commands.
 */
#include "tools/cellctl.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "cellfs-version.h"
#include "fs/host/descriptors.h"
#include "tools/backup/folder.h"
#include "tools/line/capitals.h"
#include "tools/line/complete.h"
#include "tools/line/opened.h"
#include "tools/line/print.h"
#include "tools/progress/progress.h"

static void print_help(const struct command *c)
{
	const char *options = c->options ? "[OPTION]... " : "";

	printf("usage: cellctl %s %s%s\n", c->name, options, c->args);
	if (c->alias)
		printf("   or: cellctl %s ...\n", c->alias);
	printf("\n%s", c->help);
	if (c->options)
		options_help(c);
	printf("\nexample: cellctl %s\n", c->example);
}

static int open_and_run(const struct command *c, struct request *rq)
{
	bool read_only = !(c->needs & WRITES) && !rq->writes;
	bool create = rq->create || (c->needs & MAKES) == MAKES;
	int code = EXIT_DONE, end;

	if (c->needs & AT_REST)
		code = need_rest(rq->words[0]);
	if (code)
		return code;
	if ((c->needs & NEEDS_TABLE) == NEEDS_TABLE)
		code = open_table(rq->words[0], rq->words[1], read_only,
				  &rq->store, &rq->table);
	else if (c->needs & NEEDS_STORE)
		code = open_store(rq->words[0], create, read_only, &rq->store);
	if (code && rq->nwords && folder_is(rq->words[0]))
		fprintf(stderr,
			"  it has backups; to make a store of one: cellctl "
			"restore %s STORE\n",
			why_word(rq->words[0]));
	if (code)
		return code;
	code = c->run(rq);
	end = print_end();
	if (code == EXIT_DONE || (code == EXIT_NONE && end != EXIT_DONE))
		code = end;
	return rq->store ? close_store(rq->store, rq->table, code) : code;
}

static int run_command(const struct command *c, int argc, char **argv)
{
	struct request rq = {.command = c, .rate = UINT64_MAX, .every_s = 1};
	struct capitals words = {0};
	int code;

	fail_begin(c);
	code = capitals_expand(&words, c, argc, argv);
	if (code == EXIT_DONE)
		code = options_parse(&rq, words.argc, words.argv);
	if (code == EXIT_DONE && rq.help) {
		print_help(c);
		goto out;
	}
	if (code == EXIT_DONE && (rq.nwords < c->words_min ||
				  (c->words_max && rq.nwords > c->words_max)))
		code = fail_usage(NULL);
	if (rq.json)
		print_json();
	if (code == EXIT_DONE && c->parse)
		code = c->parse(&rq);
	if (code == EXIT_DONE)
		code = open_and_run(c, &rq);
out:
	request_free(&rq);
	capitals_free(&words);
	return code;
}

/* The @n-th command of those that help lists; NULL = there is none. */
static const struct command *listed(int n)
{
	const struct command *c = cellctl_commands;

	while (c->name && (!c->line || n-- > 0))
		c++;
	return c->name ? c : NULL;
}

/* Prints the commands in two columns. */
static int print_commands(FILE *to, int code)
{
	const struct command *l, *r;
	int n = 0, half;

	while (listed(n))
		n++;
	half = (n + 1) / 2;
	fprintf(to, "usage: cellctl [--insecure] [--hbase-escapes] COMMAND "
		    "[OPTION]... STORE "
		    "...\n");
	for (int i = 0; i < half; i++) {
		l = listed(i);
		r = listed(i + half);
		fprintf(to, "  %-19s%-20s", l->name, l->line);
		if (r)
			fprintf(to, "%-20s%s", r->name, r->line);
		fprintf(to, "\n");
	}
	fprintf(to, "\n--insecure: a store others own or may write; "
		    "--hbase-escapes: \\xHH is a byte\n"
		    "cellctl COMMAND --help says more, cellctl(1) has more "
		    "words of HBase's shell.\n"
		    "Exit codes: 0 done; 1 nothing found, a check failed, or "
		    "faults found; 2 wrong\nusage; 3 failure.\n");
	return code;
}

static int no_command(const char *given)
{
	struct nearest near;

	nearest_init(&near, given);
	for (const struct command *c = cellctl_commands; c->name; c++) {
		nearest_offer(&near, c->name);
		if (c->alias)
			nearest_offer(&near, c->alias);
	}
	fprintf(stderr, "cellctl: there is no command '%s'", given);
	nearest_say(&near, "");
	fputs("\n  to list the commands: cellctl help\n", stderr);
	return EXIT_USAGE;
}

/* Takes an option that stands before the command. */
static bool take_first(const char *word)
{
	if (!strcmp(word, "--insecure"))
		open_insecure();
	else if (!strcmp(word, "--hbase-escapes"))
		args_hbase_escapes();
	else
		return false;
	return true;
}

static int complete_words(int argc, char **argv)
{
	for (; argc > 1 && take_first(argv[0]); argc--, argv++)
		;
	return complete(cellctl_commands, argc, argv);
}

static int run_words(int argc, char **argv)
{
	const struct command *c;

	for (; argc > 1 && take_first(argv[1]); argc--, argv++)
		;
	if (argc < 2)
		return print_commands(stderr, EXIT_USAGE);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "version")) {
		printf("cellctl %s\n", CELLFS_VERSION);
		return EXIT_DONE;
	}
	if (!strcmp(argv[1], "complete"))
		return complete_words(argc - 2, argv + 2);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
		if (argc == 2)
			return print_commands(stdout, EXIT_DONE);
		c = command_find(cellctl_commands, argv[2]);
		if (!c)
			return no_command(argv[2]);
		print_help(c);
		return EXIT_DONE;
	}
	c = command_find(cellctl_commands, argv[1]);
	return c ? run_command(c, argc - 1, argv + 1) : no_command(argv[1]);
}

/*
 * When who reads the output leaves, as head does, the store is closed first: a
 * server keeps a scanner that was not closed for a minute. Then the program ends
 * by the signal that it would have had.
 */
int main(int argc, char **argv)
{
	bool dies = signal(SIGPIPE, SIG_IGN) == SIG_DFL;
	int code;

	descriptors_fill();
	code = run_words(argc, argv);
	/* A shell that runs a script ends that, too. */
	if (progress_stopped() && code != EXIT_DONE)
		progress_end(progress_stopped());
	/* Writing the help may fail, too. */
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	if (dies && (errno == EPIPE || print_has_left())) {
		signal(SIGPIPE, SIG_DFL);
		raise(SIGPIPE);
	}
	if (code != EXIT_DONE && !print_has_left())
		return code;
	fprintf(stderr, "cellctl: cannot write the output: %s\n",
		strerror(errno));
	return EXIT_STORE;
}
