/*
 * The metrics of a mount over HTTP: GET /metrics, and nothing else.
 *
 * For who collects figures and is not the user whose mount it is. libmicrohttpd
 * serves them with one thread, which makes the text anew for each request, in
 * turn. Of more connections than SCRAPE_CONNECTIONS the oldest ends, so that who
 * is slow keeps nobody out, and one that says nothing for SCRAPE_IDLE_S is closed.
 * Whoever reaches the socket may ask: the text names tables, and no keys.
 *
 * scrape_absent.c is for a build without the library.
 */
#ifndef CELLFS_FS_CONTROL_SCRAPE_H
#define CELLFS_FS_CONTROL_SCRAPE_H

struct fs;
struct scrape;

#define SCRAPE_CONNECTIONS 8
#ifndef SCRAPE_IDLE_S /* its test has less */
#define SCRAPE_IDLE_S 10
#endif

/* Can this build? 0, or -EOPNOTSUPP in words. */
int scrape_check(void);
/*
 * Serves at the socket @listening, which it takes over even on failure. The
 * thread runs until scrape_stop(), which comes before fs_free().
 */
int scrape_start(struct fs *fs, int listening, struct scrape **out);
void scrape_stop(struct scrape *s); /* @s may be NULL */

#endif
