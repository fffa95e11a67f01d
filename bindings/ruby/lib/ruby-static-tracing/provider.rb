module StaticTracing
  # A named group of tracepoints, found by its name everywhere in the program.
  class Provider
    class ProviderMissingError < StandardError; end

    class << self
      # The provider of that name, made if there is none.
      def register(namespace)
        registry[namespace.to_s] ||= new(namespace)
      end

      # The provider of that name; raises ProviderMissingError.
      def fetch(namespace)
        registry.fetch(namespace.to_s) do
          raise ProviderMissingError, "unknown provider '#{namespace}'"
        end
      end

      # Destroy all providers.
      def clean!
        registry.values.each(&:destroy)
      end

      def forget(provider) # :nodoc:
        registry.delete(provider.namespace) if registry[provider.namespace].equal?(provider)
      end

      private

      def registry
        @registry ||= {}
      end
    end

    attr_reader :namespace, :tracepoints
    alias name namespace
    alias to_s namespace

    def initialize(namespace)
      @namespace = namespace.to_s
      @tracepoints = {}
      @nopal = Nopal::Provider.new(@namespace).unload
    end

    # Add a tracepoint: add_tracepoint(:request, String, Integer), or one that was made already.
    # Returns it. While the provider is enabled it is there at once.
    def add_tracepoint(tracepoint, *types)
      return Tracepoint.new(self, tracepoint, *types) unless tracepoint.is_a?(Tracepoint)

      @tracepoints[tracepoint.name] = tracepoint
    end

    # Show the tracepoints to tracers.
    def enable
      @nopal.load
      true
    end

    # Take them away. They can be enabled again.
    def disable
      @nopal.unload
      true
    end

    def enabled?
      @nopal.loaded?
    end

    # Take the tracepoints away for good, and forget the provider.
    def destroy
      Provider.forget(self)
      @nopal.destroy
      true
    end

    # A path of the probes' image while enabled, or nil.
    def path
      @nopal.probes.filter_map(&:path).first
    end

    def make_probe(name, types) # :nodoc:
      @nopal.probe(name, *types)
    end
  end
end
