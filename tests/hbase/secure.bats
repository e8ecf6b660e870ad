# A real HBase with Kerberos and TLS, and one with TLS alone, which tests/hbase/lab
# starts; $CLUSTER is one that has neither. tests/hbase/cluster runs this.

load ../bats/helper

# HBase before 2.6 has no TLS.
knows_tls() {
	[[ ${CELLFS_LAB_HBASE:-2.6} != 2.5* ]]
}

# start KIND DIR: prints its name.
start() {
	local address

	address=$("$BATS_TEST_DIRNAME/lab/lab" "$1" "$2" 3>&-) || return
	echo "hbase://localhost:${address##*:}"
}

setup_file() {
	"$BATS_TEST_DIRNAME/lab/realm" check || skip "no programs of Kerberos"
	export LAB2=$BATS_FILE_TMPDIR/lab LAB3=$BATS_FILE_TMPDIR/tls
	! knows_tls || start tls "$LAB3" >"$BATS_FILE_TMPDIR/insists" &
	SECURE=$(start secure "$LAB2")
	export SECURE REALM=$LAB2/realm
	export KRB5_CONFIG=$REALM/krb5.conf KRB5CCNAME=$BATS_FILE_TMPDIR/tickets
	kinit -k -t "$REALM/tester.keytab" tester
	wait $!
}

teardown_file() {
	local lab

	for lab in ${LAB2:-} ${LAB3:-}; do
		[ ! -e "$lab/pid" ] || "$BATS_TEST_DIRNAME/lab/lab" kill "$lab"
	done
}

setup() {
	T=$BATS_TEST_TMPDIR
	M=$T/mnt
	LOG=$T/log
	N=secure$BATS_TEST_NUMBER
	KRB="security=kerberos"
	# The authority, and who this side is.
	TLS="tls=on&ca=$REALM/ca.pem"
	ME="cert=$REALM/tester.pem&key=$REALM/tester.key"
}

# refused SETTINGS WORDS...: cellctl ends at once, not after its minute, with words.
refused() {
	local word settings=$1

	shift
	run -3 timeout 50 "$CELLCTL" list "${AT:-$SECURE}/?$settings"
	for word; do
		[[ $output == *"$word"* ]] || {
			echo "no \"$word\" in: $output" >&2
			return 1
		}
	done
}

needs_tls() {
	knows_tls || skip "HBase before 2.6 has no TLS"
}

# sent SETTINGS: puts the word "secret" and shows what goes over the wire.
sent() {
	ASAN_OPTIONS=detect_leaks=0 strace -f -s 100000 -e trace=sendto \
		-o "$T/sent" "$CELLCTL" put "${AT:-$SECURE}/?$1" "$N" r f:q secret
	grep -q sendto "$T/sent"
	cat "$T/sent"
}

@test "a mount with tickets, whatever protects what follows" {
	for qop in "" authentication integrity privacy; do
		STORE="$SECURE/?$KRB${qop:+&qop=$qop}"
		mount_store
		mkdir -p "$M/$N" "$M/$N/r$qop"
		echo "hello $qop" >"$M/$N/r$qop/f:q"
		unmount_store
		"$CELLCTL" get "$STORE" "$N" "r$qop" f:q | grep -q "hello $qop"
	done
	[ "$("$CELLCTL" count "$STORE" "$N")" = 4 ]
}

