module StaticTracing
  module Tracer
    # Tracers wrap methods. A tracer of one's own derives from this and says what the wrapper is and
    # what it fires:
    #
    #   class Calls < StaticTracing::Tracer::Base
    #     set_wrapping_function ->(*args, &block) {
    #       provider = StaticTracing::Tracer::Helpers.underscore(self.class.name)
    #       StaticTracing::Tracepoint.fetch(provider, __method__).fire(__method__.to_s)
    #       super(*args, &block)
    #     }
    #     set_tracepoint_data_types(String)
    #   end
    #
    # Wrappers are in a module in front of the class, which is empty while tracing is switched off:
    # then a call costs what it did before.
    class Base
      class << self
        include Helpers

        # Wrap these methods of a class while tracing is on. Each has a tracepoint of its name, in the
        # provider given (or its name), or that of the class. Methods already registered stay so.
        def register(klass, *method_names, provider: nil)
          provider ||= underscore(klass.name || raise(ArgumentError, "name the provider of #{klass}"))
          provider = Provider.register(provider) unless provider.is_a?(Provider)
          overrides = registered[klass] ||= Overrides.new(self)
          method_names.flatten.each { |name| overrides.add(klass, provider, name.to_sym) }
          enable_class(klass) if on?
        end

        def enable!
          @on = true
          registered.each_key { |klass| enable_class(klass) }
        end

        def disable!
          @on = false
          registered.each_value(&:remove)
        end

        # The wrapper of one method, made into a method of the same name.
        def wrapper_of(_tracepoint)
          @wrapping_function || raise(NotImplementedError, "#{name} has no wrapping function")
        end

        def tracepoint_data_types
          @tracepoint_data_types || []
        end

        private

        def set_wrapping_function(callable)
          @wrapping_function = callable
        end

        def set_tracepoint_data_types(*types)
          @tracepoint_data_types = types
        end

        def on?
          !!@on
        end

        # Classes, and their wrappers.
        def registered
          @registered ||= {}
        end

        def enable_class(klass)
          overrides = registered[klass]
          overrides.put
          klass.prepend(overrides)
        end
      end

      # The wrappers of one tracer for one class.
      class Overrides < Module
        def initialize(tracer)
          super()
          @tracer = tracer
          @methods = {}
        end

        def add(klass, provider, name)
          return if @methods[name]

          tracepoint = provider.tracepoints[name.to_s] ||
                       provider.add_tracepoint(name, *@tracer.tracepoint_data_types)
          if tracepoint.args != @tracer.tracepoint_data_types
            raise ArgumentError, "provider '#{provider}' has a tracepoint '#{name}' of other types"
          end

          @methods[name] = [visibility(klass, name), tracepoint]
        end

        def put
          @methods.each do |name, (visibility, tracepoint)|
            tracepoint.provider.enable unless tracepoint.provider.enabled?
            next if method_defined?(name, false) || private_method_defined?(name, false)

            wrapper = @tracer.wrapper_of(tracepoint)
            define_method(name, wrapper)
            ruby2_keywords(name) if takes_rest?(wrapper)
            send(visibility, name)
          end
        end

        def remove
          (instance_methods(false) + private_instance_methods(false)).each { |name| remove_method(name) }
        end

        private

        def visibility(klass, name)
          return :private if klass.private_method_defined?(name)

          klass.protected_method_defined?(name) ? :protected : :public
        end

        # Keywords travel through *args.
        def takes_rest?(wrapper)
          kinds = wrapper.parameters.map(&:first)
          kinds.include?(:rest) && (kinds & %i[key keyreq keyrest nokey]).empty?
        end
      end
    end
  end
end
