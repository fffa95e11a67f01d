module StaticTracing
  module Tracer
    module Concerns
      # Include it after the methods of a class: Stack for all public ones.
      module Stack
        def self.included(base)
          Tracer::Stack.register(base, base.public_instance_methods(false))
        end
      end
    end
  end
end
