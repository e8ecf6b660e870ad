/*
 * Runs a fuzz target over files, without a fuzzer.
 *
 * usage: fuzz-NAME [--near] FILE_OR_DIRECTORY...
 *
 * With --near it is also run over what lies near each file: cut at each length,
 * and each byte with one bit other, or with the least or the greatest value. Of a
 * long file that is a sample.
 */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Inputs that are made of one file, about. */
#define NEAR_MAX 5000

static unsigned ran;
static bool near;

/* In memory of just that size, so that AddressSanitizer sees who reads on. */
static void run(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
	ran++;
}

static void run_near(uint8_t *data, size_t size)
{
	size_t step = 1 + size / (NEAR_MAX / 5);

	for (size_t i = 0; i < size; i += step) {
		const uint8_t was = data[i];
		const uint8_t other[] = {was ^ 1, was ^ 0x80, 0, 0xff};

		run(data, i);
		for (size_t j = 0; j < sizeof(other); j++) {
			data[i] = other[j];
			if (other[j] != was)
				run(data, size);
		}
		data[i] = was;
	}
}

static int run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	long size = -1;
	int rc = -1;

	if (f && !fseek(f, 0, SEEK_END))
		size = ftell(f);
	if (size >= 0)
		data = malloc(size ? (size_t)size : 1);
	if (data && !fseek(f, 0, SEEK_SET) &&
	    fread(data, 1, (size_t)size, f) == (size_t)size) {
		/* Said before, so that an abort leaves the name behind. */
		printf("%s\n", path);
		fflush(stdout);
		run(data, (size_t)size);
		if (near)
			run_near(data, (size_t)size);
		rc = 0;
	}
	if (rc)
		fprintf(stderr, "cannot read %s: %s\n", path, strerror(errno));
	free(data);
	if (f)
		fclose(f);
	return rc;
}

static int run_directory(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	char name[4096];
	int rc = 0;

	if (!d) {
		fprintf(stderr, "cannot open %s: %s\n", path, strerror(errno));
		return -1;
	}
	while (rc == 0 && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
		rc = run_file(name);
	}
	closedir(d);
	return rc;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct stat st;
		int rc;

		if (!strcmp(argv[i], "--near")) {
			near = true;
			continue;
		}
		if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode))
			rc = run_directory(argv[i]);
		else
			rc = run_file(argv[i]);
		if (rc)
			return 1;
	}
	printf("%u inputs\n", ran);
	/* A run over nothing has proven nothing. */
	if (ran == 0) {
		fprintf(stderr, "usage: %s [--near] FILE_OR_DIRECTORY...\n",
			argv[0]);
		return 2;
	}
	return 0;
}
