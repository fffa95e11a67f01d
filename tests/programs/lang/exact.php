<?php
# Random chains of calls; each is written down as PHP itself sees it, before gethostname(). exact.php FILE ROUNDS
usleep((int)(1e6 * (float)getenv('WAIT'))); $out = fopen($argv[1], 'w');
function leaf() {
    global $out;
    $b = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);
    $t = [];
    for ($k = 1; $k <= count($b); $k++) {
        $f = $b[$k] ?? null;
        $name = $f ? (($f['class'] ?? '') ? $f['class'] . '::' : '') . $f['function'] : '{main}';
        $t[] = $name . ':' . ($b[$k - 1]['line'] ?? '');
    }
    fwrite($out, implode(';', $t) . "\n");
    gethostname();
}
function a($n) {
    $r = mt_rand() / mt_getrandmax();
    if ($n <= 0) { leaf(); return 1; }
    if ($r < .2) return a($n - 1);
    if ($r < .4) { return b($n
        - 1); }
    if ($r < .6) { foreach (g($n - 1) as $x) {} return 1; }
    if ($r < .7) {
        $f = function ($m) {
            return a($m);
        };
        return $f($n - 1);
    }
    if ($r < .8) return array_map(fn($m) => a($m - 2), [$n]);
    if ($r < .9) { return (new K)->m($n - 1); }
    return K::s($n - 1);
}
function b($n) {
    try {
        return a($n - 1);
    } finally { $z = 1; }
}
function g($n) { yield a($n); yield 1; }
class K {
    function m($n) {
        return a($n);
    }
    static function s($n) { return a($n); }
}
for ($i = 0; $i < $argv[2]; $i++)
    a(mt_rand(0, 11));
