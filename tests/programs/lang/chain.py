import sys, threading, time, os
class Worker:
    def run(self, n):
        if n:
            return self.run(n - 1)
        def inner():
            print("ready", flush=True)
            sys.stdin.readline()
        for _ in range(1):
            inner()

def gen():
    yield 1
    Worker().run(int(sys.argv[1]))
    yield 2

def größe():
    for x in gen():
        pass

def waits():
    time.sleep(60)

threading.Thread(target=waits, daemon=True).start()
time.sleep(0.1)
größe()
