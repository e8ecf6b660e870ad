"""What others put where a version is moved or deleted at the same moment.

usage: moverace.py COLUMN ROUNDS

COLUMN is T/R/f/q. In each round one thread takes the version 5 away, by one of
the ways below, and another puts a value of its own into it by a line of cells.
Whatever comes first, that value is never lost: it is in 5, or was moved.
"""
import errno
import os
import random
import sys
import threading
import time

column, rounds = sys.argv[1], int(sys.argv[2])
cells = os.path.join(column, '../../../.cells')
# What is long takes its time to be read, and that is when others come.
LONG = 'x' * 1000000
LATE_S = 0.004


def path(name):
    return os.path.join(column, name)


def write(name, text):
    with open(path(name), 'w') as f:
        f.write(text)


def put(text):
    with open(cells, 'w') as f:
        f.write('R\tf:q\t5\t%s\n' % text)


def values():
    found = []
    for name in os.listdir(column):
        with open(path(name)) as f:
            found.append(f.read())
    return found


# What is done before the two begin, and then at the same time as the put.
ways = [
    ('rm of the new name', lambda: os.rename(path('5'), path('5~')),
     lambda: os.unlink(path('5~'))),
    ('put under another', lambda: os.rename(path('5'), path('5~')),
     lambda: os.rename(path('5~'), path('7'))),
    ('move of the version', lambda: None,
     lambda: os.rename(path('5'), path('7'))),
    ('move to a temporary name', lambda: None,
     lambda: os.rename(path('5'), path('5~'))),
]


def one_round(i):
    what, before, take_away = ways[i % len(ways)]
    mine = 'other%d' % i
    start = threading.Barrier(2)
    late = random.random() * LATE_S

    def other():
        start.wait()
        end = time.monotonic() + late
        while time.monotonic() < end:
            pass
        put(mine)

    write('5', 'one%d' % i + LONG)
    before()
    t = threading.Thread(target=other)
    t.start()
    start.wait()
    try:
        take_away()
    except OSError as e:
        # Changed meanwhile: mv says so, and nothing is done.
        if e.errno != errno.EBUSY:
            raise
    t.join()
    found = values()
    if mine not in found:
        return '%s: %s is lost, there is %s' % (
            what, mine, [text[:10] for text in found])
    for name in os.listdir(column):
        os.unlink(path(name))


random.seed(1)
lost = [bad for bad in map(one_round, range(rounds)) if bad]
print('\n'.join(lost))
sys.exit(1 if lost else 0)
