# The interface of ruby-static-tracing, on Nopal's probes: programs written for that gem run unchanged.
#
#   require "ruby-static-tracing"
#
#   class Shop
#     def order(id) = ...
#     include StaticTracing::Tracer::Concerns::Latency      # after the methods
#   end
#
#   StaticTracing.configure do |config|
#     config.add_tracer(StaticTracing::Tracer::Latency)
#   end
#
# `kill -PROF PID` puts the tracers' methods in place of the traced ones, and the next one takes them
# away. The probes themselves stay from the first time on, so that tracers need not come again.
require "nopal"

module StaticTracing
  BaseError = Class.new(StandardError)
  USDTError = Class.new(BaseError)
  InternalError = Class.new(BaseError)

  class << self
    # A Logger, when the program sets one. It is not used in signal handlers.
    attr_accessor :logger

    # The monotonic clock, in nanoseconds.
    def nsec
      Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    end

    # Are the tracers' methods in place?
    def enabled?
      !!@enabled
    end

    # Put the methods of all tracers in place of the traced ones, and load their probes.
    def enable!
      @enabled = true
      Tracers.enable
    end

    # Leave the traced methods as they were written.
    def disable!
      @enabled = false
      Tracers.disable
    end

    def toggle_tracing!
      enabled? ? disable! : enable!
    end

    # Yields the Configuration.
    def configure
      yield Configuration.instance
    end
  end
end

require "ruby-static-tracing/version"
require "ruby-static-tracing/platform"
require "ruby-static-tracing/provider"
require "ruby-static-tracing/tracepoint"
require "ruby-static-tracing/configuration"
require "ruby-static-tracing/tracers"
require "ruby-static-tracing/tracer/helpers"
require "ruby-static-tracing/tracer/base"
require "ruby-static-tracing/tracer/latency"
require "ruby-static-tracing/tracer/stack"
require "ruby-static-tracing/tracer/concerns/latency_tracer"
require "ruby-static-tracing/tracer/concerns/stack_tracer"
