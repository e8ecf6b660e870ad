/*
 * Commands over tables and whole stores.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/cellctl.h"

int cmd_init(int argc, char **argv)
{
	struct store *store;
	int code;

	if (argc != 2)
		return fail_usage(NULL);
	code = open_store(argv[1], true, false, &store);
	return code ? code : close_store(store, NULL, EXIT_DONE);
}

int cmd_tables(int argc, char **argv)
{
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	struct store *store;
	int code;

	if (argc != 2)
		return fail_usage(NULL);
	code = open_store(argv[1], false, true, &store);
	if (code)
		return code;
	while (store_table_next(store, bytes_str(name), name) > 0)
		puts(name);
	return close_store(store, NULL, EXIT_DONE);
}

int cmd_create(int argc, char **argv)
{
	struct family_attrs attrs;
	struct schema schema;
	struct store *store;
	int code, r = 0;

	if (argc < 3)
		return fail_usage(NULL);
	code = open_store(argv[1], true, false, &store);
	if (code)
		return code;
	schema_init(&schema, getuid(), getgid());
	schema.fixed = argc > 3;
	family_attrs_default(&attrs);
	for (int i = 3; r == 0 && i < argc; i++)
		r = schema_add(&schema, bytes_str(argv[i]), &attrs);
	if (r == 0)
		r = store_table_create(store, bytes_str(argv[2]), &schema);
	if (r < 0)
		code = fail_store(argv[2]);
	schema_free(&schema);
	return close_store(store, NULL, code);
}

static int read_all(FILE *in, struct buf *out, size_t max)
{
	for (;;) {
		size_t n;

		if (out->len > max)
			return why(-EFBIG, "the input is over %zu bytes", max);
		if (buf_reserve(out, 65536) < 0)
			return why(-ENOMEM, "out of memory");
		n = fread(out->data + out->len, 1, 65536, in);
		out->len += n;
		if (n)
			continue;
		if (ferror(in))
			return why(-EIO, "cannot read the input");
		return 0;
	}
}

int cmd_alter(int argc, char **argv)
{
	struct schema schema = {0}, now = {0};
	struct store *store;
	struct buf text = {0};
	struct table *t;
	int code, r;

	if (argc != 3)
		return fail_usage(NULL);
	code = open_table(argv[1], argv[2], false, &store, &t);
	if (code)
		return code;
	r = read_all(stdin, &text, SCHEMA_TEXT_MAX);
	if (r == 0)
		r = table_schema(t, &now);
	if (r == 0)
		r = schema_parse(buf_bytes(&text), &now, &schema);
	if (r == 0)
		r = table_alter(t, &schema, false);
	if (r < 0)
		code = fail_store(argv[2]);
	schema_free(&schema);
	schema_free(&now);
	buf_free(&text);
	return close_store(store, t, code);
}

int cmd_describe(int argc, char **argv)
{
	struct schema schema = {0};
	struct buf text = {0};
	struct store *store;
	struct table *t;
	int code, r;

	if (argc != 3)
		return fail_usage(NULL);
	code = open_table(argv[1], argv[2], true, &store, &t);
	if (code)
		return code;
	r = table_schema(t, &schema);
	if (r == 0)
		r = schema_format(&schema, &text);
	if (r < 0)
		code = fail_store(argv[2]);
	else
		fwrite(text.data, 1, text.len, stdout);
	schema_free(&schema);
	buf_free(&text);
	return close_store(store, t, code);
}

int cmd_drop(int argc, char **argv)
{
	bool force = argc == 4 && !strcmp(argv[3], "--force");
	struct store *store;
	int code, r;

	if (argc != 3 && !force)
		return fail_usage(NULL);
	code = open_store(argv[1], false, false, &store);
	if (code)
		return code;
	r = store_table_drop(store, bytes_str(argv[2]), !force);
	if (r < 0)
		code = fail_store(argv[2]);
	if (r == -ENOTEMPTY)
		fputs("  with --force they go too\n", stderr);
	return close_store(store, NULL, code);
}

static void say_fault(void *arg, const char *sentence)
{
	(void)arg;
	puts(sentence);
}

int cmd_check(int argc, char **argv)
{
	int r;

	if (argc != 2)
		return fail_usage(NULL);
	r = store_check(argv[1], NULL, say_fault, NULL);
	if (r < 0)
		return fail_store(argv[1]);
	printf("%s: %d fault%s\n", argv[1], r, r == 1 ? "" : "s");
	return r ? EXIT_NONE : EXIT_DONE;
}

int cmd_stats(int argc, char **argv)
{
	struct store_stat st;
	struct store *store;
	int code;

	if (argc != 2)
		return fail_usage(NULL);
	code = open_store(argv[1], false, true, &store);
	if (code)
		return code;
	for (unsigned i = 0; store_stat(store, i, &st) > 0; i++)
		printf("%-30s %12llu  %s\n", st.name,
		       (unsigned long long)st.value, st.help);
	return close_store(store, NULL, EXIT_DONE);
}

int cmd_flush(int argc, char **argv)
{
	struct store *store;
	int code;

	if (argc != 2)
		return fail_usage(NULL);
	code = open_store(argv[1], false, false, &store);
	if (code)
		return code;
	if (store_flush(store, NULL) < 0)
		code = fail_store(argv[1]);
	return close_store(store, NULL, code);
}

int cmd_compact(int argc, char **argv)
{
	struct table *t = NULL;
	struct store *store;
	int code;

	if (argc != 2 && argc != 3)
		return fail_usage(NULL);
	if (argc == 3)
		code = open_table(argv[1], argv[2], false, &store, &t);
	else
		code = open_store(argv[1], false, false, &store);
	if (code)
		return code;
	if (store_compact(store, t) < 0)
		code = fail_store(argv[1]);
	return close_store(store, t, code);
}
