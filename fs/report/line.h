/*
 * A line of a report. What is said in it may be a name that people chose, and a
 * control byte in that could forge a line, or fields of one.
 */
#ifndef CELLFS_FS_REPORT_LINE_H
#define CELLFS_FS_REPORT_LINE_H

/* Makes each control byte a question mark. */
static inline void line_clean(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7F)
			*s = '?';
}

#endif
