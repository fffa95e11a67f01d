# From a generated header to a program that uses all of it: every probe fires once with values of the
# declared types, and every ENABLED() must follow its own semaphore and no other.
function add_check(line,    i, c, depth, type) {
	sub(/.*nopal_check_[A-Za-z0-9_]*\(/, "", line)
	sub(/\);$/, "", line)
	count = 0
	type = ""
	for (i = 1; i <= length(line); i++) {
		c = substr(line, i, 1)
		depth += (c == "(") - (c == ")")
		if (c == "," && !depth) {
			types[++count] = type
			type = ""
		} else {
			type = type c
		}
	}
	types[++count] = type
}
/^(struct|union) [A-Za-z0-9_]+;$/ { tags = tags $0 "\n" }
/nopal_check_.*\);$/ && /extern/ { add_check($0) }
/_semaphore NOPAL_PROVIDER_SEMAPHORE;$/ { semaphore = $5 }
/^#define [A-Z0-9_]*\(.*\) \\$/ && !/^#define NOPAL_/ {
	macro = $2
	sub(/\(.*/, "", macro)
	params = $0
	sub(/^[^(]*\(/, "", params)
	sub(/\).*/, "", params)
	n = params == "" ? 0 : split(params, unused, ",")
	call = macro "("
	for (i = 1; i <= n; i++)
		call = call (i > 1 ? ", " : "") (count == n ? "(" types[i] ")16" : "0")
	body = body "\t" call ");\n"
	sum = sum " + !!" macro "_ENABLED()"
	tests = tests "\t" semaphore "++;\n\tbad += !" macro "_ENABLED() || listening() != 1;\n\t" semaphore "--;\n"
	count = 0
}
END {
	printf "#include \"%s\"\n\n%s\nstatic int listening(void)\n{\n\treturn 0%s;\n}\n\n", header, tags, sum
	printf "int main(void)\n{\n\tint bad = listening();\n\n%s%s\treturn bad;\n}\n", body, tests
}
