// Fires values of every type once somebody traces: `node fire.js WHAT`, one of the names below, in a provider
// "nodetest" with a probe of that name. It says its pid first, and ends after its events.
"use strict";
const { USDTProvider } = require("..");

const p64 = (n) => 2n ** 64n - 1n - BigInt(n);
const kib64 = "é".repeat(32768);

// The types, then the values of each event.
const events = {
	signed: [
		["int8", "int16_t", "int", "long long"],
		[-128, -32768, -2147483648, -(2n ** 63n)],
		[127, 32767, 2147483647, 2n ** 63n - 1n],
		[-1n, -1n, -1n, -1],
		[-1.9, 1.9, true, Number.MIN_SAFE_INTEGER],
		[undefined, null, undefined],
	],
	unsigned: [
		["uint8", "uint16_t", "unsigned int", "uint64"],
		[0, 0, 0, 0n],
		[255, 65535, 4294967295, p64(0)],
		[255n, 65535n, 4294967295n, Number.MAX_SAFE_INTEGER],
	],
	others: [
		["bool", "bool", "void *", "pointer"],
		[true, false, p64(1), null],
		[1, "", 4096, 2 ** 52],
	],
	floats: [
		["float", "double"],
		[1.5, -0.1],
		[NaN, NaN],
		[-Infinity, Number.MIN_VALUE],
		[0.1, -0],
		[2 ** 128 - 2 ** 104, Number.MAX_VALUE],
		[2 ** -149, 2 ** -1022],
		[Infinity, Infinity],
	],
	texts: [
		["char *", "string"],
		["", "plain"],
		["Zürich 東京 🚀", "lone \ud800."],
		[Buffer.from("bytes"), new Uint8Array([104, 105])],
		[null, undefined],
	],
	counted: [
		["buffer", "int"],
		["Zürich", 1],
		[Buffer.from("a\0b"), 2],
		[new Uint16Array([0x6f6e, 0x6170]), 3],
		["", 4],
		[Buffer.alloc(0), 5],
		[null, 6],
	],
	long: [
		["char *", "buffer"],
		[kib64, kib64],
		["x".repeat(2 ** 21), Buffer.alloc(2 ** 21)],
	],
	twelve: [
		Array(12).fill("int"),
		[1, 2, 3, 4, 5, 6, 7, 8, 9, -10, -11, -12, 13],
	],
	none: [
		[],
		[],
		[1],
	],
	wrong: [
		["int8", "char *", "buffer", "double"],
		[128], [-129], [NaN], [Infinity], [128n], ["1"], [{}], [Symbol("s")],
		[0, 1], [0, {}], [0, [65]],
		[0, "", 1], [0, "", {}],
		[0, "", "", 1n], [0, "", "", "1"],
		7, undefined, Promise.resolve([1]), Object.defineProperty([], 0, { get() { throw new Error("of a getter"); } }),
		[1, "right", "right", 1],
	],
};

const what = process.argv[2];
const [types, ...values] = events[what];
const provider = new USDTProvider("nodetest");
const probe = provider.addProbe(what, ...types.map((type, i) => ({ type, name: `a${i}` })));
const strict = new USDTProvider("nodestrict", { strict: true }).addProbe(what, ...types);
process.on("warning", (warning) => console.log(`${warning.name} ${warning.code}: ${warning.message}`));
provider.enable();
strict.provider.enable();
console.log(`pid ${process.pid}`);

// Strict ones throw what the others warn of.
function fireStrict(value) {
	try {
		strict.fire(() => value);
	} catch (error) {
		console.log(`${error.name} ${error.code}: ${error.message}`);
	}
}

function fireAll() {
	for (const value of values)
		console.log(probe.fire(() => value));
	if (what === "wrong") {
		console.log(probe.fire(() => { throw new Error("of the function"); }));
		values.forEach(fireStrict);
	}
}

// bpftrace 0.17 places the probe some time before it listens.
const timer = setInterval(() => {
	if (!probe.isEnabled)
		return;
	clearInterval(timer);
	setTimeout(fireAll, Number(process.env.DELAY ?? 0));
}, 5);
setTimeout(() => process.exit(1), 20000).unref();
