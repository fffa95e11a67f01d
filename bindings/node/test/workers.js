// Workers with probes of their own: `node workers.js [COUNT [EVENTS]]`. Every worker makes a provider "nodeworkers"
// with a probe "event(worker, i)", waits until it is traced, and fires EVENTS times. Without a tracer, with "idle" as
// the first word, workers come and go: half of them are terminated in the middle of their work.
"use strict";
const fs = require("node:fs");
const { Worker, isMainThread, parentPort, workerData } = require("node:worker_threads");
const { USDTProvider } = require("..");

function makeProbe() {
	const provider = new USDTProvider("nodeworkers");
	const probe = provider.addProbe("event", "int", "uint64", "char *");
	provider.enable();
	return probe;
}

function fireWhenTraced({ number, events }) {
	const probe = makeProbe();
	parentPort.postMessage("ready");
	const timer = setInterval(() => {
		if (!probe.isEnabled)
			return;
		clearInterval(timer);
		for (let i = 0; i < events; i++)
			probe.fire(() => [number, i, `worker ${number}`]);
		parentPort.close();
	}, 5);
}

function work() {
	const probe = makeProbe();
	parentPort.postMessage("ready");
	for (let i = 0; workerData.forever || i < 1000; i++)
		probe.fire(() => [0, i, ""]);
}

const images = () => (fs.readFileSync("/proc/self/maps", "utf8").match(/r-xp.*nopal:nodeworkers/g) ?? []).length;

const ended = (worker) => new Promise((resolve) => worker.once("exit", resolve));
const ready = (worker) => new Promise((resolve) => worker.once("message", resolve));
const start = (data) => new Worker(__filename, { workerData: data });

async function comeAndGo(rounds) {
	for (let round = 0; round < rounds; round++) {
		const workers = [0, 1, 2, 3].map((i) => start({ idle: true, forever: i % 2 === 1 }));
		const ends = workers.map(ended);
		await Promise.all(workers.map(ready));
		workers[1].terminate();
		workers[3].terminate();
		await Promise.all(ends);
	}
	console.log(`${images()} images`);
}

async function traced(count, events) {
	const workers = Array.from({ length: count }, (_, number) => start({ number, events }));
	const ends = workers.map(ended);
	await Promise.all(workers.map(ready));
	console.log(`${images()} images`);
	console.log(`pid ${process.pid}`);
	await Promise.all(ends);
	console.log(`${images()} images`);
}

if (!isMainThread)
	workerData.idle ? work() : fireWhenTraced(workerData);
else if (process.argv[2] === "idle")
	comeAndGo(Number(process.argv[3] ?? 5));
else
	traced(Number(process.argv[2] ?? 4), Number(process.argv[3] ?? 100));
