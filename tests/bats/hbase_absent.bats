#!/usr/bin/env bats
# A cluster of HBase that is not there, or that is something else: what is said,
# and when. Nothing here needs a real one.

load helper

setup() {
	T=$(cd "$BATS_TEST_TMPDIR" && pwd -P)
	M=$T/mnt
	mkdir "$M"
	WANTED="(HBase 2.5 or later, hbase.master.port)"
}

teardown() {
	[ -z "${SERVER:-}" ] || kill "$SERVER"
	end_store
}

# a_server KIND [REALM]: in $PORT, and $OTHER_PORT of one that is deaf; it ends with
# the test.
a_server() {
	if [ -n "${SERVER:-}" ]; then
		kill "$SERVER"
		# It has the pipe open until it is gone.
		wait "$SERVER" || true
	fi
	[ -p "$T/port" ] || mkfifo "$T/port"
	"$BATS_TEST_DIRNAME/../mount/not-hbase.py" "$@" >"$T/port" 3>&- &
	SERVER=$!
	read -r PORT OTHER_PORT <"$T/port"
}

# refused TEXT HOSTS [OPTION...]: the daemon ends with 1, with these words. On a busy
# machine the time may be over before it comes to them: it is given more then.
refused() {
	local text=$1 hosts=$2 seconds

	shift 2
	for seconds in 1 5 25; do
		run -1 timeout 60 "$CELLFS" "hbase://$hosts" "$M" \
			-o "timeout=$seconds$*" 3>&-
		[[ $output != *"$WANTED: "*"$text"* ]] || break
	done
	[[ $output == *"no master of a cluster answers as hbase://$hosts"* ]]
	[[ $output == *"$WANTED: "*"$text"* ]]
	run ! mountpoint -q "$M"
}

@test "where nobody listens, the port and the reason are said" {
	local port

	a_server deaf
	port=$PORT
	refused "127.0.0.1:$port: no connection: Connection refused: nobody listens there: does the server run, and is that its port?" \
		"127.0.0.1:$port"
	refused "127.0.0.1:$port: no connection: Connection refused" \
		"127.0.0.1:$OTHER_PORT,127.0.0.1:$port" ,ro
	refused "no.such.host.invalid:16000: " no.such.host.invalid
	# What is no name needs no name server to be none.
	refused "must know the servers by the names that HBase has for them" \
		no..such
}

@test "a server that never answers is given up at the deadline" {
	a_server silent
	refused "127.0.0.1:$PORT: GetClusterId: the server did not answer in time: is it stopped or overloaded?" \
		"127.0.0.1:$PORT"
}

# waits COMMAND...: runs it in the background, in $WAITER, until a call of its is one that
# the server leaves unanswered.
waits() {
	: >"$T/asked"
	"$@" >"$T/said" 2>&1 3>&- &
	WAITER=$!
	settled test -s "$T/asked"
}

# ends: it does so long before the deadline.
ends() {
	timeout 100 tail --pid="$WAITER" -s 0.1 -f /dev/null
}

@test "a command that waits for a server in vain can be killed" {
	a_server mute "$T/asked"
	STORE=hbase://127.0.0.1:$PORT LOG=$T/log
	mount_store -o timeout=600
	waits ls "$M"
	kill -9 "$WAITER"
	ends
	waits stat "$M/table"
	kill "$WAITER"
	ends
	unmount_store
}

@test "cellctl waits as long as the name says" {
	a_server silent
	run -3 timeout 50 "$CELLCTL" list "hbase://127.0.0.1:$PORT/?timeout=4"
	[[ $output == *"the server did not answer in time"* ]]
	# The name counts for a mount as well.
	run -1 timeout 50 "$CELLFS" "hbase://127.0.0.1:$PORT/?timeout=4" "$M" 3>&-
	[[ $output == *"the server did not answer in time"* ]]
}

@test "a server that closes each connection is given up at the deadline" {
	a_server ends
	refused "the server closed the connection before it said anything: if it wants TLS, set tls=on" \
		"127.0.0.1:$PORT"
}

@test "a server of HBase that is no master says so itself" {
	a_server refuses
	refused "the server refuses this connection: " "127.0.0.1:$PORT"
}

# No deadline is needed: what is no answer is none the next time either.
@test "a server of web pages is known at once" {
	a_server http
	refused "127.0.0.1:$PORT: GetClusterId: the server announced" \
		"127.0.0.1:$PORT"
	run --separate-stderr -3 "$CELLCTL" tables "hbase://127.0.0.1:$PORT"
	[[ $stderr == *"no master of a cluster answers as"* ]]
	[[ $stderr == *"the server announced"* ]]
	[ -z "$output" ]
}

