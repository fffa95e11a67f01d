# User mode: probes that programs make while they run, in Python, Node.js and Ruby. Each program waits until it is traced, fires
# 1000 times and ends; user mode counts what the kernel counts.
load ../helpers

setup() {
	[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
	need_tracing
	dir=$(mktemp -d /tmp/nopal-user.XXXXXX)
	chmod 755 "$dir"
	cd "$dir" || return
	export PYTHONPATH=$BUILD/python/lib PYTHONDONTWRITEBYTECODE=1
	all="@[/page/1]: 333
@[/page/2]: 333
@[/page/0]: 334
@s: 499500"
}

teardown() {
	cd /
	rm -rf "$dir"
}

# counts COMMAND: what nopal counts of it: in the kernel, in user mode, and in user mode for an ordinary user.
counts() {
	local script='usdt::app:request { @[str(arg0)] = count(); @s = sum(arg1) }' mode
	for mode in "$NOPAL --kernel" "$NOPAL --user" "setpriv --reuid=65534 --regid=65534 --clear-groups $NOPAL"; do
		timeout 60 $mode -q -c "$1" -e "$script" >out 2>err
		cat out err
		[ "$(grep @ out)" = "$all" ]
	done
}

@test "Python" {
	[ -e "$PYTHONPATH/nopal/_nopal.abi3.so" ] || skip "the Python package was not built: needs python3-dev and python3-setuptools"
	cat >app.py <<-'END'
		import time
		import nopal

		app = nopal.Provider("app")
		request = app.probe("request", path=str, status=int)
		app.load()
		while not request:
		    time.sleep(0.001)
		for i in range(1000):
		    request(f"/page/{i % 3}", i)
	END
	counts "/usr/bin/python3 app.py"
}

@test "Node.js" {
	need_program node
	[ -e "$ROOT/bindings/node/usdt.node" ] || skip "no headers of Node.js: libnode-dev"
	cp -r "$ROOT/bindings/node" package
	cat >app.js <<-'END'
		const { USDTProvider } = require("./package");
		const provider = new USDTProvider("app");
		const request = provider.addProbe("request", "char *", "int");
		provider.enable();
		const timer = setInterval(() => {
			if (!request.isEnabled) return;
			for (let i = 0; i < 1000; i++) request.fire(() => [`/page/${i % 3}`, i]);
			clearInterval(timer);
		}, 1);
	END
	counts "node app.js"
}

@test "Ruby" {
	need_program ruby
	[ -e "$BUILD/ruby/nopal/native.so" ] || skip "the binding for Ruby is not built: needs ruby-dev"
	cat >app.rb <<-'END'
		require "nopal"
		APP = Nopal::Provider.new("app") { |p| p.probe(:request, path: String, status: Integer) }
		sleep 0.001 until APP[:request].enabled?
		1000.times { |i| APP[:request].fire("/page/#{i % 3}", i) }
	END
	counts "ruby -I $BUILD/ruby -I $ROOT/bindings/ruby/lib app.rb"
}

@test "events of the first milliseconds of a run-time probe were missed" {
	cat >early.c <<-'END'
		#include <stdlib.h>
		#include <nopal/runtime.h>
		int main(int argc, char **argv)
		{
			static const struct nopal_probe_arg args[] = {{NOPAL_INT64, "i"}};
			struct nopal_error e;
			struct nopal_provider *app = nopal_provider_new("app", 0, &e);
			struct nopal_probe *early = nopal_provider_probe(app, "early", args, 1, "", &e);

			if (argc < 1 || nopal_provider_load(app, &e))
				return 1;
			for (long i = 0; i < 20000; i++)
				nopal_probe_fire(early, i);
			return 0;
		}
	END
	${CC:-cc} -I "$ROOT/include" -o early early.c -L "$BUILD" -lnopal-runtime -Wl,-rpath,"$BUILD"
	for command in ./early "sh -c 'sleep 0.1; exec ./early'" "sh -c './early; true'"; do
		for user in 0 65534; do
			run timeout 60 setpriv --reuid=$user --regid=$user --clear-groups "$NOPAL" -q --user -c "$command" \
				-e 'usdt::app:early { @n = count() }'
			echo "$output"
			[[ "$output" == *"@n: 20000"* && "$output" != *"warning: 1 image"* ]]
		done
	done
}

@test "false warnings: sites of a program that ran another one by exec were said to be unreadable" {
	cp "$BUILD/targets/tick" .
	run timeout 60 "$NOPAL" -q --user -c "sh -c 'sleep 0.1; exec ./tick number 1 2'" -e 'usdt:*:tick:number { @n = count() }'
	echo "$output"
	[[ "$output" == *"@n: 2"* && "$output" != *"cannot be traced"* ]]
}

@test "what is fired before the tracer knows of the probe is said by the kernel's engine" {
	[ -e "$PYTHONPATH/nopal/_nopal.abi3.so" ] || skip "the Python package was not built: needs python3-dev and python3-setuptools"
	cat >app.py <<-'END'
		import time
		import nopal

		time.sleep(0.3)
		app = nopal.Provider("app")
		request = app.probe("request", path=str, status=int)
		app.load()
		end = time.time() + 0.5
		while time.time() < end:
		    request("/", 1)
	END
	run timeout 60 "$NOPAL" -q --kernel -c "/usr/bin/python3 app.py" -e 'usdt::app:request { @n = count() }'
	echo "$output"
	[ "$(sed -n 's/^@n: //p' <<<"$output")" -gt 0 ]
	says armed-later "1 image was mapped during the run and armed at most "
}
