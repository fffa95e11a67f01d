# Random chains of calls; each is written down as Ruby itself sees it, without functions written in C, before
# Process.ppid. exact.rb FILE ROUNDS
sleep ENV['WAIT'].to_f; OUT = File.open(ARGV[0], 'w')
OWN = %w[a b g m leaf run <main>]

def leaf
  callers = caller_locations(1).select { |l| OWN.include?(l.base_label) }
  OUT.puts callers.map { |l| "#{l.label.sub(/\w+#/, '')}:#{l.lineno}" }.join(';') # since 3.4 with the class
  Process.ppid
end

def a(n)
  return leaf if n <= 0
  r = rand
  return a(n - 1) if r < 0.2
  return b(n - 1) if r < 0.4
  return [1].map { |x|
    a(n - 2) } if r < 0.6
  return lambda { |m| a(m) }.call(n - 1) if r < 0.7
  return [2, 1].sort_by { |k| a(n - 2); k } if r < 0.8
  return K.new.m(n - 1) if r < 0.9
  g(n - 1) { |z| a(z) }
end

def b(n)
  begin
    a(n -
      1)
  ensure
    1
  end
end

def g(n)
  yield(n)
end

class K
  def m(n)
    Object.send(:a, n)
  end
end

def run
  ARGV[1].to_i.times { a(rand(12)) }
end

run
