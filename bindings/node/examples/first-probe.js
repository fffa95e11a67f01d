// A probe that counts down only while it is traced, and ends at 0. In another terminal:
//
//	sudo nopal -e 'usdt::nodeProvider:firstProbe { printf("%d %s\n", arg0, str(arg1)) }' -p PID
"use strict";
const { USDTProvider } = require("..");

const provider = new USDTProvider("nodeProvider");
const firstProbe = provider.addProbe("firstProbe", "int", "char *");
const pause = Number(process.env.PAUSE ?? 750); // ms between tries

provider.enable();
console.log(`process ${process.pid}`);

let countdown = 10;
const timer = setInterval(() => {
	firstProbe.fire(() => {
		console.log("Probe fired!");
		countdown -= 1;
		return [countdown, "My little string"];
	});
	if (countdown <= 0) {
		provider.disable();
		console.log("Disabled.");
		clearInterval(timer);
	}
}, pause);