@test "a mount over TLS with tickets, and long values" {
	needs_tls
	STORE="$SECURE/?$KRB&qop=privacy&$TLS&$ME"
	mount_store
	mkdir "$M/$N" "$M/$N/r"
	head -c 5000000 /dev/urandom >"$T/long"
	cp "$T/long" "$M/$N/r/f:q"
	for i in 1 2 3; do
		echo "$i" >"$M/$N/r/f:$i"
	done
	remount_store
	cmp "$T/long" "$M/$N/r/f:q"
	[ "$(cat "$M/$N/r/f:1" "$M/$N/r/f:2" "$M/$N/r/f:3")" = "1
2
3" ]
	unmount_store
	# The same without TLS, in packets of Kerberos alone.
	for qop in integrity privacy; do
		STORE="$SECURE/?$KRB&qop=$qop"
		mount_store
		cmp "$T/long" "$M/$N/r/f:q"
		unmount_store
	done
}

@test "what protects hides, and nothing else does" {
	needs_tls
	"$CELLCTL" create "$SECURE/?$KRB" "$N" f
	sent "$KRB&qop=authentication" | grep -q secret
	sent "$KRB&qop=integrity" | grep -q secret
	for settings in "$KRB&qop=privacy" "$KRB" \
		"$KRB&qop=authentication&$TLS&$ME"; do
		sent "$settings" >"$T/hidden"
		run ! grep secret "$T/hidden"
	done
	"$CELLCTL" get "$SECURE/?$KRB" "$N" r f:q | grep -q secret
}

@test "a client keytab gets tickets when there are none" {
	KRB5CCNAME=$T/none KRB5_CLIENT_KTNAME=$REALM/tester.keytab \
		"$CELLCTL" list "$SECURE/?$KRB"
}

@test "without a valid ticket nothing goes on" {
	KRB5CCNAME=$T/none refused "$KRB" "No Kerberos credentials" kinit
	STORE="$SECURE/?$KRB"
	KRB5CCNAME=$T/none run ! mount_store
	DAEMON=
	[[ $(cat "$LOG") == *kinit* ]]
}

# A KDC forgives a clock that is five minutes late. One of the same realm that does
# not shows an old ticket sooner.
strict_kdc() {
	local port

	port=$(cat "$REALM/port")
	sed -e "s/:$port/:$((port - 10000))/" \
		-e 's/default_realm/clockskew = 3\n&/' "$KRB5_CONFIG" >"$T/krb5.conf"
	sed "s/:$port/:$((port - 10000))/" "$REALM/kdc.conf" >"$T/kdc.conf"
	export KRB5_CONFIG=$T/krb5.conf
	KRB5_KDC_PROFILE=$T/kdc.conf PATH=$PATH:/usr/sbin krb5kdc -n \
		>"$T/kdc.out" 2>&1 3>&- &
	KDC=$!
}

teardown() {
	if [ -n "${KDC:-}" ]; then
		kill "$KDC"
		kill -CONT "$KDC"
		wait "$KDC" || true
	fi
	[ -z "${DAEMON:-}" ] || unmount_store
}

has_expired() {
	run timeout 50 "$CELLCTL" list "$SECURE/?$KRB"
	[ "$status" -eq 3 ] && [[ $output == *xpired* ]]
}

@test "a ticket that has run out is told, with what gets another" {
	strict_kdc
	export KRB5CCNAME=$T/short
	settled kinit -l 1s -k -t "$REALM/tester.keytab" tester
	settled has_expired
	[[ $output == *kinit* ]]
}

@test "a KDC that says nothing is told in time" {
	strict_kdc
	export KRB5CCNAME=$T/silent
	settled kinit -k -t "$REALM/tester.keytab" tester
	kill -STOP "$KDC"
	refused "$KRB&timeout=8" "no ticket of Kerberos in time" KDC
	STORE="$SECURE/?$KRB"
	run ! mount_store -o timeout=8
	DAEMON=
	[[ $(cat "$LOG") == *"no ticket of Kerberos in time"* ]]
}

@test "the servers must be who they are said to be" {
	refused "$KRB&principal=hbase/_HOST@OTHER.TEST" OTHER.TEST principal=
	refused "$KRB&principal=nobody/_HOST" nobody/localhost principal=
	# A service that there is, and that this server is not.
	refused "$KRB&principal=other/_HOST" "does not accept the ticket"
	"$CELLCTL" list "$SECURE/?$KRB&principal=hbase/_HOST@CELLFS.TEST"
}

@test "a user does in a table what HBase grants, and what it does not is told" {
	local file

	for file in "$N" "$N-w" "$N-wc" "$N-c"; do
		"$CELLCTL" create "$SECURE/?$KRB" "$file" f:versions=5
		"$CELLCTL" put "$SECURE/?$KRB" "$file" r f:q theirs
	done
	printf 'grant %s other %s\n' "$N" R "$N-w" RW "$N-wc" WC "$N-c" C |
		"$BATS_TEST_DIRNAME/lab/lab" java "$LAB2" \
			"$BATS_TEST_DIRNAME/lab/Client.java" >"$T/granted" 2>&1
	[ "$(grep -c '^ok' "$T/granted")" = 5 ]
	KRB5CCNAME=$T/other kinit -k -t "$REALM/other.keytab" other/localhost
	STORE="$SECURE/?$KRB"
	KRB5CCNAME=$T/other mount_store
	settled cat "$M/$N/r/f:q"
	settled cp "$LOG" "$M/$N-w/r/f:q"
	echo mine >"$M/$N-w/r/f:q"
	[ "$(cat "$M/$N-w/r/f:q")" = mine ]
	[ "$(ls "$M")" = "$N
$N-c
$N-w
$N-wc" ]
	grep -q 'versions 5' "$M/$N/.schema"
	# To a shell, which does not look at the error of a close(2).
	for file in r/f:q r/f:new r/f/q/5 .put/s/f:q; do
		run ! bash -c 'echo mine >"$1"' - "$M/$N/$file"
		[[ $output == *"Permission denied"* ]]
	done
	run ! bash -c 'printf "s\tf:q\t\tx\n" >"$1"' - "$M/$N/.cells"
	run ! bash -c 'echo "family g" >>"$1"' - "$M/$N-w/.schema"
	run ! rm "$M/$N/r/f:q"
	grep -q 'open .*EACCES.*action=WRITE' "$M/.cellfs/errors"
	grep -q 'write .*schema: EACCES.*needs CREATE' "$M/.cellfs/errors"
	[ "$(cut -f 1,2,4 "$M/$N/.cells")" = "r	f:q	theirs" ]
	# Who may put and not read says which version it is to be.
	printf 's\tf:q\t7\tx\n' >"$M/$N-wc/.cells"
	run ! cat "$M/$N-wc/.cells"
	[ "$("$CELLCTL" export "$STORE" "$N-wc" | grep f:q | cut -f 1,4)" = "r	theirs
s	x" ]
	run ! bash -c 'printf "s\tf:q\t7\tx\n" >"$1"' - "$M/$N-c/.cells"
	[[ $output == *"Permission denied"* ]]
	grep -q "write .*$N-c/.cells: EACCES.*action=WRITE" "$M/.cellfs/errors"
	# And of what is out of service everybody learns that.
	"$CELLCTL" disable "$STORE" "$N"
	KRB5CCNAME=$T/other run -3 "$CELLCTL" get "$STORE" "$N" r f:q
	[[ $output == *"is disabled"* ]]
}

@test "both sides want Kerberos, or neither" {
	refused "" "Authentication is required" "?security=kerberos"
	AT=${CLUSTER/127.0.0.1/localhost} refused "$KRB" "knows no Kerberos"
}

@test "certificates are looked at on both sides" {
	needs_tls
	refused "$KRB&tls=on&$ME" "nobody whom this side trusts" ca=
	refused "$KRB&tls=on&ca=$REALM/stranger.pem&$ME" "nobody whom" ca=
	AT=${SECURE/localhost/127.0.0.1} refused "$KRB&$TLS&$ME" \
		"not for 127.0.0.1"
	refused "$KRB&$TLS" "it may want one" cert=
	refused "$KRB&$TLS&cert=$REALM/stranger.pem&key=$REALM/stranger.key" \
		"does not accept this side's certificate" cert=
	refused "$KRB&$TLS&cert=$REALM/tester.pem&key=$REALM/ca.key" key=
	refused "$KRB&tls=on&ca=$T/none" "ca=$T/none" "No such file"
	AT=$CLUSTER refused "$TLS" "does not speak TLS"
}

# insists: makes the cluster of $AT the one of TLS alone, whose authority is $CA.
insists() {
	needs_tls
	AT=$(cat "$BATS_FILE_TMPDIR/insists")
	CA=$LAB3/realm/ca.pem
}

@test "over TLS without Kerberos all goes inside, the user's name too" {
	insists
	export HADOOP_USER_NAME=carol
	STORE="$AT/?tls=on&ca=$CA"
	mount_store
	mkdir "$M/$N" "$M/$N/r"
	head -c 3000000 /dev/urandom >"$T/long"
	cp "$T/long" "$M/$N/r/f:long"
	remount_store
	cmp "$T/long" "$M/$N/r/f:long"
	unmount_store
	grep -q "Client=carol//.* create '$N'" "$LAB3/log"
	sent "tls=on&ca=$CA" >"$T/hidden"
	run ! grep -E 'secret|carol' "$T/hidden"
	[ "$("$BATS_TEST_DIRNAME/lab/lab" client "$LAB3" get "$N" r f q)" = \
		secret ]
}

@test "a server that insists on TLS is not spoken to otherwise, nor is a stranger" {
	insists
	refused "timeout=10" "if it wants TLS, set tls=on"
	refused "$KRB&timeout=10" "if it wants TLS, set tls=on"
	refused "tls=on" "nobody whom this side trusts" ca=
	# An authority of the same name.
	refused "tls=on&ca=$REALM/ca.pem" "nobody whom this side trusts" ca=
	AT=${AT/localhost/127.0.0.1} refused "tls=on&ca=$CA" "not for 127.0.0.1"
	STORE="$AT/?tls=on&ca=$REALM/stranger.pem"
	run ! mount_store
	DAEMON=
	[[ $(cat "$LOG") == *"nobody whom this side trusts"*ca=* ]]
}

@test "keys are in no core dump" {
	needs_tls
	ASAN_OPTIONS=detect_leaks=0 strace -f -e trace=prctl -o "$T/calls" \
		"$CELLCTL" list "$SECURE/?$KRB"
	grep -q 'PR_SET_DUMPABLE, SUID_DUMP_DISABLE' "$T/calls"
	STORE="$SECURE/?$KRB&$TLS&$ME"
	CELLFS=$T/traced
	cat >"$CELLFS" <<-END
		#!/bin/sh
		ASAN_OPTIONS=detect_leaks=0 exec strace -f -e trace=prctl \
			-o '$T/calls' '$BUILD/fs/cellfs' "\$@"
	END
	chmod +x "$CELLFS"
	mount_store
	unmount_store
	grep -q 'PR_SET_DUMPABLE, SUID_DUMP_DISABLE' "$T/calls"
}
