import gc, sys
gc.disable()
def work(n):
    if n == 3: gc.collect(0)
    return n * n if n < 50 else work(n - 50) + 1
def boom(n):
    try: raise ValueError(n)
    except ValueError as e: return len(e.args)
for line in sys.stdin:
    rounds, total = int(line), 0
    for _ in range(rounds):
        for i in range(200): total += work(i) + boom(i)
        total += len(__import__("string").digits)
    print(total, flush=True)
