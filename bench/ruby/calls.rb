# calls.rb COUNT [traced]: time calls from Ruby, and print lines "NAME<TAB>NANOSECONDS" with the time of one call, without
# the loop. "traced": print the process id, wait for a line, and then time what fires.
require "ruby-static-tracing"

COUNT = Integer(ARGV[0])

BENCH = Nopal::Provider.new("bench") do |p|
  p.probe(:none)
  p.probe(:two, path: String, status: Integer)
  p.probe(:six, *[Integer] * 6)
end
NONE = BENCH[:none]
TWO = BENCH[:two]
SIX = BENCH[:six]

class Work
  def plain = nil
  def wrapped = nil
end
OLD = StaticTracing::Provider.register("bench_old").add_tracepoint(:two, String, Integer)
StaticTracing::Tracer::Latency.register(Work, :wrapped, provider: "bench_old")
StaticTracing::Tracer::Latency.enable!
WORK = Work.new

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

# Each has its own loop, so that the time is that of the call and not of a block.
def time(code)
  eval("lambda do |n|
    path = '/orders/42'
    status = 200
    i = 0
    start = now
    while i < n
      #{code}
      i += 1
    end
    now - start
  end", binding, __FILE__, __LINE__ - 10).call(COUNT)
end

UNTRACED = {
  "a method of Ruby that does nothing" => "WORK.plain",
  "a method of C that does nothing (`Object#frozen?`)" => "WORK.frozen?",
  "`enabled?`" => "TWO.enabled?",
  "`fire` without values" => "NONE.fire",
  "`fire(path, status)`" => "TWO.fire(path, status)",
  "`fire` of six integers" => "SIX.fire(i, i, i, i, i, i)",
  "`fire { [path, status] }`" => "TWO.fire { [path, status] }",
  "`StaticTracing`: `enabled?`" => "OLD.enabled?",
  "`StaticTracing`: `fire(path, status)`" => "OLD.fire(path, status)",
  "a method with a latency tracer that is switched on" => "WORK.wrapped"
}.freeze
TRACED = {
  "`fire` without values" => "NONE.fire",
  "`fire(path, status)`" => "TWO.fire(path, status)",
  "`fire` of six integers" => "SIX.fire(i, i, i, i, i, i)",
  "`fire { [path, status] }`" => "TWO.fire { [path, status] }",
  "a method with a latency tracer" => "WORK.wrapped"
}.freeze

if ARGV[1]
  $stdout.puts Process.pid
  $stdout.flush
  $stdin.gets
end
time("")
empty = time("")
(ARGV[1] ? TRACED : UNTRACED).each do |name, code|
  puts format("%s\t%.1f", name, (time(code) - empty) / COUNT.to_f)
end
