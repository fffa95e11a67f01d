select undef, undef, undef, $ENV{WAIT} // 0; sub leaf { my $x = getppid(); }
sub rec { my $n = shift; 
  if ($n) { return rec($n-1); }
  leaf(); }
rec(2); rec(200);
my @l = sort { leaf(); $a <=> $b } (2,1);
if (!fork) { leaf(); exit; } wait;
