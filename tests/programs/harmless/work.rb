$stdout.sync = true
def work(n) n < 50 ? n * n : work(n - 50) + 1 end
def boom(n)
  raise ArgumentError, "x" if n % 10 == 0
  n
rescue ArgumentError
  1
end
while line = $stdin.gets
  total = 0
  line.to_i.times { 200.times { |i| total += work(i) + boom(i) + "cactus".upcase.size + [i].size + ({ a: i }).size } }
  GC.start if line.to_i % 3 == 0
  puts total
end
