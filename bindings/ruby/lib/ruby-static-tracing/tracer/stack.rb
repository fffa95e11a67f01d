module StaticTracing
  module Tracer
    # Fires the method's name and the callers, "file:line:in `method'" a line each, as it begins.
    class Stack < Base
      set_tracepoint_data_types(String, String)

      def self.wrapper_of(tracepoint)
        name = tracepoint.name
        lambda do |*args, &block|
          tracepoint.fire(name, caller.join("\n")) if tracepoint.enabled?
          super(*args, &block)
        end
      end
    end
  end
end
