# fish completion of nopal. The command itself knows what may follow: see cmd/complete.c.
function __nopal_complete
	set -l words (commandline -opc) (commandline -ct)
	$words[1] complete -- $words[2..-1] 2>/dev/null
end
complete -c nopal -a '(__nopal_complete)'
