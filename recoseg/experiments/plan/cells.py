"""A cell: one run of a grid, with its config, its folder and the commands that make it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path, PurePath

from recoseg.config.load import flat, from_plain, load, merge, nested
from recoseg.config.model_settings import DeepLabModel
from recoseg.config.setting import fields
from recoseg.config.settings import RunConfig
from recoseg.config.split_settings import SplitSettings
from recoseg.config.yaml_file import read_yaml
from recoseg.errors import UserError
from recoseg.experiments.plan.grids import COLUMNS, DRAWN, METHODS, ROWS, Grid, Row, Settings
from recoseg.experiments.plan.profiles import Profile
from recoseg.training.run_folder import HARMLESS

FILES = {
    "model.pretrained", "model.weights", "model.checkpoint",
    "split.file", "split.labelled_list", "split.unlabelled_list",
}  # fmt: skip
"""Settings that may name files, which lie elsewhere on other machines."""

_NOWHERE = "."
"""In place of a dataset's folder, where nobody will look into it."""


@dataclass(frozen=True)
class Cell:
    """A run, made or to be made; `out` is the folder of all."""

    profile: str
    column: str
    row: str
    seed: int
    config: RunConfig
    out: Path
    owner: str  # the row whose folder it is
    trust: bool = False  # its config's model.factory may run code

    @property
    def name(self) -> str:
        return f"{self.column}/{self.row}/seed-{self.seed}"

    @property
    def place(self) -> tuple[str, str, str, int]:
        """Where its result belongs."""
        return self.profile, self.column, self.owner, self.seed

    @property
    def folder(self) -> Path:
        """A run folder, made or to be made."""
        return self.out / self.profile / self.column / self.owner / f"seed-{self.seed}"

    @property
    def config_file(self) -> Path:
        """What its run is begun with."""
        return self.folder.with_name(f"{self.folder.name}.yaml")

    @property
    def log(self) -> Path:
        """What its commands print."""
        return self.folder.with_name(f"{self.folder.name}.log")

    @property
    def scores(self) -> Path:
        """What `score` writes, under the same name wherever the data are."""
        return self.folder / "scores.json"

    @property
    def subset(self) -> str:
        """The images that are scored."""
        return COLUMNS[self.column].subset

    @property
    def iterations(self) -> int:
        return self.config.train.iterations

    @cached_property
    def settings(self) -> Settings:
        """All settings of its run that change what comes out, by dotted names."""
        return comparable(self.config)

    def begin(self) -> list[str]:
        """The command that trains it from the start, once its config is in `config_file`."""
        return ["train", "--config", str(self.config_file), "--no-page", "--out", str(self.folder)]

    def go_on(self) -> list[str]:
        """The command that trains it further, with the data where they are now."""
        return ["train", "--resume", str(self.folder), *self.data, "--no-page"]

    def score(self) -> list[str]:
        """Two commands that share a run may both score it: each writes the same."""
        out = ["--out", str(self.scores), "--force", *(["--trust"] if self.trust else [])]
        return ["evaluate", str(self.folder), "--subset", self.subset, *self.data, *out]

    @property
    def data(self) -> list[str]:
        """Where its images are, as commands take it."""
        return (
            []
            if COLUMNS[self.column].dataset in DRAWN
            else ["--data.root", str(flat(self.config)["data.root"])]
        )


def cells_of(
    grid: Grid,
    profile: Profile,
    *,
    seeds: Sequence[int],
    out: Path,
    data: Mapping[str, str] | None = None,
    lists: Path | None = None,
) -> list[Cell]:
    """All runs of a grid, seed by seed: one seed of everything tells more than all seeds of one method.

    Without `data` (dataset -> folder) the cells can be found and read, but not trained.
    """
    _require_datasets(grid, profile)
    return [
        cell_at(profile, column, row, seed, out=out, data=data or {}, lists=lists)
        for seed in seeds
        for row, column in grid.pairs
    ]


def _require_datasets(grid: Grid, profile: Profile) -> None:
    """Refuse columns of a dataset that the profile has no config for, and name those that are left."""
    columns = list(dict.fromkeys(column for _, column in grid.pairs))
    left = [column for column in columns if COLUMNS[column].dataset in profile.configs]
    for column in columns:
        try:
            profile.config(COLUMNS[column].dataset)
        except UserError as error:
            without = f"; or leave it out: --only {' '.join(left)}" if left else ""
            raise UserError(f"{error}{without}") from error


