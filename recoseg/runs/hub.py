"""Runs on the Hugging Face Hub: put there with their card, and fetched into the hub's own cache."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from recoseg.config.load import to_yaml
from recoseg.config.setting import Section, fields, parts
from recoseg.config.settings import RunConfig
from recoseg.errors import UserError, is_shortage
from recoseg.files import as_path
from recoseg.text import how_many, shortened, without_tokens
from recoseg.training.run_folder import RunFolder

if TYPE_CHECKING:
    from huggingface_hub import HfApi

SCHEME = "hf://"
CARD = "README.md"

_REPOSITORY = r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}"
_MADE_BY_THE_HUB = {".gitattributes"}


def local_folder(run: str | Path) -> Path:
    """Where a run is on this machine; that of `hf://user/name` or `hf://user/name@revision` is fetched.

    Nothing but the files of a run is, whatever else lies there.
    """
    if not str(run).startswith(SCHEME):
        return as_path(run, what="run")
    name, at, revision = str(run).removeprefix(SCHEME).partition("@")
    require_name(name, what=str(run), form=f"{SCHEME}USER/NAME, or {SCHEME}USER/NAME@REVISION")
    if at and not revision:
        raise UserError(f"{run}: give a branch, a tag or a commit after the @, or leave it out")
    hub = _hub()
    folder = RunFolder(Path())
    wanted = [file.name for file in (folder.config, folder.split, folder.metrics, folder.weights)]
    with _in_a_line(f"cannot fetch {run}", name):
        fetched = Path(hub.snapshot_download(name, revision=revision or None, allow_patterns=wanted))
    if not RunFolder(fetched).is_run():
        raise UserError(
            f"{run} is not a run of recoseg: it has no {folder.config.name} and {folder.split.name}"
        )
    return fetched


def push(content: Mapping[str, str | Path], name: str, *, public: bool, force: bool) -> str:
    """Put files (name there -> text, or a file of ours) into the repository; returns its address.

    It is made if there is none, private unless `public`. Into one that holds files already they are put only
    with `force`, as a new commit, and only if it is as public as was said.
    """
    require_name(name, what=name, form="USER/NAME")
    hub = _hub()
    from huggingface_hub import CommitOperationAdd

    what = f"cannot push to {name}"
    with _in_a_line(what, name):
        created = not _exists(hub, name, public=public)
    if not created:
        with _in_a_line(what, name):
            _require_as_asked(hub, name, public=public, force=force)
    operations = [
        CommitOperationAdd(there, part.encode() if isinstance(part, str) else part)
        for there, part in content.items()
    ]
    with _in_a_line(what, name):
        hub.create_commit(name, operations, commit_message="A run of recoseg")
    return f"{hub.endpoint}/{name}"


def _exists(hub: HfApi, name: str, *, public: bool) -> bool:
    """Whether the repository was there before; else it is there now."""
    try:
        hub.create_repo(name, private=not public)
        return False
    except Exception as error:
        if _status(error) != 409:
            raise
        return True


def _require_as_asked(hub: HfApi, name: str, *, public: bool, force: bool) -> None:
    about = hub.model_info(name)
    there = {file.rfilename for file in about.siblings or ()} - _MADE_BY_THE_HUB
    if there and not force:
        raise UserError(
            f"{name} exists already, with {how_many(len(there), 'file')}: choose another name, or put the "
            "run into it as a new commit with --force"
        )
    if public and about.private:
        raise UserError(
            f"{name} is private: make it public in its settings on the hub, or leave out --public"
        )
    if not public and not about.private:
        raise UserError(f"{name} is public: give --public if all may see this run, or choose another name")


def without_places(config: RunConfig) -> RunConfig:
    """The config with the last part of every path of this machine, which is nobody else's business."""
    sections = {name: _section_without_places(getattr(config, name)) for name in config.__struct_fields__}
    return replace(config, **sections)


def _section_without_places(section: Any) -> Any:
    if section is None:
        return None
    kind: type[Section] = type(section)
    paths = {field.name for field in fields(kind) if parts(field.type).extra.get("is_path")}
    places = {name: Path(getattr(section, name) or "") for name in paths}
    return replace(section, **{name: place.name for name, place in places.items() if place.is_absolute()})


def files_of(
    folder: RunFolder, config: RunConfig, weights: Path, *, iteration: int, card: str
) -> dict[str, str | Path]:
    """What of a run is pushed, by its name there: all that opening it takes, the scores so far, the card."""
    scores = [line for line in folder.read_metrics() if line["iteration"] <= iteration]
    return {
        CARD: card,
        folder.config.name: to_yaml(config),
        folder.split.name: folder.split,
        folder.metrics.name: "".join(json.dumps(line) + "\n" for line in scores),
        folder.weights.name: weights,
    }


def require_name(name: str, *, what: str, form: str) -> None:
    if not re.fullmatch(_REPOSITORY, name, re.ASCII):
        raise UserError(
            f"got {shortened(repr(what))}, needs {form}: letters, digits, '-', '_' and '.', up to 96 each"
        )


def _hub() -> HfApi:
    if find_spec("huggingface_hub") is None:
        raise UserError("the Hugging Face Hub needs an extra package: pip install 'recoseg[hub]'")
    from huggingface_hub import HfApi

    return HfApi(library_name="recoseg")


@contextmanager
def _in_a_line(what: str, name: str) -> Iterator[None]:
    """Troubles of the hub as one line that says what to do; those of our disk stay what they are."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        if is_shortage(error) or (isinstance(error, OSError) and error.errno and error.filename):
            raise
        # A traceback would show the cause with whatever the hub repeats of the request.
        cause = error if without_tokens(str(error)) == str(error) else None
        raise UserError(f"{what}: {_remedy(error, name)}") from cause


_LOG_IN = "log in with `hf auth login`, or set HF_TOKEN"


def _remedy(error: Exception, name: str) -> str:
    status = _status(error)
    if status == 401:
        known = "the hub does not accept your token" if _has_token() else "you are not logged in"
        return f"{known}, or there is no such model; {_LOG_IN}"
    if status == 403:
        owner = name.partition("/")[0]
        return f"your token may not write to what is {owner}'s; take one that may, or a name of your own"
    if status == 404:
        return f"there is no such model or revision, or it is private and not yours; {_LOG_IN}"
    told = shortened(without_tokens(" ".join(str(error).split())), 200)
    if status is not None or (isinstance(error, ValueError) and not isinstance(error, OSError)):
        return f"the hub says: {told}"
    return f"the hub cannot be reached ({told or type(error).__name__}); try again when you are online"


def _status(error: BaseException | None) -> int | None:
    """The HTTP status of an answer of the hub, also where another error was made of it."""
    while error is not None:
        status = getattr(getattr(error, "response", None), "status_code", None)
        if isinstance(status, int):
            return status
        error = error.__cause__
    return None


def _has_token() -> bool:
    from huggingface_hub import get_token

    return get_token() is not None
