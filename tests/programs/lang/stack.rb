sleep ENV['WAIT'].to_f; def leaf; Process.ppid; end
def rec(n); n > 0 ? rec(n-1) : leaf; end
Thread.new { rec(2) }.join
rec(200)
[1].each { |x|
  leaf }
Process.wait(fork { leaf })