def cell_at(
    profile: Profile,
    column: str,
    row: str,
    seed: int,
    *,
    out: Path,
    data: Mapping[str, str],
    lists: Path | None,
) -> Cell:
    dataset = COLUMNS[column].dataset
    folder = {} if dataset in DRAWN else {"data.root": data.get(dataset, _NOWHERE)}

    def config_of(variant: Row) -> RunConfig:
        settings = settings_of(profile, column, variant, seed, lists=lists)
        try:
            return _config_with(profile.config(dataset), {**settings, **folder})
        except UserError as error:  # a mistake in the profile, found before anything is run
            raise UserError(f"profile {profile.name}, {column}/{row}: {error}") from error

    config = config_of(ROWS[row])
    owner = row
    if row not in METHODS:  # "512 keys" may be what ReCo + ClassMix has anyway
        alike = (name for name, method in METHODS.items() if method.settings == ROWS[row].settings)
        same = (name for name in alike if comparable(config_of(METHODS[name])) == comparable(config))
        owner = next(same, row)
    return Cell(profile.name, column, row, seed, config, out, owner)


def settings_of(profile: Profile, column: str, row: Row, seed: int, *, lists: Path | None = None) -> Settings:
    """What a run has beside the config of its dataset: of its method, profile, column, row and seed."""
    where = COLUMNS[column]
    base = _base_config(profile.config(where.dataset), where.dataset)
    settings: dict[str, object] = {**row.settings, **profile.methods.get(row.method, {})}
    if row.contrast:
        settings |= profile.contrast
    if row.method == "supervised" and profile.supervised_crops > 1:
        settings["train.labelled_per_step"] = base.train.labelled_per_step * profile.supervised_crops
    if row.model:
        settings |= _other_model(base, row.model)
    settings |= {**_no_split(base.split), **where.settings, **row.changes}
    if where.seeded:
        settings["split.seed"] = seed
    settings["train.seed"] = seed
    if where.published_list:
        settings["split.labelled_list"] = str((lists or Path()) / f"{column}.txt")
    return settings


def _other_model(config: RunConfig, name: str) -> Settings:
    """Another DeepLab than the config's, with its encoder: another name alone would drop all settings."""
    if not isinstance(config.model, DeepLabModel):
        raise UserError(f"{name} in place of {config.model.name}: the profile's network must be a DeepLab")
    kept = ("encoder", "pretrained", "frozen_batch_norm")
    return {"model": name, **{f"model.{part}": getattr(config.model, part) for part in kept}}


def _no_split(section: SplitSettings) -> Settings:
    """Takes back what a config says of labels: that is the column's."""
    usual = SplitSettings()
    return {
        f"split.{field.name}": getattr(usual, field.name)
        for field in fields(SplitSettings)
        if getattr(section, field.name) != getattr(usual, field.name)
    }


def _config_with(path: Path, settings: Settings) -> RunConfig:
    """The config in a file with these settings put over it."""
    changes: dict[str, object] = {}
    for name, value in settings.items():
        changes = merge(changes, nested(name.replace("-", "_").split("."), value))
    return from_plain(merge(_values_in(path), changes))


@cache
def _values_in(path: Path) -> dict[str, object]:
    """Kept: all cells of a dataset begin with them."""
    return read_yaml(path)[0]


@cache
def _base_config(path: Path, dataset: str) -> RunConfig:
    """The config of a dataset that need not be there."""
    return load(path, () if dataset in DRAWN else ("--data.root", _NOWHERE))


def comparable(config: RunConfig) -> dict[str, object]:
    """Settings by their dotted names, as far as they change what comes out: equal in all runs of a cell."""
    return {name: value for name, value in portable(config).items() if name not in HARMLESS}


def portable(config: RunConfig) -> dict[str, object]:
    """Settings by their dotted names, with files by their names alone, and no folder of data."""
    return {
        name: PurePath(value).name if name in FILES and isinstance(value, str) else value
        for name, value in flat(config).items()
        if name != "data.root"
    }


def differing(one: Mapping[str, object], other: Mapping[str, object]) -> tuple[str, ...]:
    """Names of settings that are not the same; one of the two may leave open what training measures."""
    return tuple(
        name
        for name in sorted(one.keys() | other.keys())
        if one.get(name) != other.get(name)
        and not (name == "data.bit_depth" and None in (one.get(name), other.get(name)))
    )
