"""``python -m benchmarks``: run the benchmark suites and print their tables."""

from __future__ import annotations

import argparse
import importlib
import sys

SUITES = {
    "algebraic": "the inverse modulo primes and its certificate against refresh and recompute, on real packages",
    "deterministic": "sections 5 and 6 and what replaces 6, against each other, BLAS and recomputes; memory",
    "foundation": "block matrices against Spark's overhead, BLAS and MLlib",
    "path_counting": "acyclic graphs by numbers of paths, against joins in Spark and single-machine recomputes",
    "polynomial": "updates of a polynomial against recomputing it with BLAS",
    "scale": "recompute and refresh in process and on Spark, against joins, recursive queries, igraph and Pathway",
    "refresh": "batches and single changes against a rebuild, on real packages",
}


def main() -> int:
    """Run the suites that were asked for; 1 if a bound was missed."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    about = "; ".join(f"{name}: {what}" for name, what in SUITES.items())
    parser.add_argument("suites", nargs="*", default=list(SUITES), help=f"which suites to run ({about})")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, a minute or two in all")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.suites if name not in SUITES]
    if unknown:
        parser.error(f"no suite {unknown[0]!r}; there are {', '.join(SUITES)}")
    kept = [importlib.import_module(f"benchmarks.{name}").run(quick=chosen.quick) for name in chosen.suites]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
