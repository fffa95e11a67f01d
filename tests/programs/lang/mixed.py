# A thread that calls a generator from C, and that C again, which calls back.
import os, threading, time; time.sleep(float(os.environ.get('WAIT', 0)))
def leaf(): os.getppid()
def key(k):
    leaf()
def work(n):
    return work(n - 1) if n else [1].sort(key=key)
def gen():
    yield work(2)
t = threading.Thread(target=lambda: list(gen())); t.start(); t.join()
