module StaticTracing
  module Tracer
    # Fires the method's name and how long it ran, in nanoseconds, when it is over, however it ends.
    # A call that began before anybody was tracing is not reported.
    class Latency < Base
      set_tracepoint_data_types(String, Integer)

      def self.wrapper_of(tracepoint)
        name = tracepoint.name
        lambda do |*args, &block|
          next super(*args, &block) unless tracepoint.enabled?

          start = StaticTracing.nsec
          begin
            super(*args, &block)
          ensure
            tracepoint.fire(name, StaticTracing.nsec - start)
          end
        end
      end
    end
  end
end
