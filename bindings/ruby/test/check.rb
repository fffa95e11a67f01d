# A test without a framework: check "what holds" { ... }. The program fails if one does not hold.
$failed = 0

def check(what)
  raise "false" unless yield

  puts "ok - #{what}"
rescue Exception => e # rubocop:disable Lint/RescueException
  $failed += 1
  puts "not ok - #{what}: #{e.class}: #{e.message}\n  #{e.backtrace.first(3).join("\n  ")}"
end

# The error that the block raises; nil: none.
def error_of
  yield
  nil
rescue Exception => e # rubocop:disable Lint/RescueException
  e
end

$stdout.sync = true
at_exit { exit!(1) if $failed.positive? }
