// Random chains of calls; each is written down as V8 itself sees it, innermost first, before uptime(). exact.js FILE ROUNDS
const fs = require('fs'), os = require('os');
Error.stackTraceLimit = Infinity;
const out = fs.openSync(process.argv[2], 'w'), rounds = +process.argv[3];
let seed = 1;
const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648, (seed >> 8) % n);
Error.prepareStackTrace = (e, frames) => frames.filter((f) => f.getFileName() === __filename).map((f) => (f.getFunctionName() || "-").split(".").pop()).join(';');
function leaf() { fs.writeSync(out, new Error().stack + '\n'); os.uptime(); return 1; }
function a(n) {
  if (n <= 0) return leaf();
  switch (random(9)) {
  case 0: return a(n - 1) + 1;
  case 1: return b(n - 1, 1.5, "x", {}) + 1;
  case 2: return new C().m(n - 1) + 1;
  case 3: return [1].map(function each(x) { return a(n - 1) + x; })[0];
  case 4: { let once = true; return [2, 1].sort(function order(x, y) { if (once) { once = false; a(n - 2); } return x - y; })[0]; }
  case 5: try { return thrower(n - 1); } catch (e) { return 2; } finally { seed ^= 1; }
  case 6: return [...gen(n - 1)].length;
  case 7: return +JSON.stringify({ toJSON: function json() { return a(n - 1); } });
  default: return "banana".replace(/b/, function swap() { return a(n - 2); }).length;
  }
}
function b(n, d, s, o) { const r = a(n); return r * d + s.length; }
class C { m(n) { return this.x(n) + 1; } x(n) { return Reflect.apply(a, null, [n]) + 1; } }
function thrower(n) { const r = a(n); if (r % 3 === 1) throw new Error('x'); return r; }
function* gen(n) { yield a(n); yield 2; }
function run() { for (let i = 0; i < rounds; i++) a(random(12)); }
run();
