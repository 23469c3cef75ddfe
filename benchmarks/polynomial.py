"""Section 4.1 in this process: the amortised cost of an update against recomputing the product with BLAS.

Three random scripts over ``A*B`` of n x n, one entry in 16 set at Init:

- insertion-heavy: 9 SetRow or SetCol for each Reset;
- mixed: SetRow, SetCol, LazySet and Reset in equal parts;
- deletion-only: Resets.

A Set adds n / 16 entries to a row or column, a LazySet or Reset changes n / 16
entries anywhere. The yardstick multiplies two float32 matrices and compares the
result with 0, which is what a recomputation would do after each update. Both
run on one core, and its seconds are counted, not those on the wall: what else
the machine does changes little. An update should grow like n², a recomputation
like n³: the slopes are fitted to log(seconds) over log(n).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from dyntc_spark.matrices.polynomial.boolean_polynomial import BooleanPolynomial

SIZES = (512, 1024, 2048, 4096)
SCRIPTS = {
    "insertion-heavy": {"set_row": 0.45, "set_col": 0.45, "reset": 0.1},
    "mixed": {"set_row": 0.25, "set_col": 0.25, "lazy_set": 0.25, "reset": 0.25},
    "deletion-only": {"reset": 1.0},
}
SHARE = 16  # one entry in so many


def run(
    sizes: Sequence[int] | None = None,
    seed: int = 0,
    updates: int = 60,
    expression: str = "A*B",
    *,
    quick: bool = False,
) -> dict[str, Any]:
    """Measure, print the table, and give seconds by script and size, slopes and ratios to the recomputation."""
    sizes = sizes or (SIZES[:3] if quick else SIZES)
    updates = updates // 3 if quick else updates
    seconds: dict[str, dict[int, float]] = {name: {} for name in (*SCRIPTS, "recompute")}
    with threadpool_limits(1):
        script("mixed", 256, seed, 8, expression)  # loads the kernels
        for n in sizes:
            seconds["recompute"][n] = recompute(n, seed)
            for name in SCRIPTS:
                seconds[name][n] = script(name, n, seed, updates, expression)
    slopes = {name: slope(found) for name, found in seconds.items()}
    factors = expression.count("*")
    ratios = {name: {n: factors * seconds["recompute"][n] / seconds[name][n] for n in sizes} for name in SCRIPTS}
    print(f"\n{expression}, milliseconds of one core for an update (amortised over {updates})")
    print(f"  {'n':<16}" + "".join(f"{n:>12}" for n in sizes) + f"{'slope':>9}")
    for name, found in seconds.items():
        print(f"  {name:<16}" + "".join(f"{1e3 * found[n]:>12.2f}" for n in sizes) + f"{slopes[name]:>9.2f}")
    print("  times faster than recomputing")
    for name, found in ratios.items():
        print(f"  {name:<16}" + "".join(f"{found[n]:>12.1f}" for n in sizes))
    return {"seconds": seconds, "slopes": slopes, "ratios": ratios}


def script(name: str, n: int, seed: int, updates: int, expression: str) -> float:
    """Seconds of an update, on average over a script; a few updates before it warm up."""
    rng = np.random.default_rng((seed, n))
    polynomial = BooleanPolynomial(expression, n)
    names = polynomial.layout.variables
    values = {variable: rng.random((n, n)) < 1 / SHARE for variable in names}
    polynomial.init(values)
    kinds = list(SCRIPTS[name])
    drawn = [kinds[i] for i in rng.choice(len(kinds), updates, p=list(SCRIPTS[name].values()))]
    operations = [draw(rng, polynomial, values, kind) for kind in [*kinds, *drawn]]
    for operation in operations[: len(kinds)]:
        operation()
    started = time.process_time()
    for operation in operations[len(kinds) :]:
        operation()
    return (time.process_time() - started) / updates


def draw(
    rng: np.random.Generator, polynomial: BooleanPolynomial, values: dict[str, Any], kind: str
) -> Callable[[], object]:
    """One operation, drawn before the clock starts."""
    name = polynomial.layout.variables[rng.integers(len(polynomial.layout.variables))]
    n = len(values[name])
    count = max(1, n // SHARE)
    if kind in {"set_row", "set_col"}:
        index, line = int(rng.integers(n)), rng.choice(n, count, replace=False)
        update = polynomial.set_row if kind == "set_row" else polynomial.set_col
        return lambda: update(name, index, line)
    if kind == "lazy_set":
        places = rng.integers(n, size=count), rng.integers(n, size=count)
        return lambda: polynomial.lazy_set(name, places)
    rows, columns = np.nonzero(values[name])
    chosen = rng.choice(len(rows), min(count, len(rows)), replace=False)
    gone = rows[chosen], columns[chosen]
    values[name][gone] = False
    return lambda: polynomial.reset(name, gone)


def recompute(n: int, seed: int, repeats: int = 3) -> float:
    """Seconds of a product with BLAS, the median of a few."""
    rng = np.random.default_rng(seed)
    a, b = ((rng.random((n, n)) < 1 / SHARE).astype(np.float32) for _ in range(2))
    times = []
    for _ in range(repeats + 1):
        started = time.process_time()
        np.count_nonzero((a @ b) > 0)
        times.append(time.process_time() - started)
    return statistics.median(times[1:])


def slope(seconds: dict[int, float]) -> float:
    """The exponent of n that fits the seconds best."""
    if len(seconds) < 2:
        return float("nan")
    return float(np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--expression", default="A*B")
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    run(chosen.sizes or None, chosen.seed, chosen.updates, chosen.expression, quick=chosen.quick)
