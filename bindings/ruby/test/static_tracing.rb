# The interface of ruby-static-tracing, where nobody traces.
require "ruby-static-tracing"
require_relative "check"

include StaticTracing # rubocop:disable Style/MixinUsage

check "register makes a provider, fetch finds it" do
  provider = Provider.register("reg")
  Provider.register("reg").equal?(provider) && Provider.fetch("reg").equal?(provider) &&
    Provider.fetch(provider).equal?(provider) && provider.namespace == "reg" && provider.name == "reg" &&
    error_of { Provider.fetch("unknown") }.is_a?(Provider::ProviderMissingError)
end

check "a tracepoint registers its provider" do
  tracepoint = Tracepoint.new("global", "hello", Integer, String)
  provider = Provider.fetch(tracepoint.provider)
  provider.tracepoints["hello"].equal?(tracepoint) && tracepoint.name == "hello" &&
    tracepoint.provider_name == "global" && tracepoint.args == [Integer, String] &&
    Tracepoint.fetch("global", :hello).equal?(tracepoint) &&
    error_of { Tracepoint.fetch("global", "no") }.is_a?(Tracepoint::TracepointMissingError)
end

check "add_tracepoint, enable, disable, path, destroy" do
  provider = Provider.register("life")
  tracepoint = provider.add_tracepoint(:method, String, Integer)
  states = [provider.enabled?, provider.path, provider.enable, provider.enabled?,
            File.exist?(provider.path), tracepoint.enabled?, tracepoint.fire("a", 1)]
  later = provider.add_tracepoint("later", Integer)
  states << provider.disable << provider.enabled? << provider.enable << later.fire(1)
  provider.destroy
  states == [false, nil, true, true, true, false, false, true, false, true, false] &&
    error_of { Provider.fetch("life") }.is_a?(Provider::ProviderMissingError)
end

check "fire checks the values, traced or not" do
  tracepoint = Tracepoint.new("checks", "x", Integer, String)
  [[1], [1, 2], ["a", "b"], [1, "b", 3], [nil, "b"]].all? do |values|
    error_of { tracepoint.fire(*values) }.is_a?(Tracepoint::InvalidArgumentError)
  end && error_of { Tracepoint.new("checks", "y", Array) }.is_a?(Tracepoint::InvalidArgType)
end

class Shop
  def order(count, note = "none", fast: false, &block)
    "#{count} #{note} #{fast} #{block&.call}"
  end

  def rest(*args, **options)
    [args, options]
  end

  def ready?
    true
  end

  def stock=(value)
    @stock = value
  end

  def [](key)
    key
  end

  def fails
    raise "failed"
  end

  def through
    yield
    :not_reached
  end

  def ask_secret
    secret
  end

  private

  def secret
    :secret
  end

  public

  include StaticTracing::Tracer::Concerns::Latency
end

check "a concern registers the public methods" do
  Provider.fetch("shop").tracepoints.keys.sort ==
    %w[[] ask_secret fails order ready? rest stock= through]
end

def calls_of(shop)
  stopped = catch(:stop) { shop.through { throw :stop, :stopped } }
  [shop.order(1), shop.order(2, "b", fast: true) { :block }, shop.rest(1, { "a" => 1 }, b: 2),
   shop.rest({ a: 1 }), shop.ready?, (shop.stock = 5), shop[:key], stopped, error_of { shop.fails }.message,
   shop.ask_secret, error_of { shop.secret }.class]
end

# Scripts made for that gem take the text apart by lines.
check "the stack tracer joins callers by newlines" do
  tracepoint = Struct.new(:name, :fired) do
    def enabled? = true
    def fire(*values) = self.fired = values
  end.new("order")
  wrapper = Tracer::Stack.wrapper_of(tracepoint)
  Class.new(Class.new { def order = 1 }) { define_method(:order, &wrapper) }.new.order
  name, callers = tracepoint.fired
  name == "order" && callers.lines.size > 1 && callers.lines.all? { |line| line.match?(/\A\S.*:\d+:in /) }
