module StaticTracing
  # When the tracers' methods are in place: always, never, or from one signal to the next. There is
  # one configuration; see StaticTracing.configure.
  class Configuration
    module Modes
      ON = "ON"
      OFF = "OFF"
      SIGNAL = "SIGNAL"

      module SIGNALS
        SIGPROF = "PROF"
      end
    end

    class << self
      def instance
        @instance ||= new
      end
    end

    attr_reader :mode, :signal

    def initialize
      @mode = Modes::SIGNAL
      @signal = Modes::SIGNALS::SIGPROF
      enable_trap
    end

    # Modes::ON, Modes::OFF or Modes::SIGNAL. SIGNAL changes nothing until the signal comes.
    def mode=(mode)
      unless [Modes::ON, Modes::OFF, Modes::SIGNAL].include?(mode)
        raise ArgumentError, "unknown mode #{mode.inspect}"
      end

      @mode = mode
      mode == Modes::SIGNAL ? enable_trap : disable_trap
      StaticTracing.enable! if mode == Modes::ON
      StaticTracing.disable! if mode == Modes::OFF
    end

    # The signal that switches tracing on and off in mode SIGNAL, as Signal.trap takes it.
    def signal=(signal)
      disable_trap
      @signal = signal
      enable_trap if @mode == Modes::SIGNAL
    end

    # A class derived from Tracer::Base, such as Tracer::Latency.
    def add_tracer(tracer)
      Tracers.add(tracer)
    end

    private

    def enable_trap
      return if @trapped

      @before = Signal.trap(@signal) { StaticTracing.toggle_tracing! }
      @trapped = @signal
    end

    # What the program had for the signal is in force again.
    def disable_trap
      Signal.trap(@trapped, @before || "DEFAULT") if @trapped
      @trapped = nil
    end
  end
end
