# Nopal's one Makefile. `make` builds, `make check` installs what is missing and runs the tests,
# `make demo` shows the tool at work. Useful variables: CC=clang, SAN=1 (address and undefined
# sanitizers, built in build-san/), PREFIX, DESTDIR, V=1, CROSS_COMPILE=aarch64-linux-gnu- (built in
# build-aarch64-linux-gnu/; scripts/cross brings the libraries for that, too).

VERSION := 0.1.0
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
ifdef CROSS_COMPILE
CC := $(CROSS_COMPILE)gcc
AR := $(CROSS_COMPILE)ar
STRIP := $(CROSS_COMPILE)strip
endif
CC ?= cc
STRIP ?= strip
O := build$(patsubst %-,-%,$(CROSS_COMPILE))$(if $(SAN),-san)$(if $(FUZZING),-fuzz)
Q := $(if $(V),,@)

, := ,
WARNINGS := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wvla -Werror=implicit
SANITIZE := $(if $(SAN),-fsanitize=address$(,)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
FUZZER := $(if $(FUZZING),-fsanitize=fuzzer-no-link$(,)address$(,)undefined -fno-sanitize-recover=undefined)
CFLAGS ?= -O2 -g
# What is built is hardened; glibc's checks need optimised code, and a distribution may have chosen its own.
FORTIFY := $(if $(or $(SAN),$(FUZZING),$(findstring _FORTIFY_SOURCE,$(CFLAGS))),,$(if $(filter-out -O0,$(filter -O%,$(CFLAGS))),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
HARDEN := -fstack-protector-strong $(FORTIFY)
HARDEN_LINK := -Wl,-z,relro -Wl,-z,now
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 $(WARNINGS) $(HARDEN) $(CPPFLAGS) $(CFLAGS) $(SANITIZE) $(FUZZER) -fPIC -fvisibility=hidden \
	-Isrc -Iinclude -DNOPAL_VERSION='"$(VERSION)"' -MMD -MP
LDLIBS := -liberty -ldw -lelf -lz -lpthread -ldl

SOURCES := $(filter-out src/user/inside/agent.c,$(wildcard src/*/*.c src/*/*/*.c src/*/*/*/*.c))
# Probes made at run time, and all that they need: a library of its own that needs only libc.
RUNTIME := $(wildcard src/runtime/*.c) src/base/buf.c src/base/str.c src/base/utf8.c
RUNTIME_OBJECTS := $(RUNTIME:src/%.c=$(O)/obj/%.o)
OBJECTS := $(SOURCES:src/%.c=$(O)/obj/%.o) $(O)/obj/provider/shipped.o $(O)/obj/program/syscall_names.o $(O)/obj/user/inside/blob.o
COMMANDS := $(wildcard cmd/*.c cmd/*/*.c)
UNITS := $(patsubst tests/unit/%.c,$(O)/unit/%,$(wildcard tests/unit/*.c))
TARGETS := $(patsubst tests/targets/%.c,$(O)/targets/%,$(wildcard tests/targets/*.c))
FUZZERS := $(patsubst fuzz/%.c,$(O)/fuzz/%,$(wildcard fuzz/*.c))
EXAMPLES := $(patsubst examples/%.c,$(O)/examples/%,$(wildcard examples/*.c))

all: $(if $(wildcard cmd/nopal.c),$(O)/nopal $(O)/dtrace) $(O)/libnopal.so $(O)/libnopal.a \
	$(O)/libnopal-runtime.so.0 $(O)/libnopal-runtime.a $(O)/libstapsdt.so.0

$(O)/obj/%.o: src/%.c
	@mkdir -p $(@D)
	$(if $(Q),@echo "  cc    $<")
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

# The catalogue of well-known probes is compiled in.
$(O)/obj/provider/shipped.c: $(sort $(wildcard data/providers/*.d)) scripts/embed
	@mkdir -p $(@D)
	$(Q)scripts/embed $(filter %.d,$^) >$@

$(O)/obj/provider/shipped.o: $(O)/obj/provider/shipped.c
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

# Numbers of system calls, as this CPU has them.
$(O)/obj/program/syscall_names.c: scripts/syscalls
	@mkdir -p $(@D)
	$(Q)scripts/syscalls $(CC) >$@

$(O)/obj/program/syscall_names.o: $(O)/obj/program/syscall_names.c
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

# What runs inside traced processes, in user mode: once more, as bytes for any address.
INSIDE := $(if $(filter x86_64% aarch64%,$(shell $(CC) -dumpmachine)),$(patsubst src/%.c,$(O)/blob/%.o,$(wildcard src/user/inside/inside_*.c) src/lang/frames.c))
INSIDE_FLAGS := -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -O2 -fPIC -fvisibility=hidden -ffreestanding -fno-stack-protector -fno-jump-tables \
	-fno-asynchronous-unwind-tables -mgeneral-regs-only $(if $(findstring clang,$(CC)),,-fno-tree-loop-distribute-patterns) -DINSIDE_BLOB -Isrc -MMD -MP \
	$(if $(filter aarch64%,$(shell $(CC) -dumpmachine)),-mno-outline-atomics)

$(O)/blob/%.o: src/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(INSIDE_FLAGS) -c $< -o $@

$(O)/blob/inside.elf: src/user/inside/inside.lds $(INSIDE)
	$(Q)$(CC) -nostdlib -static -Wl,-no-pie -Wl,--build-id=none -Wl,-e,0 -Wl,-T,$^ -o $@

$(O)/obj/user/inside/blob.c: $(if $(INSIDE),$(O)/blob/inside.elf) scripts/blob
	@mkdir -p $(@D)
	$(Q)$(foreach tool,NM OBJDUMP OBJCOPY READELF,$(tool)=$(CROSS_COMPILE)$(shell echo $(tool) | tr A-Z a-z)) scripts/blob $(filter %.elf,$<) >$@.new
	$(Q)mv $@.new $@

$(O)/obj/user/inside/blob.o: $(O)/obj/user/inside/blob.c
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

# What `nopal -c` loads into the programs that a command runs, in user mode.
all: $(if $(INSIDE),$(O)/nopal-agent.so)

$(O)/nopal-agent.so: src/user/inside/agent.c src/user/inside/words.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -MMD -MP,$(INSIDE_FLAGS)) -g -shared -nostdlib -Wl,-z,initfirst -Wl,-soname,$(@F) $(HARDEN_LINK) -o $@ $<
	$(Q)[ -z "$$($(CROSS_COMPILE)readelf -d $@ | grep NEEDED)" ]

$(O)/cmd/%.o: cmd/%.c
	@mkdir -p $(@D)
	$(if $(Q),@echo "  cc    $<")
	$(Q)$(CC) $(ALL_CFLAGS) -Icmd -c $< -o $@

# The page of flame graphs is compiled in.
$(O)/cmd/flame.o: data/flame.html

$(O)/libnopal.a: $(OBJECTS)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(O)/libnopal.so: $(OBJECTS)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) -shared -Wl,-soname,libnopal.so.0 -Wl,--exclude-libs,libiberty.a $(HARDEN_LINK) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(O)/libnopal-runtime.a: $(RUNTIME_OBJECTS)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(O)/libnopal-runtime.so.0: $(RUNTIME_OBJECTS)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) -shared -Wl,-soname,$(@F) $(HARDEN_LINK) $(LDFLAGS) -o $@ $^ -lpthread
	@ln -sf $(@F) $(O)/libnopal-runtime.so

# The interface of libstapsdt, and nothing else to be seen.
$(O)/libstapsdt.so.0: bindings/stapsdt/stapsdt.c bindings/stapsdt/stapsdt.map $(O)/libnopal-runtime.a
	@mkdir -p $(O)/obj/stapsdt
	$(Q)$(CC) $(ALL_CFLAGS) -MF $(O)/obj/stapsdt/stapsdt.d -shared -Wl,-soname,$(@F) -Wl,--version-script=bindings/stapsdt/stapsdt.map \
		$(HARDEN_LINK) $(LDFLAGS) -o $@ $< $(O)/libnopal-runtime.a -lpthread
	@ln -sf $(@F) $(O)/libstapsdt.so

# No allocation that fails is silent: see cmd/memory.c.
WRAPPED := malloc calloc realloc reallocarray strdup strndup asprintf vasprintf __asprintf_chk __vasprintf_chk \
	tsearch open_memstream fclose
$(O)/nopal: $(COMMANDS:cmd/%.c=$(O)/cmd/%.o) $(O)/libnopal.a
	$(if $(Q),@echo "  link  $@")
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) -pie $(HARDEN_LINK) $(WRAPPED:%=-Wl$(,)--wrap=%) $(LDFLAGS) \
		-o $@ $^ $(LDLIBS)

# One program, two names.
$(O)/dtrace: $(O)/nopal
	$(Q)ln -sf nopal $@

# What unit tests and fuzzers share, and the reader of case files for shell scripts.
HELP_OBJECTS := $(patsubst tests/help/%.c,$(O)/help/%.o,$(wildcard tests/help/*.c))

$(O)/help/%.o: tests/help/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -Itests -c $< -o $@

$(O)/libhelp.a: $(HELP_OBJECTS)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

# For tests in shell: a case file as directories, and the cases of a file traced.
CASE_TOOLS := $(O)/help/split_cases $(O)/help/run_cases
$(CASE_TOOLS): $(O)/help/%: tests/programs/%.c $(O)/help/casefile.o $(O)/libnopal.a
	$(Q)$(CC) $(ALL_CFLAGS) -Itests $(LDFLAGS) -o $@ $^ $(LDLIBS)

# Tests: unit programs (cmocka), traced programs, examples.
$(O)/unit/%: tests/unit/%.c $(O)/libhelp.a $(O)/libnopal.a
	@mkdir -p $(@D)
	$(if $(Q),@echo "  test  $@")
	$(Q)$(CC) $(ALL_CFLAGS) -Itests $(LDFLAGS) -o $@ $< $(O)/libhelp.a $(O)/libnopal.a -lcmocka $(LDLIBS)

# A traced program may name extra flags in a line "// flags: …" of its source.
$(O)/targets/%: tests/targets/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) -O2 -g -Iinclude -Itests $$(sed -n 's|^// flags: ||p' $<) -o $@ $< -lpthread

# Those with run-time probes.
$(filter $(O)/targets/runtime%,$(TARGETS)): $(O)/targets/%: tests/targets/%.c $(O)/libnopal-runtime.a
	@mkdir -p $(@D)
	$(Q)$(CC) -O2 -g -Wall $(SANITIZE) -Iinclude -o $@ $^ -lpthread

# An example may name a library of its own in a line "// libs: …".
$(O)/examples/%: examples/%.c $(O)/libnopal.a
	@mkdir -p $(@D)
	$(Q)$(CC) -O2 -g -Wall -Wextra $(SANITIZE) -Iinclude $(LDFLAGS) -o $@ $< $(O)/libnopal.a $$(sed -n 's|^// libs: ||p' $<) $(LDLIBS)

units: $(UNITS) $(CASE_TOOLS)
bindings: all ; +$(Q)for build in bindings/*/build; do O=$(O) "$$build" || exit 1; done
targets: $(TARGETS)
examples: $(EXAMPLES)

check:
	@scripts/deps check
	$(Q)$(MAKE) --no-print-directory build-tests
	$(Q)O=$(O) SAN=$(SAN) tests/run

# Debian 12's own kernels and its newest, in an emulator; `check` runs a part of this.
check-kernels: all units targets
	@scripts/deps check
	$(Q)O=$(O) KERNELS=full tests/run kernels/amd64 kernels/newest kernels/arm64

# Every test, those that `check` leaves out, too; then user mode in programs of all kinds, thousands of sessions, of which `check` runs
# a part. SEED=N runs the same again.
check-all:
	@scripts/deps all
	$(Q)$(MAKE) --no-print-directory build-tests
	$(Q)O=$(O) SAN=$(SAN) ALL=1 MATRIX=full KERNELS=full tests/run
	$(Q)O=$(O) SEED=$(SEED) LONGEST=20000 tests/run real/harmless

# Fuzzers are only compiled here, so that they keep up with what they test.
FUZZ_OBJECTS := $(patsubst fuzz/%.c,$(O)/fuzz/%.o,$(wildcard fuzz/*.c))
$(O)/fuzz/%.o: fuzz/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -Icmd -Itests -c $< -o $@

# Debian packages: built, installed in a fresh root, used, removed.
check-packages: all
	$(Q)O=$(O) tests/run packages/deb

build-tests: all units targets examples bindings $(FUZZ_OBJECTS)

demo:
	@scripts/deps build
	$(Q)$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc)) all $(O)/examples/shop
	$(Q)O=$(O) scripts/demo

lint:
	$(Q)scripts/lint

format:
	$(Q)clang-format -i $$(git ls-files '*.c' '*.h')

# Fuzzing: libFuzzer targets built by clang into build-fuzz/; SECONDS_EACH=600 for the long run.
fuzz:
	$(Q)$(MAKE) --no-print-directory CC=clang FUZZING=1 fuzzers
	$(Q)scripts/fuzz $${SECONDS_EACH:-30}

fuzzers: $(FUZZERS)

# What reads words of command lines is the command's.
$(O)/fuzz/words: $(patsubst %,$(O)/cmd/%.o,bcc/word bcc/trace bcc/expression probe_word script_text spec)
$(O)/fuzz/%: fuzz/%.c $(O)/libhelp.a $(O)/libnopal.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -Icmd -Itests -fsanitize=fuzzer -o $@ $< $(filter %.o,$^) $(O)/libhelp.a $(O)/libnopal.a -lcmocka $(LDLIBS)

bench: all targets
	$(Q)O=$(O) bench/run

# The command; what developers need; both.
install-cli install-dev install: all
	$(Q)DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) LIBDIR=$(LIBDIR) VERSION=$(VERSION) O=$(O) STRIP=$(STRIP) REPLACE=$(REPLACE) \
		scripts/install $(patsubst install-%,%,$(@:install=all))

uninstall:
	$(Q)DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) scripts/install uninstall

deb:
	$(Q)O=$(O) scripts/deb

clean:
	rm -rf build build-san build-fuzz

-include $(OBJECTS:.o=.d) $(INSIDE:.o=.d) $(COMMANDS:cmd/%.c=$(O)/cmd/%.d) $(UNITS:=.d) $(HELP_OBJECTS:.o=.d) $(FUZZ_OBJECTS:.o=.d)

.PHONY: all check check-kernels check-packages check-all build-tests bindings units targets examples demo lint format fuzz fuzzers bench install install-cli install-dev uninstall deb clean
.SECONDARY:
