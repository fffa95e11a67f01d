// What can be seen without a tracer. Run by tests/cli/bindings-node.bats, and by `npm test`.
"use strict";
const assert = require("node:assert");
const fs = require("node:fs");
const { USDTProvider, USDTProbe } = require("..");

const images = () => fs.readFileSync("/proc/self/maps", "utf8").split("\n").filter((line) => /nopal:.*r-xp|r-xp.*nopal:/.test(line)).length;
const code = (name) => ({ code: name });

const tests = {
	"a probe that nobody traces does not call its function"() {
		const provider = new USDTProvider("api");
		const probe = provider.addProbe("idle", "int");
		const never = () => assert.fail("called");
		assert.strictEqual(probe.fire(never), false);
		provider.enable();
		assert.strictEqual(probe.isEnabled, false);
		assert.strictEqual(probe.fire(never), false);
		provider.disable();
		assert.strictEqual(probe.fire(never), false);
	},

	"providers and probes know what they are"() {
		const provider = new USDTProvider("api");
		const probe = provider.addProbe({ name: "known", description: "a known one" }, { type: "int", name: "x" });
		assert.strictEqual(provider.name, "api");
		assert.strictEqual(probe.name, "known");
		assert.strictEqual(probe.provider, provider);
		assert.ok(probe instanceof USDTProbe);
		assert.strictEqual(provider.isEnabled, false);
		provider.enable();
		assert.strictEqual(provider.isEnabled, true);
		provider.disable();
		assert.strictEqual(provider.isEnabled, false);
		assert.throws(() => new USDTProbe(), TypeError);
	},

	"every spelling of a type is taken"() {
		const provider = new USDTProvider("api");
		const types = ["char", "int", "unsigned", "long", "size_t", "bool", "const char*", "char const *", "  unsigned   int ",
			"string", "void*", "float"];
		provider.addProbe("spelling", ...types);
		for (const type of ["", "integer", "char **", "const", null, undefined, 7, {}])
			assert.throws(() => provider.addProbe("bad", type), TypeError, String(type));
	},

	"wrong names and too many arguments are errors"() {
		const provider = new USDTProvider("api");
		assert.throws(() => new USDTProvider(""), code("NOPAL_BAD_NAME"));
		assert.throws(() => new USDTProvider("a b"), code("NOPAL_BAD_NAME"));
		assert.throws(() => new USDTProvider("a".repeat(250)), code("NOPAL_BAD_NAME"));
		assert.throws(() => provider.addProbe(""), code("NOPAL_BAD_NAME"));
		assert.throws(() => provider.addProbe("a:b"), code("NOPAL_BAD_NAME"));
		for (const name of [undefined, null, 7, Symbol("a"), ["a"]]) {
			assert.throws(() => new USDTProvider(name), TypeError);
			assert.throws(() => provider.addProbe(name), TypeError);
			assert.throws(() => provider.addProbe({ name }), TypeError);
		}
		assert.throws(() => provider.addProbe("named", { type: "int", name: "a b" }), code("NOPAL_BAD_ARGS"));
		provider.addProbe("twice");
		assert.throws(() => provider.addProbe("twice"), code("NOPAL_NAME_TAKEN"));
		provider.addProbe("twelve", ...Array(12).fill("int"));
		assert.throws(() => provider.addProbe("thirteen", ...Array(13).fill("int")), code("NOPAL_BAD_ARGS"));
		provider.addProbe("six", ...Array(6).fill("buffer"));
		assert.throws(() => provider.addProbe("seven", ...Array(7).fill("buffer")), code("NOPAL_BAD_ARGS"));
	},

	"names with a NUL are not cut"() {
		assert.throws(() => new USDTProvider("a\0b"), code("NOPAL_BAD_NAME"));
		const provider = new USDTProvider("api");
		assert.throws(() => provider.addProbe("a\0b"), code("NOPAL_BAD_NAME"));
	},

	"the native half takes no strangers"() {
		const native = require("../usdt.node");
		const provider = native.open("api", 0);
		for (const stranger of [undefined, null, 7, {}, [], "x", provider])
			assert.throws(() => native.fire(stranger, []), TypeError);
		assert.throws(() => native.load({}), TypeError);
	},

	"what is no longer used goes away, with its image and file descriptor"() {
		assert.ok(global.gc, "run with --expose-gc");
		const open = () => fs.readdirSync("/proc/self/fd").length;
		const collect = () => new Promise((resolve) => setImmediate(() => { global.gc(); setImmediate(resolve); }));
		const before = open();
		const make = () => {
			const provider = new USDTProvider("gone");
			provider.addProbe("probe", "int").fire(() => [1]);
			provider.enable();
		};
		return (async () => {
			for (let round = 0; round < 10; round++) {
				for (let i = 0; i < 50; i++)
					make();
				await collect();
			}
			for (let i = 0; i < 10 && open() > before; i++)
				await collect();
			assert.ok(open() <= before, `${before} file descriptors became ${open()}`);
			assert.strictEqual(images(), 0);
		})();
	},

	"a provider in a file leaves none behind"() {
		const os = require("node:os");
		process.env.XDG_RUNTIME_DIR = fs.mkdtempSync(`${os.tmpdir()}/nodetest-`);
		const dir = process.env.XDG_RUNTIME_DIR;
		const files = () => fs.readdirSync(dir, { recursive: true }).length;
		const provider = new USDTProvider("filed", { file: true });
		provider.addProbe("probe");
		provider.enable();
		assert.ok(files() >= 1);
		provider.disable();
		assert.strictEqual(files(), 0);
		fs.rmSync(dir, { recursive: true });
	},

	"a probe keeps its provider"() {
		const probe = (() => {
			const provider = new USDTProvider("kept");
			const made = provider.addProbe("probe");
			provider.enable();
			return made;
		})();
		for (let i = 0; i < 5; i++)
			global.gc();
		assert.strictEqual(images(), 1);
		assert.strictEqual(probe.isEnabled, false);
		probe.provider.disable();
		assert.strictEqual(images(), 0);
	},
};

(async () => {
	for (const [name, test] of Object.entries(tests)) {
		try {
			await test();
			console.log(`ok - ${name}`);
		} catch (error) {
			process.exitCode = 1;
			console.log(`not ok - ${name}`);
			console.log(error);
		}
	}
})();
