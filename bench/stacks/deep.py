# Calls itself 23 times, and then getppid(2): as often as it is asked to.
import os
import sys


def recurse(n):
    return os.getppid() if n == 0 else recurse(n - 1)


for _ in range(int(sys.argv[1])):
    recurse(23)
