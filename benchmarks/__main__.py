"""``python -m benchmarks``: run the benchmark suites and print their tables."""

from __future__ import annotations

import argparse
import importlib
import sys

SUITES = {
    "algebraic": "the inverse modulo primes and its certificate against lanes and recompute, on real packages",
    "deterministic": "sections 5 and 6 and what replaces 6, against each other, BLAS and recomputes; memory",
    "durable": "batches at a location against memory and the bare commits, opening against building, on real packages",
    "foundation": "block matrices against Spark's overhead, BLAS and MLlib",
    "growth": "lanes: exponents in vertices, words and stripes; where the time of a batch goes, here and on Spark",
    "lanes": "the closure in lanes against sorted rows: packages, grids, layers, trees, graphs of the literature",
    "literature": "closures that papers measure, beside the seconds that others published (dyntc bench literature)",
    "path_counting": "acyclic graphs by numbers of paths, against joins in Spark and single-machine recomputes",
    "polynomial": "updates of a polynomial against recomputing it with BLAS",
    "scale": "recompute and lanes in process and on Spark, against joins, recursive queries, igraph and Pathway",
    "scale_out": "closures of up to 10^10 pairs on a standalone cluster: seconds, jobs, memory of every process",
    "packages": "batches and single changes against a rebuild, on real packages",
    "single_changes": "one edge at a time through DynamicClosure beside the engine alone, on packages and a large star",
    "suite": "workloads by systems, every answer checked: our engines and peers, tables and pictures (dyntc bench)",
}
#: These take hours unless they are quick: they run when they are named.
NAMED_ONLY = {"literature", "scale_out", "suite"}
#: These have options of their own, which follow their name.
WITH_OPTIONS = {"growth", "literature"}


def main() -> int:
    """Run the suites that were asked for; 1 if a bound was missed."""
    if len(sys.argv) > 1 and sys.argv[1] in WITH_OPTIONS:
        code: int = importlib.import_module(f"benchmarks.{sys.argv[1]}").main(sys.argv[2:])
        return code
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    about = "; ".join(f"{name}: {what}" for name, what in SUITES.items())
    parser.add_argument("suites", nargs="*", help=f"which suites to run ({about})")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, a minute or two in all")
    chosen = parser.parse_args()
    names = chosen.suites or [name for name in SUITES if name not in NAMED_ONLY]
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        parser.error(f"no suite {unknown[0]!r}; there are {', '.join(SUITES)}")
    kept = [importlib.import_module(f"benchmarks.{name}").run(quick=chosen.quick) for name in names]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
