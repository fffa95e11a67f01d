<?php
usleep((int)(1e6 * (float)getenv('WAIT'))); class A { function leaf() { gethostname(); } 
 static function rec($n) { if ($n) return self::rec($n-1); (new A)->leaf(); } }
function gen() { yield A::rec(2); }
foreach (gen() as $x) {}
A::rec(200);
