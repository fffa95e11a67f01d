import os, threading, asyncio, time; time.sleep(float(os.environ.get('WAIT', 0)))
def leaf(): os.getppid()
def rec(n):
    if n: rec(n-1)
    else: leaf()
def gen():
    yield leaf()
async def co():
    await asyncio.sleep(0)
    leaf()
async def amain(): await co()
t=threading.Thread(target=rec,args=(2,)); t.start(); t.join()
rec(200)
list(gen())
asyncio.run(amain())
if os.fork()==0:
    leaf(); os._exit(0)
os.wait()
