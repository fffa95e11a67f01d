// Random chains of calls in two threads; the number of frames of each is written down as the JVM itself sees it, before
// holdsLock(). java Exact FILE ROUNDS
import java.io.*;
import java.util.*;
public class Exact {
  static PrintWriter out; static final Object lock = new Object(); static long sink;
  static final StackWalker walker = StackWalker.getInstance(StackWalker.Option.SHOW_HIDDEN_FRAMES);
  static int leaf() {
    synchronized (lock) {
      out.println(walker.<Long>walk(s -> s.count()));
      return Thread.holdsLock(lock) ? 1 : 0;
    }
  }
  interface F { int f(int n, Random r); }
  static int a(int n, Random r) {
    if (n <= 0) return leaf();
    switch (r.nextInt(6)) {
    case 0: return a(n - 1, r) + 1;
    case 1: return b(n - 1, r, 1.5, 2L, "x", n, n, n) + 1;
    case 2: return new Exact().m(n - 1, r) * 2;
    case 3: F f = (k, q) -> a(k, q) + 1; return f.f(n - 1, r);
    case 4: try { return t(n - 1, r); } catch (RuntimeException e) { return 3; } finally { sink++; }
    default: Integer[] s = {2, 1}; int[] left = {1};
      Arrays.sort(s, (x, y) -> { if (left[0]-- > 0) sink += a(n - 2, r); return x - y; });
      return s[0];
    }
  }
  static int b(int n, Random r, double d, long l, String s, int i, int j, int k) { return (int)(a(n, r) + d * l + s.length() * i - j * k); }
  int m(int n, Random r) { synchronized (this) { return a(n, r) + 1; } }
  static int t(int n, Random r) { int x = a(n, r); if (x % 7 == 1) throw new RuntimeException("x"); return x; }
  static void run(int seed, int rounds) { Random r = new Random(seed); for (int i = 0; i < rounds; i++) sink += a(r.nextInt(12), r); }
  public static void main(String[] v) throws Exception {
    out = new PrintWriter(new FileWriter(v[0])); int rounds = Integer.parseInt(v[1]);
    Thread t = new Thread(() -> run(1, rounds)); t.start(); run(2, rounds); t.join(); out.close();
  }
}
