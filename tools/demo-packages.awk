# The Debian package index as .cells lines: apt-cache dumpavail | awk -f this.
#
# A stanza is a package, a field a column, in family d when it speaks of other
# packages and in i otherwise. A field's further lines are part of its value,
# joined by a newline without the blank that continues them.
#
# Run it with LC_ALL=C: bytes are looked at one by one.

BEGIN {
	n = split("Depends Pre-Depends Recommends Suggests Enhances Breaks " \
		"Conflicts Replaces Provides Built-Using Static-Built-Using", \
		names, " ")
	for (k = 1; k <= n; k++)
		about_others[names[k]] = 1
	for (k = 1; k < 32; k++)
		code[sprintf("%c", k)] = sprintf("%%%02X", k)
	code[sprintf("%c", 127)] = "%7F"
	code["%"] = "%25"
}

function escaped(s,    out, i, c) {
	if (s !~ /[\001-\037\177%]/)
		return s
	for (i = 1; i <= length(s); i++) {
		c = substr(s, i, 1)
		out = out (c in code ? code[c] : c)
	}
	return out
}

function put() {
	if (field != "" && package != "")
		printf "%s\t%s:%s\t\t%s\n", package, \
			(field in about_others ? "d" : "i"), field, \
			escaped(value)
	field = ""
}

/^$/ {
	put()
	package = ""
	next
}

/^[ \t]/ {
	value = value "\n" substr($0, 2)
	next
}

{
	put()
	colon = index($0, ":")
	field = substr($0, 1, colon - 1)
	value = substr($0, colon + 1)
	sub(/^[ \t]+/, "", value)
	if (field == "Package")
		package = value
}

END { put() }
