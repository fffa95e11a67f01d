# A probe with named arguments. Run it, then from outside:
#
#   nopal -p PID -e 'usdt::app:request { printf("%s %d\n", str(arg0), arg1) }'
#
# In the tree: ruby -I build/ruby -I bindings/ruby/lib bindings/ruby/examples/requests.rb
require "nopal"

APP = Nopal::Provider.new("app") do |p|
  p.probe(:request, "a request was answered", path: String, status: Integer)
end
REQUEST = APP[:request]

$stdout.sync = true
puts "pid #{Process.pid}"
loop do
  traced = REQUEST.fire { ["/orders/#{rand(100)}", 200] }
  puts "Probe fired!" if traced
  sleep 0.05
end
