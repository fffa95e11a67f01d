module StaticTracing
  # Where probes can be: the extension builds nowhere else, so wherever this runs.
  module Platform
    module_function

    def linux?
      RUBY_PLATFORM.include?("linux")
    end

    def darwin?
      RUBY_PLATFORM.include?("darwin")
    end

    def supported_platform?
      linux?
    end
  end
end
