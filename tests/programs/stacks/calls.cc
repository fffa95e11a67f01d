#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#define NI __attribute__((noinline))
#define AFTER asm volatile("" ::: "memory")
extern "C" NI void here(long n) { asm volatile("nop; nop" :: "r"(n) : "memory"); }
struct D { ~D() { here(7); AFTER; } };
NI static void thrower(int n) { D d; if (n > 3) throw std::runtime_error("x"); here(n); thrower(n + 1); AFTER; }
NI static void catcher() { try { thrower(0); } catch (std::exception &) { here(8); } AFTER; }
template <class T> NI bool less(const T &x, const T &y) { here(13); return x < y; }
NI static void sorting() { std::vector<int> v; for (int i = 0; i < 20; i++) v.push_back(i * 7 % 20); std::sort(v.begin(), v.end(), less<int>); AFTER; }
struct B { virtual ~B() {} virtual int v(int n) { here(n); AFTER; return n; } };
struct C : B { int v(int n) override { int r = n ? B::v(n - 1) : 0; here(n); AFTER; return r; } };
NI static int vary(int n, ...) { char *m = (char *)__builtin_alloca(16 * (n % 50 + 1)); m[0] = 1; asm volatile("" :: "r"(m) : "memory"); here(n); AFTER; return m[0]; }
NI static double floats(double a, double b, int n) { alignas(64) double v[8]; for (auto &x : v) x = a * n; asm volatile("" :: "r"(v) : "memory"); here(n); AFTER; return v[3] + b; }
NI static int rec(int n) { if (n) { int r = rec(n - 1); AFTER; return r + 1; } here(9); AFTER; return 0; }
NI static int cmp(const void *a, const void *b) { here(1); return *(const int *)a - *(const int *)b; }
int main(int, char **v)
{
	for (int i = 0; i < atoi(v[1]); i++) {
		catcher(); sorting(); C c; B *b = &c; b->v(3); vary(i, 2, 3.0); floats(1.5, 2, i); rec(i % 30);
		std::function<void(int)> f = [&](int n) { here(n); if (n) f(n - 1); AFTER; }; f(4);
		std::map<std::string, int> m; m["a"] = i; here(m.size());
		int a[] = {3, 1, 2}; qsort(a, 3, sizeof *a, cmp);
		if (i % 50 == 0) { std::thread t([] { rec(3); AFTER; }); t.join(); }
	}
}
