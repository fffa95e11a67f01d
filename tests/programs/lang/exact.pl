# Random chains of calls; each is written down as Perl itself sees it, before getppid(). exact.pl FILE ROUNDS
use strict;
select undef, undef, undef, $ENV{WAIT} // 0; open(my $out, '>', $ARGV[0]);
sub leaf {
    my (@subs, @lines, @t);
    for (my $i = 0; my @c = caller($i); $i++) {
        next if $c[3] eq '(eval)';
        push @subs, $c[3];
        push @lines, $c[2];
    }
    push @subs, "main";
    push @t, "$subs[$_]:$lines[$_ - 1]" for 1 .. $#subs;
    print $out join(";", @t), "\n";
    my $x = getppid();
}
sub a {
    my $n = shift;
    my $r = rand();
    if ($n <= 0) { leaf(); return 1; }
    return a($n - 1) if $r < .2;
    if ($r < .4) { return b($n - 1); }
    if ($r < .6) { my @l = map { a($n - 2) } (1); return 1; }
    if ($r < .7) {
        my $f = sub {
            return a($n - 1);
        };
        return $f->();
    }
    if ($r < .8) { my @l = sort { main::a($n - 2); 0 } (2, 1); return 1; }
    return K->m($n - 1);
}
sub b {
    my $n = shift;
    my $r = eval {
        a($n - 1); };
    return 1;
}
package K;
sub m {
    my ($s, $n) = @_;
    return main::a($n);
}
package main;
a(int(rand(12))) for 1 .. $ARGV[1];
