use std::collections::HashMap;
#[no_mangle] #[inline(never)] pub extern "C" fn here(n: i64) { std::hint::black_box(n); }
#[inline(never)] fn rec(n: i64) -> i64 { if n > 0 { let r = rec(n - 1); return std::hint::black_box(r) + 1; } here(n); std::hint::black_box(n) }
trait T { fn t(&self, n: i64) -> i64; }
struct A; impl T for A { #[inline(never)] fn t(&self, n: i64) -> i64 { here(n); std::hint::black_box(n) } }
struct D; impl Drop for D { fn drop(&mut self) { here(5); std::hint::black_box(()); } }
#[inline(never)] fn boom(n: i64) { let _d = D; if n % 2 == 0 { std::panic::resume_unwind(Box::new(1)); } here(n); std::hint::black_box(()); }
fn main() { let k: i64 = std::env::args().nth(1).unwrap().parse().unwrap();
 for i in 0..k { rec(i % 20); let b: Box<dyn T> = Box::new(A); b.t(i); let mut v = vec![3, 1, 2]; v.sort_by(|a, b| { here(1); a.cmp(b) });
  let s: i64 = (0..3).map(|x| { here(x); x }).sum(); let mut h = HashMap::new(); h.insert(i, s); here(h.len() as i64);
  let _ = std::panic::catch_unwind(|| boom(i)); if i % 50 == 0 { std::thread::spawn(|| { rec(3); }).join().unwrap(); } } }
