#pragma D attributes Stable/Fast/Common provider p provider
provider p { probe a(int); };
