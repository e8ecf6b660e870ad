#!/usr/bin/env bash
# Customers and their orders: two tables in one.
#
# The row CUSTOMER holds who the customer is, the row CUSTOMER-ORDER one order
# with its lines, each a qualifier. All of one customer is a prefix, newest
# order first as its number is counted down; an order is one row, so it is
# there as a whole or not at all.

# shellcheck source=/dev/null disable=SC2012 # the tree is read by ls
. "$(dirname "$0")/design.bash"
SIZE=${SIZE:-3000}

awk -v n="$SIZE" "$RANDOM_AWK"'
BEGIN {
	OFS = "\t"
	for (i = 0; i < n; i++) {
		customer = sprintf("c%04d", random(200))
		lines = 1 + random(4)
		for (k = 1; k <= lines; k++)
			print customer, i, k, "article" random(80), 1 + random(9)
	}
}' >"$W/lines"
cut -f 1 "$W/lines" | sort -u | awk -v OFS='\t' '{
	print $1, "who:name", 1, "Customer " substr($1, 2) }' >"$T/.cells"
awk -v OFS='\t' '{
	print sprintf("%s-%06d", $1, 999999 - $2), "line:" $3, 1, $4 " " $5 }' \
	"$W/lines" >"$T/.cells"

# All of one customer in one read: the name, then the orders, newest first.
{
	echo "Customer 0042"
	grep -P '^c0042\t' "$W/lines" | sort -k 2,2nr -k 3,3n |
		awk '{ print $4, $5 }'
} >"$W/want"
cut -f 4 "$T/.range/c0042..c0042./.cells" >"$W/got"
same "a customer and all orders" "$W/want" "$W/got"

# The newest order.
grep -P '^c0042\t' "$W/lines" | sort -k 2,2nr -k 3,3n |
	awk 'NR == 1 { order = $2 } $2 == order { print $4, $5 }' >"$W/want"
cut -f 4 "$T/.prefix/c0042-/.first/1/.cells" >"$W/got"
same "the newest order" "$W/want" "$W/got"

# A new one is built aside and appears at once.
order=c0042-$(printf %06d $((999999 - SIZE)))
mkdir "$T/.stage/$order"
printf 'article1 5' >"$T/.stage/$order/line:1"
printf 'article2 1' >"$T/.stage/$order/line:2"
mv "$T/.stage/$order" "$T/$order"
printf 'article1 5\narticle2 1\n' >"$W/want"
cut -f 4 "$T/.prefix/c0042-/.first/1/.cells" >"$W/got"
same "an order that was just made" "$W/want" "$W/got"
