"use strict";
// USDT probes of a Node.js program. A probe that is not traced costs one load and a test: its first
// instruction, which every tracer replaces, is read through a typed array.

const native = load();
const { NOP } = native;
const KEY = Symbol("made by addProbe()");

// The numbers are those of enum nopal_type in nopal/runtime.h.
const TYPES = new Map(Object.entries({
	"int8": 1, "int8_t": 1, "signed char": 1, "char": 1,
	"uint8": 2, "uint8_t": 2, "unsigned char": 2,
	"int16": 3, "int16_t": 3, "short": 3,
	"uint16": 4, "uint16_t": 4, "unsigned short": 4,
	"int32": 5, "int32_t": 5, "int": 5,
	"uint32": 6, "uint32_t": 6, "unsigned int": 6, "unsigned": 6,
	"int64": 7, "int64_t": 7, "long": 7, "long long": 7, "ssize_t": 7,
	"uint64": 8, "uint64_t": 8, "unsigned long": 8, "unsigned long long": 8, "size_t": 8,
	"bool": 9, "boolean": 9,
	"pointer": 10, "void *": 10, "uintptr_t": 10,
	"string": 11, "char *": 11,
	"buffer": 12,
	"float": 13,
	"double": 14, "number": 14,
}));

function load() {
	try {
		return require("./usdt.node");
	} catch (error) {
		if (error.code === "MODULE_NOT_FOUND")
			throw new Error(`${__dirname}/usdt.node is not built: run 'npm run build' there`, { cause: error });
		throw error;
	}
}

// "const char*" -> the number of "char *"
function typeNumber(type) {
	const plain = String(type).replace(/\bconst\b/g, " ").replace(/\*/g, " * ").trim().replace(/\s+/g, " ");
	const number = TYPES.get(plain);
	if (number === undefined)
		throw new TypeError(`unknown argument type '${type}'`);
	return number;
}

// `new USDTProvider(process.env.NAME)` is not to make a provider called "undefined".
function checkName(what, name) {
	if (typeof name !== "string")
		throw new TypeError(`the name of a ${what} must be a string, not ${name === null ? "null" : typeof name}`);
}

class USDTProbe {
	#native;
	#instruction;
	#provider;
	#name;
	#strict;
	#warned = false;

	constructor(key, provider, name, handle, strict) {
		if (key !== KEY)
			throw new TypeError("probes are made by provider.addProbe()");
		const bytes = native.instruction(handle);
		this.#native = handle;
		this.#instruction = bytes === undefined ? undefined : new Uint8Array(bytes);
		this.#provider = provider;
		this.#name = name;
		this.#strict = strict;
	}

	get name() {
		return this.#name;
	}

	get provider() {
		return this.#provider;
	}

	get isEnabled() {
		const instruction = this.#instruction;
		return instruction === undefined ? native.isEnabled(this.#native) : instruction[0] !== NOP;
	}

	fire(values) {
		return this.isEnabled ? this.#fire(values) : false;
	}

	#fire(values) {
		try {
			return native.fire(this.#native, values());
		} catch (error) {
			if (this.#strict)
				throw error;
			this.#warn(error);
			return false;
		}
	}

	// Once: what is wrong with one event is wrong with the next thousand.
	#warn(error) {
		if (this.#warned)
			return;
		this.#warned = true;
		process.emitWarning(`an event of probe '${this.#provider.name}:${this.#name}' was not fired: ${error}`, {
			type: "USDTWarning",
			code: "NOPAL_NOT_FIRED",
			detail: error instanceof Error ? error.stack : undefined,
		});
	}
}

// The id of the span around the code that runs now, through awaits and callbacks; made when first traced.
let current;
// Ids of spans are unique in the process: those of a worker begin with its number.
let lastId = BigInt(require("node:worker_threads").threadId) << 32n;

function enter(id, run) {
	if (current === undefined)
		current = new (require("node:async_hooks").AsyncLocalStorage)();
	return current.run(id, run);
}

// Two probes around a function: NAME__entry(values..., uint64 span_id) and
// NAME__return(uint64 nanoseconds, string error, uint64 span_id).
class USDTSpan {
	#entry;
	#leave;
	#count;

	constructor(key, entry, leave, count) {
		if (key !== KEY)
			throw new TypeError("spans are made by provider.addSpan()");
		this.#entry = entry;
		this.#leave = leave;
		this.#count = count;
	}

	static get currentId() {
		return current?.getStore() ?? 0n;
	}

	get entry() {
		return this.#entry;
	}

	get leave() {
		return this.#leave;
	}

	get isEnabled() {
		return this.#entry.isEnabled || this.#leave.isEnabled;
	}

	run(values, body) {
		if (!this.isEnabled)
			return body(0n);
		const id = ++lastId;
		this.#entry.fire(() => this.#withId(values(), id));
		const start = process.hrtime.bigint();
		let result;
		try {
			result = enter(id, () => body(id));
		} catch (error) {
			this.#end(id, start, error);
			throw error;
		}
		// Not other objects with a then(): asking them may start what they stand for.
		if (result instanceof Promise)
			return this.#settled(result, id, start);
		this.#end(id, start);
		return result;
	}

	// Returns the new promise, so that an unhandled rejection is still reported.
	#settled(promise, id, start) {
		return promise.then((value) => {
			this.#end(id, start);
			return value;
		}, (error) => {
			this.#end(id, start, error);
			throw error;
		});
	}

	// The values in their places, then the id.
	#withId(values, id) {
		if (!Array.isArray(values))
			throw new TypeError("the function did not return an array");
		const all = values.slice(0, this.#count);
		while (all.length < this.#count)
			all.push(undefined);
		return [...all, id];
	}

	#end(id, start, ...errors) {
		const nanoseconds = process.hrtime.bigint() - start;
		this.#leave.fire(() => [nanoseconds, errors.length ? errorName(errors[0]) : null, id]);
	}
}

function errorName(error) {
	return error instanceof Error ? String(error.name) : typeof error;
}

class USDTProvider {
	#native;
	#name;
	#strict;

	constructor(name, { strict = false, file = false } = {}) {
		checkName("provider", name);
		this.#name = name;
		this.#native = native.open(this.#name, file ? 1 : 0);
		this.#strict = Boolean(strict);
	}

	get name() {
		return this.#name;
	}

	get isEnabled() {
		return native.isLoaded(this.#native);
	}

	addProbe(probe, ...args) {
		const { name, description = "" } = typeof probe === "object" && probe !== null ? probe : { name: probe };
		checkName("probe", name);
		const types = args.map((arg) => typeNumber(typeof arg === "object" && arg !== null ? arg.type : arg));
		const names = args.map((arg) => String(arg?.name ?? ""));
		const handle = native.add(this.#native, name, String(description), types, names);
		return new USDTProbe(KEY, this, name, handle, this.#strict);
	}

	addSpan(name, ...args) {
		checkName("span", name);
		const id = { type: "uint64", name: "span_id" };
		const entry = this.addProbe(`${name}__entry`, ...args, id);
		const leave = this.addProbe(`${name}__return`, { type: "uint64", name: "nanoseconds" },
			{ type: "string", name: "error" }, id);
		return new USDTSpan(KEY, entry, leave, args.length);
	}

	enable() {
		native.load(this.#native);
	}

	disable() {
		native.unload(this.#native);
	}
}

module.exports = { USDTProvider, USDTProbe, USDTSpan };
