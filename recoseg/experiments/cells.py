"""A cell: one run of a grid, with its settings, its folder and the commands that make it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from recoseg.errors import UserError
from recoseg.experiments.cell_settings import settings_of, settings_with
from recoseg.experiments.columns import COLUMNS
from recoseg.experiments.grids import Grid
from recoseg.experiments.methods import METHODS, ROWS
from recoseg.experiments.profiles import Profile


@dataclass(frozen=True)
class Cell:
    """`words` are its settings, beside those of `config`, and `data` says where the images are."""

    profile: str
    column: str
    row: str
    seed: int
    config: Path
    words: tuple[str, ...]
    data: tuple[str, ...]
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

    def begin(self) -> list[str]:
        """The command that trains it from the start."""
        out = str(self.folder)
        return ["train", "--config", str(self.config), *self.words, *self.data, "--no-page", "--out", out]

    def go_on(self) -> list[str]:
        """The command that trains it further, with the data where they are now."""
        return ["train", "--resume", str(self.folder), *self.data, "--no-page"]

    def score(self) -> list[str]:
        """Two commands that share a run may both score it: each writes the same."""
        out = ["--out", str(self.scores), "--force", *(["--trust"] if self.trust else [])]
        return ["evaluate", str(self.folder), "--subset", self.subset, *self.data, *out]

    def settings(self) -> Mapping[str, object]:
        """All settings of its run that change what comes out, by dotted names."""
        return settings_with(self.config, self.words, COLUMNS[self.column].dataset)

    @property
    def iterations(self) -> int:
        return int(str(self.settings()["train.iterations"]))


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
    require_datasets(grid, profile)
    cells = [
        cell_at(profile, column, row, seed, out=out, data=data or {}, lists=lists)
        for seed in seeds
        for row, column in grid.pairs
    ]
    for cell in cells[: len(grid.pairs)]:  # a mistake in the profile is found before anything is run
        try:
            cell.settings()
        except UserError as error:
            raise UserError(f"profile {profile.name}, {cell.column}/{cell.row}: {error}") from error
    return cells


def require_datasets(grid: Grid, profile: Profile) -> None:
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
    where = COLUMNS[column]
    words = settings_of(profile, column, ROWS[row], seed)
    if where.published_list:
        words += ("--split.labelled_list", str((lists or Path()) / f"{column}.txt"))
    cell = Cell(
        profile=profile.name,
        column=column,
        row=row,
        seed=seed,
        config=profile.config(where.dataset),
        words=words,
        data=("--data.root", data[where.dataset]) if where.dataset in data else (),
        out=out,
        owner=row,
    )
    return cell if row in METHODS else replace(cell, owner=owner_of(cell, profile))


def owner_of(cell: Cell, profile: Profile) -> str:
    """A method with the same settings, if there is one: "512 keys" may be what ReCo + ClassMix has anyway."""
    for name, method in METHODS.items():
        if method.words() == ROWS[cell.row].words():
            plain = replace(cell, words=settings_of(profile, cell.column, method, cell.seed))
            if plain.settings() == cell.settings():
                return name
    return cell.row