# a_realm: an authority, a stranger, and certificates of both sides, in $R.
a_realm() {
	R=$T/realm
	"$BATS_TEST_DIRNAME/../hbase/lab/realm" certificates "$R"
}

# over_tls HOST SETTINGS WORDS...: what cellctl says, at once.
over_tls() {
	local name="hbase://$1:$PORT/?tls=on&timeout=40${2:+&$2}" word

	shift 2
	run -3 timeout 30 "$CELLCTL" list "$name"
	for word; do
		[[ $output == *"$word"* ]] || {
			echo "no '$word' in: $output" >&2
			return 1
		}
	done
}

# What a server says that is none of HBase, when hands are shaken.
SHAKEN="the server announced"

@test "the server's certificate is of an authority that is trusted, and for the host" {
	local stranger

	a_realm
	a_server tls "$R"
	stranger="nobody whom this side trusts"
	over_tls localhost "ca=$R/ca.pem" "$SHAKEN"
	over_tls localhost "" "$stranger" ca=
	over_tls localhost "ca=$R/stranger.pem" "$stranger"
	over_tls 127.0.0.1 "ca=$R/ca.pem" "not for 127.0.0.1"
	# The system's authorities are trusted without ca=, and not beside it.
	export SSL_CERT_FILE=$R/ca.pem
	over_tls localhost "" "$SHAKEN"
	over_tls localhost "ca=$R/stranger.pem" "$stranger"
	unset SSL_CERT_FILE
	# Kerberos comes inside, and neither stands for the other.
	export KRB5CCNAME=FILE:$T/none
	over_tls localhost "security=kerberos&ca=$R/stranger.pem" "$stranger"
	over_tls localhost "security=kerberos&ca=$R/ca.pem" "no ticket of Kerberos"
	run -1 timeout 30 "$CELLFS" "hbase://localhost:$PORT/?tls=on" "$M" 3>&-
	[[ $output == *"$stranger"* ]]
	run ! mountpoint -q "$M"
	a_server http
	over_tls localhost "ca=$R/ca.pem" "does not speak TLS"
}

@test "a server gets the certificate that it wants, with a key that has no pass phrase" {
	a_realm
	a_server mutual "$R"
	over_tls localhost "ca=$R/ca.pem" "it may want one" cert=
	over_tls localhost "ca=$R/ca.pem&cert=$R/tester.pem&key=$R/tester.key" \
		"$SHAKEN"
	over_tls localhost "ca=$R/ca.pem&cert=$R/stranger.pem&key=$R/stranger.key" \
		"does not accept this side's certificate"
	openssl pkey -in "$R/tester.key" -aes128 -passout pass:secret \
		-out "$R/locked.key"
	over_tls localhost "ca=$R/ca.pem&cert=$R/tester.pem&key=$R/locked.key" \
		"key=$R/locked.key" "without a pass phrase"
	# Nobody is asked for it where there is a terminal.
	run -3 timeout 60 script -qefc "'$CELLCTL' list 'hbase://localhost:$PORT/?tls=on&ca=$R/ca.pem&cert=$R/tester.pem&key=$R/locked.key'" \
		"$T/typescript" </dev/null
	[[ $output == *"without a pass phrase"* ]]
	[[ ${output,,} != *"enter "* ]]
}

@test "TLS before 1.2 is not spoken, whatever the system allows" {
	a_realm
	a_server old "$R"
	cat >"$T/openssl.cnf" <<-END
		openssl_conf = a
		[a]
		ssl_conf = b
		[b]
		system_default = c
		[c]
		MinProtocol = TLSv1
		CipherString = ALL:@SECLEVEL=0
	END
	OPENSSL_CONF=$T/openssl.cnf over_tls localhost "ca=$R/ca.pem" "TLS failed"
}

@test "a ticket is asked for the server's name in small letters" {
	a_server silent
	printf '[libdefaults]\n\tdefault_realm = CELLFS.TEST\n' >"$T/krb5.conf"
	export KRB5_CONFIG=$T/krb5.conf KRB5CCNAME=FILE:$T/none
	run -3 timeout 30 "$CELLCTL" list \
		"hbase://LocalHost:$PORT/?security=kerberos&timeout=40"
	[[ $output == *"no ticket of Kerberos for hbase/localhost: "*kinit* ]]
	run -3 timeout 30 "$CELLCTL" list \
		"hbase://LocalHost:$PORT/?security=kerberos&principal=Svc/_HOST@A.TEST&timeout=40"
	[[ $output == *"no ticket of Kerberos for Svc/localhost@A.TEST: "* ]]
}

