module StaticTracing
  VERSION = Nopal::VERSION
end
