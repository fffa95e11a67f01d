module StaticTracing
  # The tracers that are switched together. No locks: it is called in signal handlers.
  class Tracers
    class InvalidTracerError < StandardError
      def initialize(tracer)
        super("a tracer is a class derived from StaticTracing::Tracer::Base, not #{tracer.inspect}")
      end
    end

    class << self
      def add(tracer)
        unless tracer.is_a?(Class) && tracer < Tracer::Base
          raise InvalidTracerError, tracer
        end

        @tracers = tracers | [tracer]
        tracer.enable! if StaticTracing.enabled?
      end

      def enable
        tracers.each(&:enable!)
      end

      def disable
        tracers.each(&:disable!)
      end

      # Forget all tracers.
      def clean
        disable
        @tracers = []
      end

      def tracers
        @tracers ||= []
      end
    end
  end
end
