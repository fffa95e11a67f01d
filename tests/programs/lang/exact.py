# Random chains of calls in four threads; each is written down as Python itself sees it, innermost caller first, before
# getppid(). exact.py FILE ROUNDS
import os, random, sys, threading, time, traceback; time.sleep(float(os.environ.get('WAIT', 0)))

out = open(sys.argv[1], 'w')
rounds = int(sys.argv[2])
lock = threading.Lock()
recursive = threading.RLock()

def leaf():
    callers = reversed(traceback.extract_stack()[:-1])
    with lock:
        out.write(';'.join('%s:%d' % (f.name, f.lineno) for f in callers) + '\n')
        os.getppid()

def a(n):
    r = random.random()
    if n <= 0:
        return leaf()
    if r < .2: return a(n - 1)
    if r < .4:
        return b(n - 1)
    if r < .6:
        return list(g(n - 1))
    if r < .7: return (lambda m: a(m))(n - 1)
    if r < .8:
        return sorted([1, 2], key=lambda k: (b(n - 2), 0)[1])
    if r < .9:
        return [a(n - 2) for _ in range(1)]
    return C().m(n - 1)

def b(n):
    try:
        return a(n
                 - 1)
    finally:
        pass

def g(n):
    yield a(n)
    yield 2

class C:
    def m(self, n):
        with recursive:
            return a(n)

def run():
    for _ in range(rounds):
        a(random.randrange(1, 12))

threads = [threading.Thread(target=run) for _ in range(3)]
for t in threads: t.start()
for t in threads: t.join()
run()
