# Nopal's own interface, where nobody traces.
require "nopal"
require_relative "check"

def fds
  Dir.children("/proc/self/fd").size
end

check "a block's probes are loaded at its end, in one image" do
  inside = nil
  provider = Nopal::Provider.new("one") do |p|
    p.probe(:a)
    inside = p.loaded?
    p.probe(:b)
  end
  !inside && provider.loaded? && provider[:a].fd && provider[:a].fd == provider[:b].fd
end

check "without a block they are loaded one by one" do
  provider = Nopal::Provider.new(:two)
  a = provider.probe(:a)
  was = a.path
  provider.probe("b")
  was && a.path == was && provider.probes.map(&:name) == %w[a b] && File.exist?(was)
end

check "define adds more, in one further image" do
  provider = Nopal::Provider.new("three") { |p| p.probe(:a) }
  provider.define { |p| p.probe(:b); p.probe(:c) }
  provider[:b].fd == provider[:c].fd && provider[:a].fd != provider[:b].fd
end

check "a block that raises leaves the provider usable" do
  provider = Nopal::Provider.new("raises")
  error_of { provider.define { |p| p.probe(:a); raise "no" } }
  provider.probe(:b)
  provider[:a].fd && provider[:b].fd
end

check "names and messages are UTF-8, whatever the encoding" do
  provider = Nopal::Provider.new("wide".encode("UTF-16LE"))
  provider.probe("probe".encode("UTF-16BE"), "text".encode("UTF-32LE"))
  refused = error_of { Nopal::Provider.new("grün") }.message
  provider.name == "wide" && provider[:probe].name == "probe" && refused.encoding == Encoding::UTF_8 &&
    refused.start_with?("'grün' cannot") && error_of { provider.probe(:b, "one", "two") }.is_a?(ArgumentError)
end

check "types and names are kept" do
  probe = Nopal::Provider.new("four").probe(:x, "said so", :uint8, s: String, f: Float, b: :bytes)
  probe.types == %i[uint8 string double bytes] && probe.arg_names == [nil, :s, :f, :b] &&
    probe.inspect == "#<Nopal::Probe four:x(uint8, string s, double f, bytes b)>"
end

check "nobody traces: not enabled, fire is false, a block is not called" do
  probe = Nopal::Provider.new("five").probe(:x, Integer)
  !probe.enabled? && probe.fire(1) == false && probe.fire { raise } == false
end

check "types of values are looked at only while traced, their number always" do
  probe = Nopal::Provider.new("six").probe(:x, Integer)
  probe.fire("no number") == false && error_of { probe.fire }.is_a?(ArgumentError) &&
    error_of { probe.fire(1, 2) }.message == "wrong number of values for probe 'x' (given 2, expected 1)"
end

check "unload, load, and probes added meanwhile" do
  provider = Nopal::Provider.new("seven") { |p| p.probe(:a) }
  provider.unload
  was = [provider.loaded?, provider[:a].fd, provider[:a].path]
  b = provider.probe(:b)
  was << b.fd << b.fire
  provider.load
  was == [false, nil, nil, nil, false] && provider[:a].fd && b.fd
end

check "destroy: for good, and probes can still be called" do
  provider = Nopal::Provider.new("eight") { |p| p.probe(:a) }
  a = provider[:a]
  provider.destroy
  provider.destroy
  provider.destroyed? && !provider.loaded? && a.fire == false && !a.enabled? &&
    error_of { provider.load }.is_a?(Nopal::Error) && error_of { provider.probe(:b) }.is_a?(Nopal::Error)
end

check "errors have a text and a code" do
  provider = Nopal::Provider.new("nine") { |p| p.probe(:a) }
  codes = [
    error_of { Nopal::Provider.new("") }, error_of { provider.probe("a b") }, error_of { provider.probe(:a) },
    error_of { provider.probe(:c, *[:bytes] * 7) }, error_of { provider.probe("x" * 256) }
  ].map(&:code)
  codes == %i[bad_name bad_name name_taken bad_args bad_name] &&
    error_of { provider.probe(:d, *[Integer] * 13) }.is_a?(ArgumentError) &&
    error_of { provider.probe(:e, Object) }.is_a?(ArgumentError) &&
    error_of { provider.probe(:f, :int128) }.is_a?(ArgumentError) &&
    error_of { provider.probe("g\0h") }.is_a?(ArgumentError) &&
    error_of { provider.probe(5) }.is_a?(TypeError) &&
    error_of { Nopal::Provider.new("n", fil: 1) }.is_a?(ArgumentError)
end

