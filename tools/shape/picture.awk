# Makes one SVG of a page, for a document that shows one:
#
#	cellctl shape STORE --html | awk -f tools/shape/picture.awk >FILE.svg
#
# What is drawn stands below each other, under its headings; sentences are left out.

BEGIN {
	WIDTH = 1000
	EDGE = 24
	y = EDGE
}

/^<style>/ { in_style = 1 }

in_style {
	# What of it lays out a page would size these drawings.
	sub(/<style>/, "")
	sub(/svg\{[^}]*\}/, "svg{font:12px sans-serif}")
	if (!/^body|^main|^h1|^section|^dl/)
		style = style $0 "\n"
	if (/<\/style>/)
		in_style = 0
}

/<section/ {
	name = $0
	sub(/.*<h2>/, "", name)
	sub(/<\/h2>.*/, "", name)
	y += 22
	body = body "<text x=\"" EDGE "\" y=\"" y "\" class=\"b\" " \
		"style=\"font-size:17px\">" name "</text>\n"
	y += 10
}

/<svg/ {
	split($0, part, "\"")
	split(part[2], box, " ")
	sub(/<svg/, "<svg x=\"" EDGE "\" y=\"" y "\" width=\"" WIDTH \
		"\" height=\"" box[4] "\"")
	sub(/.*<svg/, "<svg")
	y += box[4] + 8
	drawing = 1
}

drawing {
	line = $0
	drawing = !/<\/svg>/
	sub(/<\/section>/, "", line)
	body = body line "\n"
}

END {
	sub(/<\/style>.*/, "", style)
	size = WIDTH + 2 * EDGE " " y + EDGE / 2
	print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " size "\">"
	print "<style>" style "</style>"
	print "<rect width=\"100%\" height=\"100%\" style=\"fill:var(--card)\"/>"
	printf "%s</svg>\n", body
}
