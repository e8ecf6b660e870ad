load helper

@test "eight clients change one small tree at random; the mount holds" {
	local w pids=()
	mkdir -p "$M/T"
	for w in 1 2 3 4 5 6 7 8; do
		python3 - "$M/T" "$w" 3>&- <<-'PY' &
		import os, random, shutil, sys, time
		top, seed = sys.argv[1], int(sys.argv[2])
		r = random.Random(seed)
		names = ["1", "2", "3", "latest", "n.tmp", ".tmp", "x~"]
		def path():
		    row = f"{top}/r{r.randrange(3)}"
		    col = f"{row}/f/q{r.randrange(2)}"
		    return r.choice([f"{col}/{r.choice(names)}", f"{col}",
		                     f"{row}/f:q{r.randrange(2)}", f"{row}/f",
		                     row, f"{row}/{r.choice(names)}"])
		def put():
		    with open(path(), r.choice(["w", "a", "r+", "x"])) as f:
		        f.write("x" * r.randrange(5000))
		        if r.random() < .2:
		            f.flush(); os.fsync(f.fileno())
		        if r.random() < .2:
		            f.truncate(r.randrange(100))
		ops = [put, put, put,
		       lambda: os.makedirs(path(), exist_ok=True),
		       lambda: os.unlink(path()), lambda: os.rmdir(path()),
		       lambda: os.rename(path(), path()),
		       lambda: os.rename(path(), path()),
		       lambda: open(path()).read(), lambda: os.listdir(path()),
		       lambda: os.stat(path()),
		       lambda: os.truncate(path(), r.randrange(100)),
		       lambda: shutil.rmtree(path(), ignore_errors=True)]
		end = time.time() + 2
		while time.time() < end:
		    try:
		        r.choice(ops)()
		    except (OSError, UnicodeDecodeError) as e:
		        assert getattr(e, "errno", 0) not in (5, 103, 107), e
		PY
		pids+=($!)
	done
	for w in "${pids[@]}"; do wait "$w"; done
	rm -rf "$M/T"
	[ ! -e "$M/T" ]
}
