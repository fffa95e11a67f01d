# A method whose latency is traced, switched on and off by a signal. Run it, then from outside:
#
#   kill -PROF PID
#   nopal -p PID -e 'usdt::shop:order { printf("%s took %d us\n", str(arg0), arg1 / 1000) }'
#   bpftrace -p PID -e 'usdt::shop:order { @us = hist(arg1 / 1000) }'
#
# In the tree: ruby -I build/ruby -I bindings/ruby/lib bindings/ruby/examples/latency.rb
require "ruby-static-tracing"

class Shop
  def order(milliseconds)
    sleep(milliseconds / 1000.0)
  end

  include StaticTracing::Tracer::Concerns::Latency
end

StaticTracing.configure do |config|
  config.add_tracer(StaticTracing::Tracer::Latency)
  config.mode = ARGV[0] if ARGV[0] # ON, OFF or SIGNAL
end

$stdout.sync = true
puts "pid #{Process.pid}: kill -PROF switches tracing on and off"
shop = Shop.new
loop { shop.order(20) }
