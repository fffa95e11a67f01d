# Probes in Ruby programs that every tracer of USDT sees: nopal, bpftrace, perf, bcc, gdb.
#
#   require "nopal"
#
#   APP = Nopal::Provider.new("app") do |p|
#     p.probe(:request, path: String, status: Integer)
#   end
#   REQUEST = APP[:request]
#
#   REQUEST.fire(path, status)                      # next to nothing while it is not traced
#   REQUEST.fire { [expensive_path, status] }       # the block is called only while traced
#   REQUEST.fire(expensive_path, status) if REQUEST.enabled?
#
# == Types of arguments
#
# Integer (or :int64), :int8, :uint8, :int16, :uint16, :int32, :uint32, :uint64, Float (or :double),
# :float, String (or :string, Symbol), :bytes, :pointer, :bool (or TrueClass, FalseClass).
#
# [Integer] true and false are 1 and 0. An Integer that the type cannot hold is a RangeError; nothing is truncated.
# [String]  Strings and Symbols, as UTF-8: other encodings are converted, and characters that cannot be
#           become U+FFFD; binary strings are not converted. Tracers read up to the first NUL.
# [:bytes]  All bytes of the string, with NULs. The tracer sees two arguments, the address and
#           the length: str(arg0, arg1), buf(arg0, arg1).
# [Float]   The bits of the IEEE double; nopal prints the number.
# [:bool]   1 for truthy values, 0 for nil and false.
# [nil]     NULL or 0, in every type.
#
# The number of values is always checked, their types and ranges only while the probe is enabled.
#
# == Threads, forks, Ractors
#
# All methods may be called in every thread, and in trap handlers. Firing holds the GVL, for a few
# microseconds. After a fork the child has the same probes, loaded. Ractor.make_shareable(provider)
# freezes a provider and its probes, which every Ractor may then fire; probes can no longer be added.
# Memory that can still be reached is never freed, not even by Provider#destroy.
module Nopal
end

require "nopal/version"
require "nopal/native"

module Nopal
  class Provider
    def inspect
      state = destroyed? ? "destroyed" : loaded? ? "loaded" : "not loaded"
      "#<Nopal::Provider #{name}: #{probes.size} probes, #{state}>"
    end
  end

  class Probe
    # A path of the image that has the probe, for tools that want a file: +readelf -n+, +tplist -l+.
    # nil while it is not loaded.
    def path
      fd && "/proc/#{Process.pid}/fd/#{fd}"
    end

    def inspect
      args = types.zip(arg_names).map { |type, arg| [type, arg].compact.join(" ") }
      "#<Nopal::Probe #{provider.name}:#{name}(#{args.join(', ')})#{' enabled' if enabled?}>"
    end
  end
end
