# Traced by tests/cli/bindings-ruby.bats: waits for a line on standard input, then fires what the
# argument names, once, and waits for another line.
require "nopal"

TEST = Nopal::Provider.new("test") do |p|
  p.probe(:done)
  p.probe(:signed, a: :int8, b: :int16, c: :int32, d: :int64)
  p.probe(:unsigned, a: :uint8, b: :uint16, c: :uint32, d: :uint64)
  p.probe(:text, text: String)
  p.probe(:bytes, bytes: :bytes, after: Integer)
  p.probe(:floats, double: Float, single: :float)
  p.probe(:others, yes: :bool, no: TrueClass, int: Integer, pointer: :pointer, none: String, symbol: Symbol)
  p.probe(:twelve, *[Integer] * 12)
end

def fire(name, *values)
  TEST[name].fire(*values) or abort "#{name} is not enabled"
end

FIRE = {
  "integers" => lambda do
    fire :signed, -128, -32768, -2**31, -2**63
    fire :signed, 127, 32767, 2**31 - 1, 2**63 - 1
    fire :signed, -1, -1, -1, -2**62 - 1
    fire :unsigned, 255, 65535, 2**32 - 1, 2**64 - 1
    fire :unsigned, 0, 0, 0, 2**63
    fire :twelve, *1..12
  end,
  "strings" => lambda do
    fire :text, "grüße, 世界"
    fire :text, ""
    fire :text, "caf\xE9".dup.force_encoding("ISO-8859-1")
    fire :text, "wide".encode("UTF-16LE")
    fire :text, "cut\0here"
    fire :text, "a part of it"[2, 4]
    fire :text, :symbol
    fire :text, Class.new { def to_str = "to_str" }.new
    fire :bytes, "a\0b\xFF".b, 7
    fire :bytes, "", 8
    fire :bytes, "x" * 65532 + "last", 9
    TEST[:text].fire { "from a block" }
  end,
  "long" => lambda do
    fire :text, "é" * 32768
    fire :bytes, "é" * 32768, 1
  end,
  "edges" => lambda do
    fire :floats, Float::MAX, (2**128 - 2**104).to_f
    fire :floats, Float::MIN, 2.0**-149
    fire :floats, 5e-324, -0.0
    fire :floats, -Float::INFINITY, Float::NAN
  end,
  "others" => lambda do
    fire :floats, 1.5, -0.25
    fire :floats, Float::NAN, Float::INFINITY
    fire :floats, -0.0, 3
    fire :floats, 1r / 4, nil
    fire :others, true, false, true, 0xdeadbeef, nil, :sym
    fire :others, 0, nil, nil, nil, "s", "t"
  end,
  "errors" => lambda do
    tries = [
      [:signed, 128, 0, 0, 0], [:signed, -129, 0, 0, 0], [:signed, 0, 0, 0, 2**63],
      [:signed, 0, 0, 0, -2**63 - 1], [:unsigned, 0, 0, 0, 2**64], [:unsigned, -1, 0, 0, 0],
      [:unsigned, 0, 0, 0, -2**64], [:unsigned, 0, 0, 0, 2**200], [:signed, 1.5, 0, 0, 0],
      [:signed, "1", 0, 0, 0], [:text, 5], [:text, Object.new], [:floats, "1.5", 0], [:text]
    ]
    tries.each do |name, *values|
      TEST[name].fire(*values)
      puts "no error"
    rescue StandardError => e
      puts "#{e.class}: #{e.message}"
    end
    [[], "x", [1, 2, 3]].each do |result|
      TEST[:floats].fire { result }
      puts "no error"
    rescue StandardError => e
      puts "#{e.class}: #{e.message}"
    end
  end,
  "threads" => lambda do
    Array.new(4) { |t| Thread.new { 250.times { |i| fire :signed, t, i, 0, 0 } } }.each(&:join)
  end,
  "ractors" => lambda do
    Warning[:experimental] = false
    Ractor.make_shareable(TEST)
    probe = TEST[:signed]
    Array.new(4) { |t| Ractor.new(probe, t) { |p, n| 250.times { |i| p.fire(n, i, 0, 0) } } }.each(&:take)
  end,
  "gc" => lambda do
    GC.stress = true
    fire :text, "a" + "b" * 30
    fire :bytes, "c" * 3, 2**63 - 1
    GC.stress = false
  end,
  "fork" => lambda do
    3.times { fire :text, "parent" }
    Process.wait(fork { 3.times { TEST[:text].fire("child") } && exit!(7) })
    puts "child: #{$?.exitstatus}"
    fire :text, "parent"
  end
}.freeze

$stdout.sync = true
puts Process.pid
$stdin.gets
FIRE.fetch(ARGV[0]).call
puts "fired"
fire :done
$stdin.gets
