"""Runs on the Hugging Face Hub: pushed with a card, and fetched into the hub's own cache."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recoseg.config.settings import RunConfig
from recoseg.errors import UserError, is_shortage
from recoseg.files import as_path
from recoseg.runs.run_folder import RunFolder
from recoseg.text import how_many, shortened, without_tokens

if TYPE_CHECKING:
    from huggingface_hub import HfApi

SCHEME = "hf://"

_LOG_IN = "log in with `hf auth login`, or set HF_TOKEN"
_REMEDIES = {
    401: f"you are not logged in, the hub does not accept your token, or there is no such model; {_LOG_IN}",
    403: "your token may not write there; use a token that may, or a name below your own",
    404: f"there is no such model or revision, or it is private and not yours; {_LOG_IN}",
}


def local_folder(run: str | Path) -> Path:
    """Return the folder of a run; fetch the files of `hf://user/name` or `hf://user/name@revision`."""
    if not str(run).startswith(SCHEME):
        return as_path(run, what="run")
    name, at, revision = str(run).removeprefix(SCHEME).partition("@")
    if name.count("/") != 1 or (at and not revision):
        form = f"{SCHEME}USER/NAME, or {SCHEME}USER/NAME@REVISION"
        raise UserError(f"got {shortened(repr(run))}, needs {form} (a branch, a tag or a commit)")
    hub, folder = _hub(), RunFolder(Path())
    files = [file.name for file in (folder.config, folder.split, folder.metrics, folder.weights)]
    with _in_a_line(f"cannot fetch {run}"):
        fetched = Path(hub.snapshot_download(name, revision=revision or None, allow_patterns=files))
    if not RunFolder(fetched).is_run():
        raise UserError(f"{run} is not a run of recoseg: it has no {files[0]} and {files[1]}")
    return fetched


def push(content: Mapping[str, str | Path], name: str, *, public: bool, force: bool) -> str:
    """Commit files (name on the hub -> text or local file) to a model and return its address.

    A new model is private unless `public`. A model that holds files takes a commit only with `force`.
    """
    hub = _hub()
    from huggingface_hub import CommitOperationAdd

    with _in_a_line(f"cannot push to {name}"):
        hub.create_repo(name, private=not public, exist_ok=True)
        about = hub.model_info(name)
    held = {file.rfilename for file in about.siblings or ()} - {".gitattributes"}
    if held and not force:
        raise UserError(
            f"{name} exists already, with {how_many(len(held), 'file')}: choose another name, or add the run "
            "as a new commit with --force"
        )
    if about.private and public:
        raise UserError(f"{name} is private: change that in its settings on the hub, or leave out --public")
    if not about.private and not public:
        raise UserError(f"{name} is public: give --public if all may see this run, or choose another name")
    parts = {path: part.encode() if isinstance(part, str) else part for path, part in content.items()}
    with _in_a_line(f"cannot push to {name}"):
        operations = [CommitOperationAdd(path, part) for path, part in parts.items()]
        hub.create_commit(name, operations, commit_message="A run of recoseg")
    return f"{hub.endpoint}/{name}"


def without_folders(config: RunConfig) -> RunConfig:
    """Return the config with only the last part of every absolute path: the rest describes this machine."""

    def shortened_paths(section: Any) -> Any:
        paths = [f.name for f in dataclasses.fields(section) if f.metadata.get("is_path")]
        values = {name: Path(getattr(section, name) or "") for name in paths}
        return dataclasses.replace(
            section, **{k: path.name for k, path in values.items() if path.is_absolute()}
        )

    return dataclasses.replace(config, data=shortened_paths(config.data), model=shortened_paths(config.model))


def _hub() -> HfApi:
    if find_spec("huggingface_hub") is None:
        raise UserError("the Hugging Face Hub needs an extra package: pip install 'recoseg[hub]'")
    from huggingface_hub import HfApi

    return HfApi(library_name="recoseg")


@contextmanager
def _in_a_line(what: str) -> Iterator[None]:
    """Raise errors of the hub as one line with what to do; errors of the local disk stay as they are."""
    try:
        yield
    except Exception as error:
        if is_shortage(error) or (isinstance(error, OSError) and error.errno and error.filename):
            raise
        responses = [getattr(one, "response", None) for one in (error, error.__cause__)]
        status = next((one.status_code for one in responses if one is not None), None)
        text = " ".join(str(error).split())
        answer = shortened(without_tokens(text), 200) or type(error).__name__
        if status in _REMEDIES:
            remedy = _REMEDIES[status]
        elif status or (isinstance(error, ValueError) and not isinstance(error, OSError)):
            remedy = f"the hub says: {answer}"
        else:
            remedy = f"the hub cannot be reached ({answer}); try again when you are online"
        # A traceback would show the cause, with any token that the hub repeats.
        cause = error if without_tokens(text) == text else None
        raise UserError(f"{what}: {remedy}") from cause
