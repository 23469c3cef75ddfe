"""Arguments of ``dyntc``, and its exit codes: 0 done or yes, 1 no, 2 bad input or another error."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from typing import TypeAlias

from dyntc_spark import __version__
from dyntc_spark.cli.words import in_words
from dyntc_spark.errors import DyntcError

DESCRIPTION = """\
Which vertices of a directed graph reach which others, kept up to date while edges come and go.

  dyntc demo                                   what it can do, on real data
  dyntc build edges.csv deps                   close a graph and save it to the folder deps
  dyntc query deps shop openssl                true or false
  dyntc explain deps shop openssl              a shortest path
  dyntc explore deps -o deps.html              a page to look at
  dyntc apply changes.csv deps --out new.csv   apply a batch; write the pairs that it changed

Edges have the columns src and dst, changes also op ('insert' or 'delete'); --src, --dst and --op name them otherwise.
Files are CSV, Parquet or Delta by their names (.csv, .tsv, .parquet, a Delta folder), or by --format; - is CSV on
standard input or output."""

EXIT_CODES = """\
exit codes: 0 done, or yes; 1 no: not reachable; 2 bad input or usage, and nothing has changed."""


Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001  (it has no other name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; return the exit code."""
    options = parser().parse_args(arguments)
    try:
        return run(options, alone=arguments is None)
    except DyntcError as error:
        print(f"dyntc {options.command}: {in_words(error, options)}", file=sys.stderr)
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception:  # noqa: BLE001  (1 means "no", so not even a bug may end with it)
        traceback.print_exc()
    return 2