check "probes and providers cannot be copied or made from nothing" do
  provider = Nopal::Provider.new("ten") { |p| p.probe(:a) }
  error_of { provider.dup } && error_of { provider[:a].dup } && error_of { Nopal::Probe.new } &&
    error_of { Nopal::Probe.allocate } && error_of { Nopal::Provider.allocate.probe(:a) } &&
    error_of { Marshal.dump(provider) } && error_of { provider.send(:initialize, "again") }
end

check "a frozen provider takes no probes" do
  provider = Nopal::Provider.new("eleven") { |p| p.probe(:a) }.freeze
  error_of { provider.probe(:b) }.is_a?(FrozenError) && error_of { provider.define {} }.is_a?(FrozenError)
end

check "a file, only on request, which goes with the provider" do
  ENV["XDG_RUNTIME_DIR"] = Dir.pwd
  before = Dir.children(".")
  provider = Nopal::Provider.new("twelve", file: true) { |p| p.probe(:a) }
  during = Dir.children(".")
  provider.destroy
  during.size == before.size + 1 && Dir.children(".") == before
end

check "providers that nobody has give their descriptors back" do
  GC.start
  before = fds
  300.times { Nopal::Provider.new("many") { |p| p.probe(:a, String) } }
  GC.start
  fds < before + 150
end

check "when descriptors are used up, the garbage collector is asked" do
  limit = Process.getrlimit(:NOFILE)
  Process.setrlimit(:NOFILE, fds + 40, limit[1])
  error = error_of { 200.times { Nopal::Provider.new("many") { |p| p.probe(:a) } } }
  Process.setrlimit(:NOFILE, *limit)
  raise error if error

  true
end

check "one provider, 1000 probes" do
  provider = Nopal::Provider.new("wide") { |p| 1000.times { |i| p.probe("p#{i}", Integer) } }
  provider.probes.size == 1000 && provider["p999"].fire(1) == false
end

check "threads that load, unload and fire at once" do
  provider = Nopal::Provider.new("busy") { |p| p.probe(:a, Integer) }
  a = provider[:a]
  threads = Array.new(4) { Thread.new { 2000.times { |i| a.fire(i) } } }
  threads << Thread.new { 200.times { provider.unload; provider.load } }
  threads << Thread.new { 100.times { |i| provider.probe("b#{i}") } }
  threads.each(&:join)
  provider.probes.size == 101
end

check "probes in a trap handler" do
  provider = Nopal::Provider.new("trap") { |p| p.probe(:a, Integer) }
  seen = nil
  trap("USR1") { seen = [provider[:a].fire(1), provider.unload.loaded?, provider.load.loaded?] }
  Process.kill("USR1", Process.pid)
  sleep 0.01 until seen
  seen == [false, false, true]
end

check "a child has the probes, and may unload them" do
  provider = Nopal::Provider.new("fork") { |p| p.probe(:a, Integer) }
  child = fork do
    good = provider.loaded? && !provider[:a].fire(1) && !provider.unload.loaded? && provider.probe(:b)
    exit!(good ? 0 : 1)
  end
  Process.wait(child)
  $?.success? && provider.loaded? && provider[:a].fd
end

check "a Ractor has the probes of a shareable provider" do
  Warning[:experimental] = false
  provider = Nopal::Provider.new("ractor") { |p| p.probe(:a, String) }
  early = Ractor.shareable?(provider[:a])
  Ractor.make_shareable(provider)
  probe = provider[:a]
  results = Array.new(3) { Ractor.new(probe) { |a| 1000.times.map { a.fire("x") }.uniq } }.map(&:take)
  !early && results == [[false]] * 3
end

check "Ractors fire while others unload, load and destroy" do
  provider = Nopal::Provider.new("storm") { |p| p.probe(:a, String, Integer) }
  Ractor.make_shareable(provider)
  firing = Array.new(3) { Ractor.new(provider[:a]) { |a| 20_000.times.count { |i| a.fire("x", i) } } }
  loading = Ractor.new(provider) { |p| 300.times { p.unload.load } }
  loading.take
  provider.destroy
  firing.map(&:take) == [0, 0, 0] && !provider.loaded?
end

def resident
  GC.start
  File.read("/proc/self/status")[/^VmRSS:\s+(\d+)/, 1].to_i
end

check "making and destroying providers takes no memory for good" do
  cycle = lambda do
    2000.times { |i| Nopal::Provider.new("cycle#{i % 7}") { |p| p.probe(:a, String) }.destroy }
  end
  cycle.call
  before = [resident, fds]
  2.times { cycle.call }
  resident < before[0] + 8192 && fds <= before[1]
end

check "compaction moves objects, probes stay" do
  provider = Nopal::Provider.new("compact") { |p| p.probe(:a, String) }
  GC.verify_compaction_references(double_heap: true, toward: :empty) if GC.respond_to?(:verify_compaction_references)
  provider[:a].provider.equal?(provider) && provider[:a].fire("x") == false
end
