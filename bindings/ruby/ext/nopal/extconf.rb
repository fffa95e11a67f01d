# Builds nopal/native: this folder's C files and the run-time probes of Nopal, so that the gem needs
# nothing but libc. A packed gem carries those sources in vendor/, a checkout has them at its top.
require "mkmf"

here = __dir__
top = [File.join(here, "vendor"), File.expand_path("../../../..", here)].find do |dir|
  File.exist?(File.join(dir, "include/nopal/runtime.h"))
end
abort "nopal: the sources of the run-time probes are missing" unless top
abort "nopal: 64-bit Linux only (x86-64, aarch64, riscv64)" unless RUBY_PLATFORM =~ /linux/

patterns = %w[src/runtime/*.c src/base/buf.c src/base/str.c src/base/utf8.c]
runtime = patterns.flat_map { |pattern| Dir[File.join(top, pattern)].sort }

$srcs = Dir[File.join(here, "*.c")].sort + runtime
$VPATH += [here, File.join(top, "src/runtime"), File.join(top, "src/base")]
$INCFLAGS << " -I#{File.join(top, 'include')} -I#{File.join(top, 'src')}"
$CFLAGS << " -std=gnu11 -fvisibility=hidden"
$defs << "-D_GNU_SOURCE"
# Nothing but the entry is seen from outside: another copy of the run-time probes may be in the process.
$DLDFLAGS << " -Wl,--version-script=#{File.join(here, 'native.map')}"
have_library("pthread")

create_makefile("nopal/native")
