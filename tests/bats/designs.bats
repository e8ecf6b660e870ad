load helper

# The designs of tests/designs, each over a mount; CELLFS_SIZE is how much data.
design() {
	SIZE=${CELLFS_SIZE:-} "$BATS_TEST_DIRNAME/../designs/$1.sh" "$M"
	remount_store
	[ -n "$(ls "$M/$1")" ]
}

@test "log data is read by a prefix of host and event" {
	design log-data
}

@test "reverse timestamps give the newest first" {
	design reverse-timestamps
}

@test "binary keys of 8 and 16 bytes sort and are found" {
	design binary-keys
}

@test "the block of an IP address is the first key at or after it" {
	design ip-blocks
}

@test "places of an area are ranges of quadtiles" {
	design quadtiles
}

@test "a tall table and a wide row are read by pages and whole" {
	design tall-and-wide
}

@test "lists of users are read 30 at a time" {
	design user-lists
}

@test "page views are counted per cookie and URL" {
	design page-views
}

@test "the top URL has the greatest timestamp" {
	design top-url
}

@test "a month is a range of days" {
	design months
}

@test "a customer and the orders are one prefix" {
	design customer-orders
}

@test "every design is tested here" {
	local script
	for script in "$BATS_TEST_DIRNAME"/../designs/*.sh; do
		grep -q "design $(basename "$script" .sh)\$" \
			"$BATS_TEST_DIRNAME/designs.bats"
	done
}

@test "a design that answers wrong fails" {
	mkdir "$T/designs"
	cp "$BATS_TEST_DIRNAME"/../designs/{design.bash,months.sh} "$T/designs"
	sed -i 's/20080700\.\.20080800/20080700..20080802/' \
		"$T/designs/months.sh"
	run -1 "$T/designs/months.sh" "$M"
	[[ $output == *"NOT ok: a month"* ]]
}
