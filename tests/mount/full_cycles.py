#!/usr/bin/env python3
"""Fill a small disk, delete, kill, reopen; nothing acknowledged may be lost.

    full_cycles.py CELLFS STORE MOUNTPOINT CYCLES [SEED]

Each cycle puts cells until one is refused (at open or write: a refusal that only
close tells is a failure), deletes some or all of them in one of several ways,
waits until puts are taken again, kills the daemon with SIGKILL, mounts anew and
compares all that is there with what was acknowledged. Prints a line a cycle.
"""
import os
import random
import signal
import subprocess
import sys
import time

cellfs, store, mnt = sys.argv[1:4]
cycles = int(sys.argv[4])
seed = int(sys.argv[5]) if len(sys.argv) > 5 else 1
rng = random.Random(seed)
cells = {}  # (row, qualifier) -> value
made = 0
ROWS = 20


def mount():
    d = subprocess.Popen([cellfs, store, mnt, '-f'])
    for _ in range(3000):
        if os.path.ismount(mnt):
            return d
        if d.poll() is not None:
            sys.exit(f'the daemon ended with {d.returncode}')
        time.sleep(0.01)
    sys.exit('no mount')


def kill(d):
    d.send_signal(signal.SIGKILL)
    d.wait()
    subprocess.run(['fusermount3', '-u', '-z', mnt], check=True)


def path(key):
    return f'{mnt}/T/{key[0]}/f:{key[1]}'


def put():
    """One new cell. False if it is refused where every program looks."""
    global made
    key = (f'r{rng.randrange(ROWS)}', f'q{made}')
    value = b'%d ' % made + rng.randbytes(rng.choice((200, 4000, 12000)))
    made += 1
    try:
        os.makedirs(f'{mnt}/T/{key[0]}', exist_ok=True)
        fd = os.open(path(key), os.O_WRONLY | os.O_CREAT)
        try:
            os.write(fd, value)
        except OSError:
            os.close(fd)
            raise
    except OSError:
        return False
    os.close(fd)
    cells[key] = value
    return True


def fill():
    n = 0
    while put():
        n += 1
        if n > 100000:
            sys.exit('never full')
    return n


def delete(how):
    keys = sorted(cells)
    if how == 'half':
        keys = rng.sample(keys, len(keys) // 2)
    elif how == 'few':
        keys = rng.sample(keys, len(keys) // 8)
    elif how == 'rows':
        gone = set(rng.sample(range(ROWS), ROWS // 2))
        keys = [k for k in keys if int(k[0][1:]) in gone]
        subprocess.run(['rm', '-r'] + [f'{mnt}/T/{r}' for r in
                       sorted({k[0] for k in keys})], check=True)
    elif how == 'lines':
        keys = rng.sample(keys, len(keys) // 2)
        with open(f'{mnt}/T/.cells', 'wb', buffering=0) as f:
            for row, q in keys:
                f.write(f'{row}\tf:{q}\t\t\tdelete-column\n'.encode())
    for k in keys:
        if how in ('half', 'few', 'all'):
            os.unlink(path(k))
        del cells[k]
    return len(keys)


def wait_for_room():
    begun = time.monotonic()
    while not put():
        if time.monotonic() - begun > 30:
            sys.exit('no room 30 s after the deletes')
        time.sleep(0.02)
    return time.monotonic() - begun


def check():
    found = {}
    for row in os.listdir(f'{mnt}/T'):
        if row.startswith('.') or not os.path.isdir(f'{mnt}/T/{row}/f'):
            continue
        for q in os.listdir(f'{mnt}/T/{row}/f'):
            with open(path((row, q)), 'rb') as f:
                found[row, q] = f.read()
    for k in cells.keys() - found.keys():
        sys.exit(f'lost: {k}')
    for k in found.keys() - cells.keys():
        sys.exit(f'back again: {k}')
    for k in cells:
        if found[k] != cells[k]:
            sys.exit(f'changed: {k}')


daemon = mount()
os.makedirs(f'{mnt}/T', exist_ok=True)
for cycle in range(cycles):
    filled = fill()
    way = ('all', 'half', 'few', 'rows', 'lines')[cycle % 5]
    full = sum(map(len, cells.values()))
    gone = delete(way)
    waited = wait_for_room()
    if cycle % 3 == 0:
        more = sum(put() for _ in range(20))
    kill(daemon)
    daemon = mount()
    check()
    print(f'cycle {cycle}: {filled} put, {full >> 10} KiB, {way}: {gone} '
          f'deleted, room after {waited:.2f} s', flush=True)
subprocess.run(['fusermount3', '-u', mnt], check=True)
if daemon.wait():
    sys.exit(f'the daemon ended with {daemon.returncode}')
