"""Run a notebook in Databricks source format, and write it as Markdown with what it printed and drew.

python docs/site/notebook.py NOTEBOOK FOLDER
"""

from __future__ import annotations

import ast
import contextlib
import io
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt
from pyspark.sql import SparkSession

from dyntc_spark import session

CELL = "\n# COMMAND ----------\n"
MAGIC = "# MAGIC"


def main(notebook: str, folder: str) -> None:
    """Write the Markdown and the pictures of one notebook to a folder."""
    text, pictures = rendered(Path(notebook), session.local())
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures.items():
        (target / name).write_bytes(picture)
    (target / f"{Path(notebook).stem}.md").write_text(text, encoding="utf-8")


def rendered(notebook: Path, spark: SparkSession) -> tuple[str, dict[str, bytes]]:
    """Run every cell in turn; return the Markdown, and the pictures by their names."""
    names: dict[str, Any] = {"spark": spark, "__name__": "__main__"}
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    _, _, text = notebook.read_text(encoding="utf-8").partition("\n")  # the first line says that it is a notebook
    with mpl.rc_context({"backend": "agg", "svg.hashsalt": notebook.stem}):
        plt.switch_backend("agg")
        for cell in text.split(CELL):
            if cell.lstrip().startswith(MAGIC):
                parts.append(prose(cell))
                continue
            parts.append(fenced(cell, "python"))
            shown = run(cell, names, str(notebook))
            parts += shown
            for number in plt.get_fignums():
                name = f"{notebook.stem}-{len(pictures) + 1}.svg"
                pictures[name] = drawn(number)
                parts.append(f"![What this cell draws]({name})\n")
    return "\n".join(parts), pictures


def prose(cell: str) -> str:
    """Return the Markdown of a cell of text."""
    lines = [line.removeprefix(MAGIC).removeprefix(" ") for line in cell.strip().splitlines()]
    return "\n".join(line for line in lines if line != "%md") + "\n"


def run(cell: str, names: dict[str, Any], file: str) -> list[str]:
    """Run a cell of code; return what it printed, and its last value where that can show itself as HTML."""
    body = ast.parse(cell, file).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    value, output = None, io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(ast.Module(body, []), file, "exec"), names)  # noqa: S102
        if last is not None:
            value = eval(compile(ast.Expression(last.value), file, "eval"), names)  # noqa: S307
    html = value._repr_html_() if hasattr(value, "_repr_html_") else None
    return [*([fenced(output.getvalue(), "text")] if output.getvalue() else []), *([f"{html}\n"] if html else [])]


def drawn(number: int) -> bytes:
    """Return an open figure as SVG, and close it."""
    figure = plt.figure(number)
    picture = io.BytesIO()
    figure.savefig(picture, format="svg", metadata={"Date": None})
    plt.close(figure)
    return picture.getvalue()


def fenced(text: str, kind: str) -> str:
    """Return text as a block of Markdown."""
    return f"```{kind}\n{text.strip(chr(10))}\n```\n"


if __name__ == "__main__":
    main(*sys.argv[1:])
