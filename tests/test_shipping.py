"""How recoseg reaches people: the container, the workflow of GitHub, wheel and sdist."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).parents[1]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
TEMPLATES = REPOSITORY / ".github" / "ISSUE_TEMPLATE"
NOT_SHIPPED = ("__pycache__", ".pyc")


def instructions() -> list[tuple[str, str]]:
    """Of the Dockerfile, each with all of its lines: (FROM, ...), (RUN, ...)."""
    lines = [line for line in (REPOSITORY / "Dockerfile").read_text().splitlines() if line.strip()]
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#")).replace("\\\n", " ")
    parts = [line.partition(" ") for line in text.splitlines()]
    return [(word, " ".join(rest.split())) for word, _, rest in parts]


def all_of(word: str) -> list[str]:
    return [rest for name, rest in instructions() if name == word]


def test_the_image_is_made_of_pinned_versions() -> None:
    images = [image.split()[0] for image in all_of("FROM")]
    assert len(images) == 2
    assert len(set(images)) == 1  # else the Python that the packages were put in is not there
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+", images[0])
    installs = [part for run in all_of("RUN") for part in run.split(";;") if "pip install" in part]
    assert len(installs) == 3
    assert all("pip install -c constraints.txt " in part for part in installs)
    extras = re.findall(r"\.\[([\w,]+)\]", installs[-1])[0].split(",")
    assert set(extras) <= PROJECT["project"]["optional-dependencies"].keys()


def test_there_are_two_variants_and_others_are_refused(tmp_path) -> None:
    """The very line of the shell, with a pip that only tells what it was asked for."""
    (tmp_path / "pip").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "pip").chmod(0o755)
    line = next(run for run in all_of("RUN") if "VARIANT" in run)

    def told(variant: str) -> subprocess.CompletedProcess[str]:
        path = f"{tmp_path}:{os.environ['PATH']}"
        environment = {"PATH": path, "VARIANT": variant}
        return subprocess.run(["sh", "-c", line], env=environment, capture_output=True, text=True)

    assert all_of("ARG") == ["VARIANT=cpu"]
    assert "whl/cpu torch" in told("cpu").stdout
    assert told("cuda").stdout == "install -c constraints.txt torch\n"
    assert told("rocm").returncode == 1
    assert told("rocm").stderr == "VARIANT: got rocm, needs cpu or cuda\n"


def test_the_container_runs_recoseg_without_rights() -> None:
    words = [name for name, _ in instructions()]
    assert all_of("USER") == ["recoseg"]
    assert "RUN" not in words[words.index("USER") :]
    assert json.loads(all_of("ENTRYPOINT")[0]) == ["recoseg"]
    assert "recoseg" in PROJECT["project"]["scripts"]


def test_only_what_the_image_needs_reaches_it_and_no_secret() -> None:
    ignored = (REPOSITORY / ".dockerignore").read_text().splitlines()
    patterns = [line for line in ignored if line and not line.startswith("#")]
    assert patterns[0] == "*"
    sources = {source for copy in all_of("COPY") if "--from" not in copy for source in copy.split()[:-1]}
    assert sources == {pattern[1:] for pattern in patterns if pattern.startswith("!")}
    assert all((REPOSITORY / source).exists() for source in sources)
    built_from = {PROJECT["project"]["readme"], *PROJECT["project"]["license-files"], "pyproject.toml"}
    assert built_from <= sources
    told = " ".join(f"{name} {rest}" for name, rest in instructions() if name in ("ARG", "ENV", "LABEL"))
    assert not re.search(r"token|secret|passw|credential|_key", told, flags=re.I)


def test_the_workflow_runs_what_a_change_must_pass_on_both_systems() -> None:
    workflow = yaml.safe_load((REPOSITORY / ".github" / "workflows" / "ci.yml").read_text())
    assert {"push", "pull_request"} == set(workflow[True])  # YAML takes the word `on` for a truth
    assert workflow["permissions"] == {"contents": "read"}
    check = workflow["jobs"]["check"]
    rows = check["strategy"]["matrix"]["include"]
    assert {row["os"].partition("-")[0] for row in rows} == {"ubuntu", "macos"}
    assert min(row["python"] for row in rows) == PROJECT["project"]["requires-python"].removeprefix(">=")
    assert {"run": ".ci/run"} in check["steps"]
    assert os.access(REPOSITORY / ".ci" / "run", os.X_OK)
    targets = re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), flags=re.M)
    for job in workflow["jobs"].values():
        python = next(step["with"] for step in job["steps"] if "setup-python" in step.get("uses", ""))
        assert python["cache"] == "pip"
        assert all((REPOSITORY / file).is_file() for file in python["cache-dependency-path"].split())
        assert all(re.search(r"@v\d+$", step["uses"]) for step in job["steps"] if "uses" in step)
        for step in job["steps"]:
            assert step.get("run", ".ci/run") == ".ci/run" or step["run"].removeprefix("make ") in targets


def own_files(folder: str) -> set[str]:
    """Those of the repository below a folder, as the package has them."""
    paths = (path for path in (REPOSITORY / folder).rglob("*") if path.is_file())
    names = {path.relative_to(REPOSITORY).as_posix() for path in paths}
    return {name for name in names if not any(fnmatch(name, f"*{part}*") for part in NOT_SHIPPED)}


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("built")
    python = new_environment(folder / "environment", "build", *PROJECT["build-system"]["requires"])
    done("-m", "build", "--no-isolation", "--outdir", str(folder), str(REPOSITORY), python=python)
    return folder


def new_environment(folder: Path, *packages: str) -> Path:
    """The Python of a clean environment with these packages, in the versions that we test with."""
    done("-m", "venv", str(folder), python=Path(sys.executable))
    python = folder / "bin" / "python"
    constraints = str(REPOSITORY / "constraints.txt")
    done(
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
        "-c",
        constraints,
        *packages,
        python=python,
    )
    return python


def done(*words: str, python: Path, folder: Path | None = None) -> str:
    """What a program says that must succeed, and that knows nothing of this repository."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    outcome = subprocess.run(
        [str(python), *words], cwd=folder or python.parent, env=environment, capture_output=True, text=True
    )
    assert outcome.returncode == 0, outcome.stderr[-2000:]
    return outcome.stdout


