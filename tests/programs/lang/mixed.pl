# The compiler; a sub and a block of sort; subs that C calls, with exceptions that are caught; a tied variable; a pattern.
use List::Util 'first';
BEGIN { select undef, undef, undef, 0.3; getppid() }
sub leaf { getppid() }
sub order { leaf(); $a <=> $b }
sub work { my $n = shift; $n ? work($n - 1) : first { eval { leaf() }; 1 } 1 }
package T { sub TIESCALAR { bless [] } sub FETCH { my @x = sort { main::leaf(); $a <=> $b } 2, 1 } }
tie my $t, 'T';
my $x = $t;
my @x = sort order 2, 1;
eval { work(1) };
"a" =~ /a(?{ leaf() })/;
