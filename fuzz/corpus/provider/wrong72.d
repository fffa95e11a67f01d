typedef unsigned long oid
provider p { probe a(oid); };
