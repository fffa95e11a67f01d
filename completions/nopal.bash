# bash completion of nopal. The command itself knows what may follow: see cmd/complete.c.
_nopal() {
	local line=${COMP_LINE:0:COMP_POINT} current begun words
	read -ra words <<<"$line"
	[[ $line != *[[:space:]] ]] || words+=("")
	current=${words[-1]}
	mapfile -t COMPREPLY < <("${words[0]}" complete -- "${words[@]:1}" 2>/dev/null | cut -f1)

	# For bash a word begins anew after each of these bytes, and is all that is replaced.
	begun=$current
	while [[ -n $begun && $COMP_WORDBREAKS != *"${begun: -1}"* ]]; do
		begun=${begun%?}
	done
	COMPREPLY=("${COMPREPLY[@]#"$begun"}")
	[[ ${COMPREPLY[0]-} != *[:/=] ]] || compopt -o nospace
}
complete -o default -F _nopal nopal
