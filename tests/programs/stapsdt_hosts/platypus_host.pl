# libstapsdt by FFI::Platypus, as Perl's wrapper uses it.
use strict;
use warnings;
use FFI::Platypus 1.00;

$| = 1;
my $ffi = FFI::Platypus->new(api => 1, lib => $ARGV[0]);
my %call = (
	init => $ffi->function(providerInit => ['string'] => 'opaque'),
	add => $ffi->function(providerAddProbe => ['opaque', 'string', 'int'], ['int', 'int'] => 'opaque'),
	load => $ffi->function(providerLoad => ['opaque'] => 'int'),
	unload => $ffi->function(providerUnload => ['opaque'] => 'int'),
	destroy => $ffi->function(providerDestroy => ['opaque'] => 'void'),
	enabled => $ffi->function(probeIsEnabled => ['opaque'] => 'int'),
	fire => $ffi->function(probeFire => ['opaque'], ['string', 'int'] => 'void'),
);

# A field of a structure: 'opaque' or 'int' at an offset.
sub field {
	my ($type, $object, $offset) = @_;
	return ${ $ffi->cast(opaque => "$type*", $object + $offset) };
}

sub text {
	return $ffi->cast(opaque => 'string', field('opaque', $_[0], 0));
}

my $provider = $call{init}->call('hosted');
my $probe = $call{add}->call($provider, 'firstProbe', 2, 8, -4);
my $loaded = $call{load}->call($provider);
print join(' ', text($provider), text($probe), field('int', $probe, 48),
	$loaded, field('int', $provider, 16)), "\n";
my $fired = 0;
for (1 .. 2000) {
	if ($call{enabled}->call($probe) == 1) {
		$call{fire}->call($probe, 'a text', -7);
		$fired++;
	} elsif ($fired) {
		last;
	}
	select(undef, undef, undef, 0.01);
}
print $fired ? 'fired' : 'silent', ' ', $call{unload}->call($provider), "\n";
$call{destroy}->call($provider);
