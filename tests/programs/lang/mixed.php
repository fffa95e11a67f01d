<?php
usleep((int)(1e6 * (float)getenv('WAIT'))); function leaf() { gethostname(); }
function cb($x) { leaf(); return $x; }
function work($n) { return $n ? work($n - 1)
	: array_map('cb', [1]); }
function gen() { yield work(2); }
foreach (gen() as $x) {}
array_map('strlen', ['']);