def run(options: argparse.Namespace, *, alone: bool) -> int:
    """Run a command, maybe in a process of its own; what it needs is imported now, so that --help is quick."""
    if options.command == "demo":
        from dyntc_spark import demo  # noqa: PLC0415

        return demo.main(options.picture, spark=not options.no_spark)
    if options.command == "warm-up":
        from dyntc_spark.cli.warming import warm_up  # noqa: PLC0415

        return warm_up(options)
    if alone:
        from dyntc_spark.cli.imports import leave_out  # noqa: PLC0415

        leave_out()
    from dyntc_spark.cli import commands  # noqa: PLC0415

    code: int = getattr(commands, options.command)(options)
    return code


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    made = argparse.ArgumentParser(
        "dyntc", description=DESCRIPTION, epilog=EXIT_CODES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--version", action="version", version=f"dyntc {__version__}")
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _demo(commands)
    _warm_up(commands)
    _build(commands)
    _apply(commands)
    _query(commands)
    _explain(commands)
    _explore(commands)
    _stats(commands)
    _history(commands)
    _repair(commands)
    _bench(commands)
    return made


def _command(commands: Commands, name: str, summary: str, example: str) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"examples:\n{example}\n\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _demo(commands: Commands) -> None:
    made = _command(commands, "demo", "show what it can do, on the packages of a Debian release", "  dyntc demo")
    made.add_argument(
        "--picture", metavar="FILE", default="dyntc-demo.svg", help="where it goes (default: %(default)s)"
    )
    made.add_argument("--no-spark", action="store_true", help="leave out the part that starts Spark")


def _warm_up(commands: Commands) -> None:
    example = "  dyntc warm-up\n  dyntc warm-up --spark     in the image of an executor, say"
    made = _command(commands, "warm-up", "compile ahead, so that no later process waits for it", example)
    made.add_argument("--spark", action="store_true", help="what runs on executors, too: starts Spark here")


def _build(commands: Commands) -> None:
    made = _command(
        commands,
        "build",
        "close a graph and save it to a folder",
        "  dyntc build edges.csv deps\n  dyntc build imports.parquet deps --src module --dst imports",
    )
    made.add_argument("edges", metavar="EDGES", help="a table of edges; - is CSV on standard input")
    _store(made)
    _columns(made)
    _format(made)
    made.add_argument(
        "--ids",
        choices=["string", "integer"],
        default="string",
        help="what vertices in CSV are (default: %(default)s, so that 007 stays 007)",
    )
    made.add_argument("--engine", default="auto", help="an engine by its name (default: one that suits)")
    made.add_argument("--replace", action="store_true", help="make these edges the next version of the closure there")
    made.add_argument(
        "--multigraph", action="store_true", help="count an edge that is there twice, until it goes twice"
    )


def _apply(commands: Commands) -> None:
    made = _command(
        commands,
        "apply",
        "apply a batch of insertions and deletions, all or nothing",
        "  dyntc apply changes.csv deps\n  dyntc apply - deps --out changed-pairs.parquet < changes.csv",
    )
    made.add_argument("changes", metavar="CHANGES", help="a table of changes; - is CSV on standard input")
    _store(made)
    _columns(made, op=True)
    _format(made)
    made.add_argument("--strict", action="store_true", help="refuse changes that change nothing")
    _out(made, "where the pairs that became reachable or unreachable go")


def _query(commands: Commands) -> None:
    made = _command(
        commands,
        "query",
        "answer which vertices reach which",
        "  dyntc query deps shop openssl && echo affected\n"
        "  dyntc query deps --pairs pairs.csv --out answers.parquet\n"
        "  dyntc query deps --ancestors openssl       everything that needs openssl\n"
        "  dyntc query deps --out closure.parquet     all pairs",
    )
    _store(made)
    made.add_argument("vertices", nargs="*", metavar="VERTEX", help="two vertices: does the first reach the second?")
    asked = made.add_mutually_exclusive_group()
    asked.add_argument("--pairs", metavar="FILE", help="a table of pairs: adds the column reachable")
    asked.add_argument("--descendants", metavar="VERTEX", help="all that this vertex reaches")
    asked.add_argument("--ancestors", metavar="VERTEX", help="all that reach this vertex")
    made.add_argument(
        "--unknown", choices=["raise", "false"], default="raise", help="a vertex that is not there: an error, or no"
    )
    _columns(made)
    _format(made)
    _out(made, "where the answer goes (default: standard output)")


def _explain(commands: Commands) -> None:
    made = _command(
        commands,
        "explain",
        "show a shortest path from one vertex to another",
        "  dyntc explain deps shop openssl\n  dyntc explain deps --pairs pairs.csv --out paths.csv",
    )
    _store(made)
    made.add_argument("vertices", nargs="*", metavar="VERTEX", help="two vertices: where it begins, and where it ends")
    made.add_argument("--pairs", metavar="FILE", help="a table of pairs: one path for each, a row a hop")
    _columns(made)
    _format(made)
    _out(made, "where the path goes as a table")


def _explore(commands: Commands) -> None:
    made = _command(
        commands,
        "explore",
        "write a page to look at: one HTML file, for a browser",
        "  dyntc explore deps -o deps.html\n  dyntc explore deps --around openssl --depth 2 -o openssl.html",
    )
    _store(made)
    made.add_argument(
        "-o", "--out", metavar="FILE", default="closure.html", help="where it goes (default: %(default)s)"
    )
    made.add_argument("--around", metavar="VERTEX", help="the vertex to begin with (default: the most reached one)")
    made.add_argument("--depth", type=int, metavar="N", help="how many edges away from it the page ends")
    made.add_argument("--most", type=int, metavar="N", help="how many vertices are on the page (default: 2,000)")


def _stats(commands: Commands) -> None:
    made = _command(
        commands, "stats", "show sizes, and how much has changed", "  dyntc stats deps\n  dyntc stats deps --json"
    )
    _store(made)
    made.add_argument("--json", action="store_true", help="as JSON")


def _history(commands: Commands) -> None:
    made = _command(commands, "history", "list the versions: when, by whom, what they changed", "  dyntc history deps")
    _store(made)
    _out(made, "where the list goes (default: standard output)")


def _repair(commands: Commands) -> None:
    made = _command(
        commands,
        "repair",
        "put damaged files of a closure aside, and go on from what is left",
        "  dyntc repair deps\n  dyntc repair deps --version 7     where that is what is left, as the error says",
    )
    _store(made)
    made.add_argument("--version", type=int, metavar="N", help="the version to go on from, where later ones are lost")


def _bench(commands: Commands) -> None:
    made = _command(
        commands,
        "bench",
        "compare all engines and other systems, or measure one engine on your graph",
        "  dyntc bench                       the suite: minutes; --full: for the tables, an hour\n"
        "  dyntc bench literature --graphs FOLDER    closures that papers measure, beside published seconds\n"
        "  dyntc bench --engine lanes        one engine, on the packages of a Debian release\n"
        "  dyntc bench --engine recompute --edges edges.parquet --changes changes.parquet",
    )
    made.add_argument(
        "what", nargs="?", choices=["suite", "literature"], default="suite", help="what to run (default: %(default)s)"
    )
    made.add_argument("--full", action="store_true", help="the suite with all its workloads and sizes")
    made.add_argument("--graphs", metavar="FOLDER", help="literature: has usroads.parquet, fe_ocean.parquet, and so on")
    made.add_argument("--only", nargs="+", metavar="GRAPH", help="literature: these graphs")
    made.add_argument("--spark", action="store_true", help="literature: on Spark, too")
    made.add_argument("--parquet", action="store_true", help="literature: write all pairs to Parquet, too")
    made.add_argument("--quick", action="store_true", help="literature: small graphs, a minute")
    made.add_argument("--edges", metavar="FILE", help="measure one engine on this table of edges")
    made.add_argument("--changes", metavar="FILE", help="a table of changes to them")
    made.add_argument("--engine", help="measure this engine (with --edges by default: auto)")
    made.add_argument("--repeat", type=int, default=3, help="builds of which the fastest counts (default: %(default)s)")
    made.add_argument("--json", action="store_true", help="as JSON")
    _columns(made, op=True)
    _format(made)


def _store(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "store", metavar="STORE", help="the folder of the closure; or a location with a scheme: s3://bucket/deps"
    )


def _columns(made: argparse.ArgumentParser, op: bool = False) -> None:
    for name in ("op", "src", "dst") if op else ("src", "dst"):
        made.add_argument(f"--{name}", metavar="NAME", default=name, help=f"what the column {name} is called")


def _format(made: argparse.ArgumentParser) -> None:
    made.add_argument("--format", choices=["csv", "parquet", "delta"], help="the format of what is read")
    made.add_argument("--no-header", action="store_true", help="CSV without names of columns: they are in their order")
    made.add_argument("--delimiter", metavar="CHAR", help="between columns of CSV (default: a comma; in .tsv a tab)")


def _out(made: argparse.ArgumentParser, what: str) -> None:
    made.add_argument("--out", metavar="FILE", help=what)
    made.add_argument("--out-format", choices=["csv", "parquet", "delta"], help="its format")