# calls_of SYSCALL COMMAND...: those that it makes until it fails, in $T/calls.
calls_of() {
	ASAN_OPTIONS=detect_leaks=0 run timeout 60 strace -f -s 4096 -e trace="$1" \
		-o "$T/calls" "${@:2}" 3>&-
	[ -s "$T/calls" ]
}

@test "a process with keys of a cluster in memory leaves no core, and no other" {
	local at settings hides='PR_SET_DUMPABLE, SUID_DUMP_DISABLE'

	a_server http
	at=hbase://127.0.0.1:$PORT
	export KRB5CCNAME=FILE:$T/none
	for settings in security=kerberos tls=on; do
		calls_of prctl,exit_group "$CELLCTL" list "$at/?$settings"
		grep -q "$hides" "$T/calls"
		# The sandbox has its own.
		calls_of prctl,exit_group "$CELLFS" "$at/?$settings" "$M" -o sandbox=no
		grep -q "$hides" "$T/calls"
	done
	calls_of prctl,exit_group "$CELLCTL" list "$at"
	run ! grep -q "$hides" "$T/calls"
}

@test "a cluster is told the user's name, or that of HADOOP_USER_NAME" {
	a_server http
	calls_of sendto "$CELLCTL" list "hbase://127.0.0.1:$PORT"
	grep -q "$(id -un)" "$T/calls"
	HADOOP_USER_NAME=carol calls_of sendto "$CELLCTL" list \
		"hbase://127.0.0.1:$PORT"
	grep -q carol "$T/calls"
}

@test "names that are none of hosts are refused" {
	local name

	for name in "" host:0 host:70000 host:x a,,b host/table ,; do
		run -1 "$CELLFS" "hbase://$name" "$M"
		[[ $output == *"HOST"* || $output == *"there may be one /"* ]]
	done
}

@test "mount --fake checks a cluster's name and the mountpoint, and asks nobody" {
	local mount=$T/mount.cellfs name

	ln -s "$(realpath "$CELLFS")" "$mount"
	"$mount" "hbase://no.such.host.invalid/?tls=on" "$M" -f
	run -1 "$mount" hbase://no.such.host.invalid "$T/absent" -f
	for name in host:0 a,,b host/t 'host/?qos=privacy'; do
		run -1 "$mount" "hbase://$name" "$M" -f
	done
	[[ $output == *\"qos\"* ]]
}

@test "mount(8)'s helper passes the words and the exit code on" {
	a_server http
	mkdir "$T/bin"
	ln -s "$(realpath "$CELLFS")" "$T/bin/cellfs"
	PATH=$T/bin:/usr/sbin:/sbin:$PATH run -1 mount.fuse3 \
		"hbase://127.0.0.1:$PORT" "$M" -t fuse.cellfs -o rw,_netdev 3>&-
	[[ $output == *"no master of a cluster answers as"* ]]
}

@test "mount.sh takes a cluster's name for a store, and tells of its absence" {
	a_server http
	cd "$T"
	export CELLFS_BUILD
	CELLFS_BUILD=$(cd "$BUILD" && pwd)
	run -1 "$BATS_TEST_DIRNAME/../../mount.sh" "hbase://127.0.0.1:$PORT" mnt 3>&-
	[[ $output == *"no master of a cluster answers as hbase://"* ]]
	[[ $output == *"cellfs could not mount hbase://127.0.0.1:$PORT at mnt"* ]]
	[ ! -e hbase: ]
	run ! mountpoint -q "$M"
}

@test "a lab that cannot be had is a skip, and where it is required a failure" {
	local program

	mkdir "$T/bin"
	for program in bash dirname mktemp rm; do
		ln -s "$(command -v "$program")" "$T/bin/$program"
	done
	export PATH=$T/bin
	unset CI CELLFS_CLUSTER
	run -77 "$BATS_TEST_DIRNAME/../hbase/cluster" "$BUILD"
	[ "${lines[-2]}" = "lab: there is no JDK" ]
	[ "${lines[-1]}" = "0 passed, 0 failed, 1 skipped" ]
	CI=true run -1 "$BATS_TEST_DIRNAME/../hbase/cluster" "$BUILD"
	[ "${lines[-1]}" = "0 passed, 1 failed, 0 skipped" ]
	CELLFS_CLUSTER=required run -1 "$BATS_TEST_DIRNAME/../hbase/cluster" \
		"$BUILD"
	[ "${lines[-1]}" = "0 passed, 1 failed, 0 skipped" ]
	PATH=/usr/sbin:/usr/bin:/sbin:/bin
}
