// As an ES module.
import { USDTProvider, USDTProbe } from "../index.js";

const probe = new USDTProvider("module").addProbe("probe", "int");
console.log(probe instanceof USDTProbe, probe.isEnabled);
