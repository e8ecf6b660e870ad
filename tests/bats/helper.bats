# The tests' own unmount.
load helper

@test "a test that fails ends, whoever has files of its mount open" {
	local word=@test

	cat > "$T/fails.bats" <<-EOF
		load "$BATS_TEST_DIRNAME/helper"
		$word "its own" {
		        mkdir -p "\$M/T/R"
		        cd "\$M/T/R"
		        exec 7>> "\$M/T/R/f:q"
		        false
		}
		$word "a process it left behind" {
		        mkdir "\$M/T"
		        sleep 100 < "\$M/T" 3>&- &
		        echo \$! >> "$T/sleeps"
		        until [ /proc/\$!/fd/0 -ef "\$M/T" ]; do sleep 0.01; done
		        false
		}
	EOF
	BUILD=$(realpath "$BUILD")
	export BUILD
	run -1 env TMPDIR="$T" timeout 60 bats --tap "$T/fails.bats"
	kill "$(cat "$T/sleeps")"
	[ "$(grep -c '^not ok' <<< "$output")" -eq 2 ]
	[[ $output == *"fails.bats, line 6)"*"fails.bats, line 13)"* ]]
	run -1 grep -F "$T/bats-run" /proc/mounts
}
