module StaticTracing
  # A probe of a provider, with the types that its values must have.
  class Tracepoint
    class TracepointMissingError < StandardError; end

    class InvalidArgType < StandardError
      def initialize(type)
        super("a tracepoint has arguments of #{VALID_ARGS_TYPES.join(', ')}, not #{type.inspect}")
      end
    end

    class InvalidArgumentError < StandardError
      def initialize(value, expected)
        super("the tracepoint was declared with #{expected.inspect}, it was fired with " \
              "#{value.inspect} (#{value.class})")
      end
    end

    VALID_ARGS_TYPES = [Integer, String, Float, Symbol].freeze

    # What tracers cannot take in a name, as methods have it: save! is save_bang for them.
    SPELLED = { "?" => "_query", "!" => "_bang", "=" => "_set" }.freeze

    class << self
      # The tracepoint of a provider (or its name); raises TracepointMissingError.
      def fetch(provider, name)
        Provider.fetch(provider).tracepoints.fetch(name.to_s) do
          raise TracepointMissingError, "provider '#{provider}' has no tracepoint '#{name}'"
        end
      end

      # The name of the probe that tracers see.
      def probe_name(name)
        name.to_s.gsub(/[^\w.-]|[^[:ascii:]]/) { |char| SPELLED[char] || format("_u%04x", char.ord) }
      end
    end

    attr_reader :provider_name, :name, :args, :provider

    def initialize(provider, name, *types)
      wrong = types.find { |type| !VALID_ARGS_TYPES.include?(type) }
      raise InvalidArgType, wrong if wrong

      @provider = provider.is_a?(Provider) ? provider : Provider.register(provider)
      @provider_name = @provider.namespace
      @name = name.to_s
      @args = types
      @probe = @provider.make_probe(Tracepoint.probe_name(@name), types)
      @provider.add_tracepoint(self)
    end

    # Is anybody tracing it now?
    def enabled?
      @probe.enabled?
    end

    # Fire with these values; raises InvalidArgumentError, traced or not, if they are not of the
    # declared types.
    def fire(*values)
      count = @args.size
      raise InvalidArgumentError.new(values, @args) if values.size != count

      i = 0
      while i < count # a block would take twice the time
        raise InvalidArgumentError.new(values[i], @args[i]) unless @args[i] === values[i]

        i += 1
      end
      @probe.fire(*values)
    end
  end
end
