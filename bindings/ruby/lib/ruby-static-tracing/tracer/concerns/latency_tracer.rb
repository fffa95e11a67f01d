module StaticTracing
  module Tracer
    module Concerns
      # Include it after the methods of a class: Latency for all public ones.
      module Latency
        def self.included(base)
          Tracer::Latency.register(base, base.public_instance_methods(false))
        end
      end
    end
  end
end
