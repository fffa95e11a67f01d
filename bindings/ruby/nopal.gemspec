require_relative "lib/nopal/version"

Gem::Specification.new do |spec|
  spec.name = "nopal"
  spec.version = Nopal::VERSION
  spec.summary = "USDT probes in Ruby programs"
  spec.description = "Makes probes while the program runs that nopal, bpftrace, perf, bcc and gdb can " \
                     "trace, and has the interface of ruby-static-tracing. Needs nothing but libc."
  spec.authors = ["The Nopal authors"]
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.0"
  spec.files = Dir.chdir(__dir__) do
    Dir["lib/**/*.rb", "sig/*.rbs", "examples/*.rb", "ext/**/*.{c,h,rb,map}", "README.md", "LICENSE", "CHANGELOG.md"]
  end
  spec.extensions = ["ext/nopal/extconf.rb"]
  spec.metadata = { "rubygems_mfa_required" => "true" }
end
