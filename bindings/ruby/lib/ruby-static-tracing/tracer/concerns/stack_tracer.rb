module StaticTracing
  module Tracer
    module Concerns
      # Included behind the methods of a class: Stack for all public ones.
      module Stack
        def self.included(base)
          Tracer::Stack.register(base, base.public_instance_methods(false))
        end
      end
    end
  end
end