end

check "wrapped methods do what they did" do
  shop = Shop.new
  before = calls_of(shop)
  Tracer::Latency.register(Shop, :secret)
  Tracer::Latency.enable!
  Tracer::Stack.register(Shop, :order, :rest, provider: "shop_stack")
  Tracer::Stack.enable!
  owners = [Shop.instance_method(:order).owner, Shop.instance_method(:secret).owner]
  wrapped = calls_of(shop)
  on = Provider.fetch("shop").enabled?
  Tracer::Latency.disable!
  Tracer::Stack.disable!
  on && owners.none?(Shop) && Shop.instance_method(:order).owner == Shop && before == wrapped &&
    before == calls_of(shop) && Shop.private_method_defined?(:secret)
end

check "methods' names become names that tracers take" do
  Tracepoint.probe_name(:ready?) == "ready_query" && Tracepoint.probe_name("save!") == "save_bang" &&
    Tracepoint.probe_name(:stock=) == "stock_set" && Tracepoint.probe_name(:grüßen) == "gr_u00fc_u00dfen" &&
    Tracer::Helpers.underscore("Shop::HTTPServer2Go") == "shop_http_server2_go"
end

class Calls < StaticTracing::Tracer::Base
  SEEN = []
  set_wrapping_function lambda { |*args, &block|
    Calls::SEEN << [__method__, args]
    Tracepoint.fetch("plain_things", __method__).fire(__method__.to_s)
    super(*args, &block)
  }
  set_tracepoint_data_types(String)
end

class PlainThings
  def twice(number, by: 2)
    number * by
  end
end

check "a tracer of one's own" do
  Calls.register(PlainThings, :twice)
  untouched = PlainThings.new.twice(2)
  Calls.enable!
  [untouched, PlainThings.new.twice(3, by: 5)] == [4, 15] && Calls::SEEN.map(&:first) == [:twice]
end

check "only tracers can be added" do
  [Object, Calls.new, Tracer::Base].all? do |wrong|
    error_of { Tracers.add(wrong) }.is_a?(Tracers::InvalidTracerError)
  end
end

def wait_until
  200.times { yield ? (return true) : sleep(0.005) }
  false
end

check "a signal switches tracing on and off, and another one can be chosen" do
  StaticTracing.configure { |config| config.add_tracer(Tracer::Latency) }
  config = Configuration.instance
  defaults = [config.mode, config.signal, StaticTracing.enabled?]
  Process.kill("PROF", Process.pid)
  on = wait_until { StaticTracing.enabled? && Shop.instance_method(:order).owner != Shop }
  Process.kill("PROF", Process.pid)
  off = wait_until { !StaticTracing.enabled? && Shop.instance_method(:order).owner == Shop }
  config.signal = "USR2"
  Process.kill("USR2", Process.pid)
  other = wait_until { StaticTracing.enabled? }
  defaults == [Configuration::Modes::SIGNAL, "PROF", false] && on && off && other
end

check "modes ON and OFF, and tracers added later" do
  config = Configuration.instance
  config.mode = Configuration::Modes::OFF
  off = StaticTracing.enabled?
  config.mode = Configuration::Modes::ON
  config.add_tracer(Tracer::Stack)
  wrapped = Shop.ancestors.take_while { |mod| mod != Shop }.size
  config.mode = Configuration::Modes::OFF
  !off && wrapped == 2 && !StaticTracing.enabled? && error_of { config.mode = "MAYBE" }.is_a?(ArgumentError)
end

check "leaving mode SIGNAL gives the signal back" do
  seen = false
  trap("USR1") { seen = true }
  config = Configuration.instance
  config.signal = "USR1"
  config.mode = Configuration::Modes::SIGNAL
  config.mode = Configuration::Modes::OFF
  Process.kill("USR1", Process.pid)
  wait_until { seen } && !StaticTracing.enabled?
end
