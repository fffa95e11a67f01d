# libstapsdt by Ruby's foreign functions (Fiddle): variadic calls, fields by offset.
require "fiddle"

LIBRARY = Fiddle.dlopen(ARGV[0])
POINTER = Fiddle::TYPE_VOIDP
INT = Fiddle::TYPE_INT

def function(name, arguments, result)
  Fiddle::Function.new(LIBRARY[name], arguments, result)
end

def text_at(pointer, offset)
  Fiddle::Pointer.new((pointer + offset).ptr.to_i).to_s
end

def int_at(pointer, offset)
  pointer[offset, 4].unpack1("l")
end

add = function("providerAddProbe", [POINTER, POINTER, INT, Fiddle::TYPE_VARIADIC], POINTER)
fire = function("probeFire", [POINTER, Fiddle::TYPE_VARIADIC], Fiddle::TYPE_VOID)
enabled = function("probeIsEnabled", [POINTER], INT)
provider = function("providerInit", [POINTER], POINTER).call("hosted")
probe = add.call(provider, "firstProbe", 2, INT, 8, INT, -4)
loaded = function("providerLoad", [POINTER], INT).call(provider)
$stdout.sync = true
puts [text_at(provider, 0), text_at(probe, 0), int_at(probe, 48), loaded, int_at(provider, 16)].join(" ")
fired = 0
2000.times do
  if enabled.call(probe) == 1
    fire.call(probe, POINTER, "a text", INT, -7)
    fired += 1
  elsif fired > 0
    break
  end
  sleep 0.01
end
puts "#{fired > 0 ? "fired" : "silent"} #{function("providerUnload", [POINTER], INT).call(provider)}"
function("providerDestroy", [POINTER], Fiddle::TYPE_VOID).call(provider)
