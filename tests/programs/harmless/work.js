// A program of the matrix: rounds of work, with probes of the Node.js package.
const { USDTProvider } = require(process.argv[2]);
const provider = new USDTProvider("nodework");
const step = provider.addProbe("step", "int", "char *");
const round = provider.addProbe("round", "int");
provider.enable();
const work = (n) => (n < 50 ? n * n : work(n - 50) + 1);
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
	let total = 0;
	for (let r = 0; r < Number(line); r++) {
		for (let i = 0; i < 200; i++) {
			total += work(i);
			step.fire(() => [i, "the step " + i]);
		}
		round.fire(() => [r]);
	}
	console.log(total);
});
