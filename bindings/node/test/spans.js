// Spans that overlap in one thread, once somebody traces them: the traced half of a test. It says its pid first.
"use strict";
const { setTimeout: sleep } = require("node:timers/promises");
const assert = require("node:assert");
const { USDTProvider, USDTSpan } = require("..");

const provider = new USDTProvider("nodespans", { strict: true });
const work = provider.addSpan("work", "char *", { type: "int", name: "number" });
const inside = provider.addProbe("inside", "int", { type: "uint64", name: "span_id" });
const done = provider.addProbe("done");
provider.enable();

// The later one starts, the earlier it ends.
async function task(number) {
	await sleep(10 * (8 - number));
	inside.fire(() => [number, USDTSpan.currentId]);
	return number;
}

async function main() {
	assert.strictEqual(work.run(() => assert.fail(), (id) => id), 0n);
	console.log(`process ${process.pid}`);
	for (let i = 0; i < 1000 && !done.isEnabled; i++)
		await sleep(20);
	await sleep(100);
	const numbers = [...Array(8).keys()];
	assert.deepStrictEqual(await Promise.all(numbers.map((n) => work.run(() => ["task", n], () => task(n)))), numbers);
	assert.strictEqual(work.run(() => ["plain", 8], () => 42), 42);
	assert.throws(() => work.run(() => ["throws", 9], () => { throw new RangeError("x"); }), RangeError);
	await assert.rejects(work.run(() => ["rejects", 10], async () => { throw new TypeError("x"); }), TypeError);
	const unhandled = new Promise((resolve) => process.once("unhandledRejection", resolve));
	work.run(() => ["unhandled", 11], async () => { throw new Error("nobody"); });
	assert.strictEqual((await unhandled).message, "nobody");
	assert.strictEqual(USDTSpan.currentId, 0n);
	done.fire(() => []);
}

main();
