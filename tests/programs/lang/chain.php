<?php
class Worker {
    function run($n) {
        if ($n)
            return $this->run($n - 1);
        $f = function () {
            echo "ready\n";
            fgets(STDIN);
        };
        $f();
    }
}
function gen() {
    yield 1;
    (new Worker)->run((int)$GLOBALS["argv"][1]);
    yield 2;
}
function outer() {
    foreach (gen() as $x) {
    }
}
array_map(function ($x) { outer(); }, [1]);
