"""What the site has besides the pages in docs/: the API reference, the notebooks, and files that pages link to.

A page links to a file where the source has it, so that the link works there, too. In the site a notebook becomes a
page with its output, ``docs/site/api.py`` the reference that it writes, and any other file outside ``docs`` is copied.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import api
import notebook
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from dyntc_spark import session

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
COPIED = "project"  # the folder of the site for files that are not in docs/
LINK = re.compile(r"(?<=\]\()([^)#\s]+)(?=(?:#[^)]*)?\))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is made, and what pages link to outside of docs/."""
    files.append(File.generated(config, uri(DOCS / "site" / "api.py"), content=api.page()))
    spark = session.local()
    for path in sorted((ROOT / "notebooks").glob("*.py")):
        text, pictures = notebook.rendered(path, spark)
        files.append(File.generated(config, uri(path), content=text))
        for name, picture in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=picture))
    spark.stop()
    seen, pages = set(), sorted(DOCS.rglob("*.md"))
    while pages:
        page = pages.pop()
        for target in linked(page) - seen:
            seen.add(target)
            files.append(File.generated(config, uri(target), abs_src_path=str(target)))
            if target.suffix == ".md":
                pages.append(target)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links lead to where the site has their targets."""
    del config, files
    origin = page.file.abs_src_path
    if origin is None:  # what is made has links within the site only
        return markdown
    here = Path(page.file.src_uri).parent

    def moved(link: re.Match[str]) -> str:
        target = (Path(origin).parent / link[0]).resolve()
        return os.path.relpath(uri(target), here) if target.is_file() else link[0]

    return LINK.sub(moved, markdown)


def linked(page: Path) -> set[Path]:
    """Return the files to which a page links and which the site would not have."""
    found = {(page.parent / target).resolve() for target in LINK.findall(page.read_text(encoding="utf-8"))}
    return {path for path in found if path.is_file() and uri(path).startswith(f"{COPIED}/")}


def uri(path: Path) -> str:
    """Return where the site has a file of the project."""
    if path == DOCS / "site" / "api.py":
        return "reference/api.md"
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    inside = path.relative_to(ROOT)
    if inside.parts[0] == "notebooks" and inside.suffix == ".py":
        return inside.with_suffix(".md").as_posix()
    return f"{COPIED}/{inside.as_posix()}"
