# A thread, a block that C calls, a method that is not there, a fiber, and a child.
sleep ENV['WAIT'].to_f; def leaf; Process.ppid; end
def work(n) n > 0 ? work(n - 1) : [1].each { |x| leaf } end
class A
  def method_missing(name, *) [1].each { |x| Fiber.new { leaf }.resume; leaf } end
  define_method(:defined) { |n| work(n) }
end
Thread.new { A.new.defined(1) }.join
A.new.undefined
Process.wait(fork { eval 'leaf' })
