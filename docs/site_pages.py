"""A hook of mkdocs: pages of the site that are made of the code and of the repository's own pages.

Every command has a page, its help; every public name has an entry on the page of its namespace, from its
docstring. The site is `docs/` with the repository's files around it: links between them are made to fit.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from unittest.mock import patch

REPOSITORY = Path(__file__).resolve().parents[1]
ROOT_PAGES = {
    "README.md": "recoseg",
    "RESULTS.md": "Results",
    "CONTRIBUTING.md": "Contributing",
    "CHANGELOG.md": "Changelog",
}
NAMESPACES = (
    "recoseg",
    *(f"recoseg.{part}" for part in ["methods", "losses", "models", "data", "augment", "evaluate"]),
)
_LINK = re.compile(r"(?<=\]\()(?!https?:|#)([^)\s#]+)")


def on_config(config: Any) -> Any:
    """The pages that are made here come to the end of the navigation."""
    config.nav += [
        {"Commands": [{name: uri} for uri, name in _titles(command_pages()).items()]},
        {"Python": [{name: uri} for uri, name in _titles(python_pages()).items()]},
    ]
    return config


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for uri, text in {**root_pages(), **command_pages(), **python_pages()}.items():
        files.append(File.generated(config, uri, content=text))
    for path in sorted(linked_files()):
        files.append(File.generated(config, path, abs_src_path=str(REPOSITORY / path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    return markdown if page.file.src_uri in ROOT_PAGES else with_links_of_the_site(markdown, folder="docs")


def root_pages() -> dict[str, str]:
    texts = {name: (REPOSITORY / name).read_text(encoding="utf-8") for name in ROOT_PAGES}
    return {name: with_links_of_the_site(text, folder="") for name, text in texts.items()}


def with_links_of_the_site(markdown: str, *, folder: str) -> str:
    """Links as they stand in a page of the repository's `folder` -> as they are from the root of the site."""
    return _LINK.sub(lambda found: _place(found[1], folder), markdown)


def _place(target: str, folder: str) -> str:
    """Where a file is on the site: below `docs/` without that word, and elsewhere as in the repository."""
    return os.path.normpath(PurePosixPath(folder, target)).removeprefix("docs/")


def linked_files() -> set[str]:
    """Files of the repository, such as examples, that some page has a link to."""
    pages = [(REPOSITORY / name, "") for name in ROOT_PAGES]
    pages += [(page, "docs") for page in sorted((REPOSITORY / "docs").glob("*.md"))]
    places = {
        _place(target, folder) for page, folder in pages for target in _LINK.findall(page.read_text("utf-8"))
    }
    return {
        place
        for place in places - ROOT_PAGES.keys()
        if (REPOSITORY / place).is_file() and not (REPOSITORY / "docs" / place).exists()
    }


def command_pages() -> dict[str, str]:
    """The help of every command and of its commands; that of `train` with all settings of a run."""
    from recoseg.cli.main import build_parser
    from recoseg.config.help_text import describe_settings

    pages = {}
    for name, parser in _subparsers(build_parser()).items():
        parts = [f"# recoseg {name}", _help(parser)]
        for inner, subparser in _subparsers(parser).items():
            parts += [f"## recoseg {name} {inner}", _help(subparser)]
        if name == "train":
            parts += ["## Settings", _code(describe_settings())]
        pages[f"commands/{name}.md"] = "\n\n".join(parts) + "\n"
    return pages


def _subparsers(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    tables = (action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return next(tables, {})


def _help(parser: argparse.ArgumentParser) -> str:
    with patch.dict(os.environ, COLUMNS="80"):  # whatever the width of the terminal here
        return _code(parser.format_help())


def _code(text: str) -> str:
    return f"```text\n{text.strip()}\n```"


def python_pages() -> dict[str, str]:
    """A page a namespace, with an entry for each of its public names."""
    return {f"python/{namespace}.md": _python_page(namespace) for namespace in NAMESPACES}


def _python_page(namespace: str) -> str:
    path = REPOSITORY.joinpath(*namespace.split("."), "__init__.py")
    module = ast.parse(path.read_text(encoding="utf-8"))
    parts = [f"# {namespace}", ast.get_docstring(module) or ""]
    for name in public_names(namespace):
        whole = f"{namespace}.{name}"
        if whole in NAMESPACES:
            parts.append(f"## {name}\n\nSee [{whole}]({whole}.md).")
        elif name == "__version__":
            parts.append("## \\_\\_version\\_\\_\n\nThe version that is installed, such as `0.1.0`.")
        else:
            parts.append(f"::: {whole}")
    return "\n\n".join(parts) + "\n"


def public_names(namespace: str) -> list[str]:
    """What `__all__` of a package lists, read without importing it."""
    path = REPOSITORY.joinpath(*namespace.split("."), "__init__.py")
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return names
    raise AssertionError(f"{path} has no __all__")


def _titles(pages: Mapping[str, str]) -> dict[str, str]:
    return {uri: text.partition("\n")[0].removeprefix("# ") for uri, text in pages.items()}