@pytest.mark.slow
def test_sdist_and_wheel_hold_every_file_of_the_package(built) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == own_files("recoseg") | {f"recoseg/{name}" for name in own_files("configs")}
    assert any(name.endswith("page.html") for name in held)
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    wanted = own_files("recoseg") | own_files("configs") | own_files("tests") | own_files("docs")
    assert wanted | {"Makefile", "constraints.txt", "mkdocs.yml", "Dockerfile", ".ci/run"} <= names


@pytest.mark.slow
def test_the_wheel_trains_in_a_clean_environment(built, tmp_path) -> None:
    python = new_environment(tmp_path / "environment", str(next(built.glob("*.whl"))))
    work = tmp_path / "work"
    work.mkdir()

    def recoseg(*words: str) -> str:
        return done("-m", "recoseg", *words, python=python, folder=work)

    assert (python.parent / "recoseg").is_file()
    assert recoseg("--version") == f"recoseg {PROJECT['project']['version']}\n"
    shipped = "from recoseg.config.load import SHIPPED as s; print(*(p.stem for p in s[0].glob('*.yaml')))"
    configs = done("-c", shipped, python=python, folder=work)
    assert set(configs.split()) == {path.stem for path in (REPOSITORY / "configs").glob("*.yaml")}
    small = [
        "--data.num-train=4",
        "--data.num-val=2",
        "--data.height=32",
        "--data.width=32",
        "--augment.crop=32",
    ]
    recoseg("train", "--config", "tiny_scenes", "--train.iterations=2", "--out", "run", *small)
    assert (work / "run" / "report" / "index.html").is_file()
    assert "cityscapes" in recoseg("experiments", "list")
    say = "import recoseg, numpy as n; print(recoseg.load('run')(n.zeros((40, 50, 3), n.uint8)).labels.shape)"
    assert done("-c", say, python=python, folder=work) == "(40, 50)\n"


def test_the_citation_names_this_version_and_the_paper() -> None:
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PROJECT["project"]["version"]
    assert citation["license"] == PROJECT["project"]["license"]
    assert citation["keywords"] == PROJECT["project"]["keywords"]
    (paper,) = citation["references"]
    assert "Regional Contrast" in paper["title"]
    assert [author["family-names"] for author in paper["authors"]] == ["Liu", "Zhi", "Johns", "Davison"]


def test_forms_for_issues_ask_what_an_answer_needs() -> None:
    forms = {path.stem: yaml.safe_load(path.read_text()) for path in TEMPLATES.glob("*.yml")}
    assert set(forms) == {"bug", "own_data"}
    for form in forms.values():
        assert {"name", "description", "body"} <= set(form)
        fields = [field for field in form["body"] if field["type"] != "markdown"]
        assert len({field["id"] for field in fields}) == len(fields) <= 5
        assert all(field["attributes"]["label"] for field in fields)
