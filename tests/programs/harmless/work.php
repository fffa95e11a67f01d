<?php
function work($n) { return $n < 50 ? $n * $n : work($n - 50) + 1; }
class Box { function take($n) { if ($n % 10 == 0) throw new Exception("x"); return $n; } }
$box = new Box;
while (($line = fgets(STDIN)) !== false) {
    $total = 0;
    for ($r = 0; $r < (int)$line; $r++)
        for ($i = 0; $i < 200; $i++) {
            $total += work($i);
            try { $total += $box->take($i); } catch (Exception $e) { $total += 1; }
        }
    echo $total, "\n";
    flush();
}
