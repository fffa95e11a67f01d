// ns per call of what a program does at a probe: `node loop.js [traced]`. Prints "name ns" lines, medians of ROUNDS.
"use strict";
const { USDTProvider } = require("../../bindings/node");

const provider = new USDTProvider("nodebench");
const idle = provider.addProbe("idle", "int", "char *");
const busy = provider.addProbe("busy", "int", "char *");
const ints = provider.addProbe("ints", ...Array(6).fill("int"));
provider.enable();

const rounds = Number(process.env.ROUNDS ?? 9);
let sum = 0; // the result of the loops, so that they are not optimised away

const loops = {
	"empty loop": (n) => { let s = 0; for (let i = 0; i < n; i++) s ^= i; sum += s; },
	"if (probe.isEnabled)": (n) => { let s = 0; for (let i = 0; i < n; i++) { s ^= i; if (idle.isEnabled) s = 0; } sum += s; },
	"probe.fire(() => [int, string])": (n) => { let s = 0; for (let i = 0; i < n; i++) { s ^= i; idle.fire(() => [i, "text"]); } sum += s; },
};
const tracedLoops = {
	"probe.fire(() => [int, string])": (n) => { for (let i = 0; i < n; i++) busy.fire(() => [i, "text"]); },
	"probe.fire(() => [six ints])": (n) => { for (let i = 0; i < n; i++) ints.fire(() => [i, 2, 3, 4, 5, 6]); },
};

function measure(run, n) {
	const times = [];
	for (let round = 0; round < rounds + 2; round++) {
		const start = process.hrtime.bigint();
		run(n);
		if (round >= 2)
			times.push(Number(process.hrtime.bigint() - start) / n);
	}
	return times.sort((a, b) => a - b)[times.length >> 1];
}

function report(all, n) {
	for (const [name, run] of Object.entries(all))
		console.log(`${measure(run, n).toFixed(2)} ${name}`);
}

if (process.argv[2] === "traced") {
	const timer = setInterval(() => {
		if (!busy.isEnabled || !ints.isEnabled)
			return;
		clearInterval(timer);
		report(tracedLoops, 20000);
	}, 5);
} else {
	report(loops, 20e6);
}
