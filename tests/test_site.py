"""The documentation as a site: every page, command and public name is in it, and nothing warns."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from recoseg.cli.main import COMMANDS

REPOSITORY = Path(__file__).parents[1]


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


site = loaded(REPOSITORY / "docs" / "site_pages.py")


def pages_of(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    values = nav.values() if isinstance(nav, dict) else nav
    return [page for value in values for page in pages_of(value)]


def test_every_page_of_the_docs_has_its_place_in_the_navigation() -> None:
    listed = pages_of(yaml.safe_load((REPOSITORY / "mkdocs.yml").read_text())["nav"])
    assert len(set(listed)) == len(listed)
    assert set(listed) == {page.name for page in (REPOSITORY / "docs").glob("*.md")} | site.ROOT_PAGES.keys()


def test_every_command_has_its_page_with_its_help() -> None:
    pages = site.command_pages()
    assert list(pages) == [f"commands/{name}.md" for name in COMMANDS]
    assert "usage: recoseg push" in pages["commands/push.md"]
    assert "## recoseg experiments table\n" in pages["commands/experiments.md"]
    assert "--contrast.num_keys" in pages["commands/train.md"]
    assert max(len(line) for page in pages.values() for line in page.splitlines()) <= 100


@pytest.mark.parametrize("namespace", site.NAMESPACES)
def test_every_public_name_has_an_entry(namespace) -> None:
    page = site.python_pages()[f"python/{namespace}.md"]
    names = importlib.import_module(namespace).__all__
    assert names
    entries = re.findall(r"^(?:::: [\w.]+\.|## )([\w\\]+)$", page, flags=re.M)
    assert [entry.replace("\\", "") for entry in entries] == list(names)


def test_links_between_pages_fit_the_site_as_well_as_the_repository() -> None:
    in_readme = "[a](docs/training.md#methods) [b](RESULTS.md) [c](https://a.b/docs/c.md) [d](#here)"
    assert site.with_links_of_the_site(in_readme, folder="") == (
        "[a](training.md#methods) [b](RESULTS.md) [c](https://a.b/docs/c.md) [d](#here)"
    )
    in_docs = "[a](training.md) [b](../RESULTS.md#x) ![c](images/d.svg) [e](../examples/unet.py)"
    assert site.with_links_of_the_site(in_docs, folder="docs") == (
        "[a](training.md) [b](RESULTS.md#x) ![c](images/d.svg) [e](examples/unet.py)"
    )
    assert "examples/unet.py" in site.linked_files()


@pytest.mark.slow
def test_it_builds_without_a_warning_and_asks_no_other_host(tmp_path) -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    pytest.importorskip("mkdocstrings_handlers.python")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path)],
        cwd=REPOSITORY, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    for namespace in site.NAMESPACES:
        page = (tmp_path / "python" / f"{namespace}.html").read_text(encoding="utf-8")
        for name in set(site.public_names(namespace)) - {"__version__", "losses", "methods", "models"}:
            assert f'id="{namespace}.{name}"' in page, (namespace, name)
    for name in COMMANDS:
        assert f"usage: recoseg {name}" in (tmp_path / "commands" / f"{name}.html").read_text(
            encoding="utf-8"
        )
    assert (tmp_path / "examples" / "unet.py").is_file()
    text = "".join(page.read_text(encoding="utf-8") for page in tmp_path.rglob("*.html"))
    assert not re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(?:https?:)?//[^"]*"', text)
