"""The commands around grids: list, show, dry run, table; help, and mistakes in one line."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from recoseg.cli.experiments import as_words
from recoseg.config.load import load, to_yaml
from recoseg.experiments.plan.cells import cells_of, portable
from recoseg.experiments.plan.grids import COLUMNS, GRIDS
from recoseg.experiments.plan.profiles import load_profile
from recoseg.experiments.tables.results import Result, add_results

SCENES = ("scenes", "--profile", "tiny", "--runs", "runs")


@pytest.fixture
def results(tmp_path, recoseg) -> Path:
    """A file with results of the grid scenes in profile tiny: 40 and 42, 45 and 49, and one of 50."""
    scores = {("supervised", 0): 0.40, ("supervised", 1): 0.42, ("classmix", 0): 0.45, ("classmix", 1): 0.49}
    scores["reco-classmix", 0] = 0.50
    cells = cells_of(GRIDS["scenes"], load_profile("tiny"), seeds=(0, 1), out=tmp_path)
    made = [
        Result(
            profile="tiny", column=cell.column, row=cell.row, seed=cell.seed, subset="val", pixels=1,
            mean_iou=scores[cell.row, cell.seed], accuracy=0.9, boundary_iou=None, boundary_f_score=None,
            iou={}, curve=((300, scores[cell.row, cell.seed]),), iterations=300, seconds=60.0, machine="a",
            versions="b", settings=portable(cell.config),
        )
        for cell in cells
        if (cell.row, cell.seed) in scores
    ]  # fmt: skip
    add_results(tmp_path / "results.jsonl", made)
    return tmp_path / "results.jsonl"


def test_list_names_every_grid_within_80_columns(recoseg) -> None:
    outcome = recoseg("experiments", "list")
    assert outcome.code == 0
    words = [line.split() for line in outcome.out.splitlines() if line.strip()]
    runs = {line[0]: line[1] for line in words if line[0] in GRIDS}
    assert set(runs) == set(GRIDS)
    assert (runs["full-labels"], runs["scenes"]) == ("180", "9")
    assert max(map(len, outcome.out.splitlines())) <= 80


def test_show_tells_how_far_runs_are_and_their_commands_are_those_of_recoseg(recoseg, tmp_path) -> None:
    outcome = recoseg("experiments", "show", *SCENES)
    assert outcome.code == 0
    assert ["ReCo", "+", "ClassMix", "-", "-", "-"] in map(str.split, outcome.out.splitlines())
    assert "0 of 9 runs done" in outcome.out
    assert not (tmp_path / "runs").exists()

    outcome = recoseg("experiments", "show", *SCENES, "--seeds", "5", "--only", "classmix", "--commands")
    heading, train, evaluate, _, gather = outcome.out.splitlines()
    folder = tmp_path / "runs" / "tiny" / "scenes-10" / "classmix" / "seed-5"
    assert heading == "# scenes-10/classmix/seed-5"
    assert train.startswith("recoseg train --config ")
    assert train.endswith(f"--split.seed 5 --train.seed 5 --no-page --out {folder}")
    assert evaluate == f"recoseg evaluate {folder} --subset val --out {folder}/scores.json --force"
    assert gather == "recoseg experiments run scenes --profile tiny --runs runs --seeds 5 --only classmix"


def test_settings_become_words_of_the_command_line() -> None:
    settings = {"a.b": 0.5, "c": True, "d": None, "e": [32, 64], "f": "x"}
    assert as_words(settings) == ["--a.b", "0.5", "--c", "true", "--d", "none", "--e", "32,64", "--f", "x"]


@pytest.mark.parametrize("grid", ["cityscapes-20", "both-deeplabs", "unlabelled-share", "voc-partitions"])
def test_the_commands_that_are_shown_train_what_the_grid_does(recoseg, tmp_path, grid) -> None:
    """Each names what differs from the profile's config, and comes to the config that a cell holds."""
    data = dict.fromkeys({COLUMNS[column].dataset for column in GRIDS[grid].columns}, str(tmp_path))
    words = ["--profile", "paper", "--data", *(f"{name}={folder}" for name, folder in data.items())]
    lists = tmp_path if grid == "voc-partitions" else None
    for column in GRIDS[grid].columns if lists else ():
        (tmp_path / f"{column}.txt").touch()
    words += ["--lists", str(lists)] if lists else []
    outcome = recoseg("experiments", "show", grid, "--commands", "--runs", "runs", *words)
    assert outcome.code == 0, outcome.err
    trained = {}
    for line in outcome.out.splitlines():
        if line.startswith("recoseg train --config "):
            config, *settings, no_page, out, folder = shlex.split(line)[3:]
            assert (no_page, out) == ("--no-page", "--out")
            trained[folder] = load(config, settings)
    cells = cells_of(
        GRIDS[grid], load_profile("paper"), seeds=(0, 1, 2), out=tmp_path / "runs", data=data, lists=lists
    )
    assert trained == {str(cell.folder): cell.config for cell in cells}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rum", "scenes"], "unknown experiments 'rum'; did you mean 'run'?"),
        (["run", "scene"], "unknown grid 'scene'; did you mean 'scenes'?"),
        (
            ["run", *SCENES, "--only", "clasmix"],
            "--only: the grid has no 'clasmix'; did you mean 'classmix'?",
        ),
        (
            ["run", "full-labels", "--only", "sun-all", "s4gan"],
            "--only sun-all s4gan: the grid has no such run",
        ),
        (["run", *SCENES, "--seeds", "-1"], "--seeds: numbers from 0 on"),
        (["run", *SCENES, "--workers", "0"], "--workers must be at least 1, not 0"),
        (["run", *SCENES, "--dry-run", "--ray", "local"], "leave out --ray"),
        (["run", *SCENES, "--data", "."], "--data .: this grid takes none: they are drawn"),
        (["run", *SCENES, "--lists", "."], "--lists has no effect"),
        (["run", "scenes", "--profile", "paper"], "profile paper has no scenes, only voc, cityscapes, sun"),
        (["run", "scenes", "--profile", "smal"], "no profile 'smal'; did you mean 'small'?"),
        (["run", "cityscapes-20"], "give the folder of cityscapes: --data cityscapes=FOLDER"),
        (["run", "cityscapes-20", "--data", "nowhere"], "--data: no folder at nowhere"),
        (["run", "full-labels", "--data", "vok=."], "did you mean 'voc'?"),
        (["run", "voc-partitions", "--profile", "paper", "--data", "."], "put it into FOLDER/voc-92.txt"),
        (["show", *SCENES, "--data", "."], "--data, --lists and --trust have no effect without --commands"),
        (["table", *SCENES, "--out", "a.md"], "--out needs a --format for files"),
        (["table", *SCENES, "--beside", "--wide"], "--wide and --beside are different tables: give one"),
        (["table", *SCENES, "--beside", "--format", "csv"], "--beside has no effect on csv"),
        (["table", *SCENES, "--results", "a", "--save", "b"], "--save has no effect beside --results"),
        (["table", *SCENES, "--results", "nowhere.jsonl"], "no results at nowhere.jsonl"),
        (
            ["table", *SCENES, "--save", "nowhere/a.jsonl"],
            "--save nowhere/a.jsonl: there is no folder nowhere",
        ),
        (["table", *SCENES, "--classes"], "none of these runs of grid scenes are done yet"),
        (["run", "camvid-20", "--data", ".", "camvid=."], "--data: two folders for camvid: "),
        (["compare", "classmix"], "give two rows or more to compare"),
        (["compare", "classmix", "classmix"], "give two rows or more to compare"),
        (["compare", "classmix", "cutmix", "vat", "--pairs"], "give an even number of rows"),
        (
            ["compare", "classmix", "reco-clasmix"],
            "unknown row 'reco-clasmix'; did you mean 'reco-classmix'?",
        ),
        (["compare", "classmix", "cutmix"], "runs/experiments has no results of profile small"),
        (["compare", "classmix", "cutmix", "--results", "nowhere.jsonl"], "no results at nowhere.jsonl"),
        (["compare", "classmix", "cutmix", "--resolve", "0"], "--resolve 0: a difference of 0.01 to 100"),
        (["compare", "classmix", "cutmix", "--resolve", "nan"], "--resolve nan: a difference of 0.01 to 100"),
        (["compare", "classmix", "cutmix", "--out", "a.md"], "--out needs a --format for files"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_run(recoseg, tmp_path, words, message) -> None:
    outcome = recoseg("experiments", *words)
    assert (outcome.code in (1, 2), outcome.err.count("\n")) == (True, 1), outcome.err
    assert message in outcome.err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("words", [["experiments", "--help"], ["experiments", "run", "--help"]])
def test_help_imports_nothing_heavy(words) -> None:
    code = (
        "import sys\nfrom recoseg.cli.main import main\n"
        f"try:\n    main({words!r})\nexcept SystemExit:\n    pass\n"
        "heavy = ('torch', 'numpy', 'PIL', 'rich', 'matplotlib', 'ray')\n"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_a_dry_run_counts_times_and_leaves_nothing_behind(recoseg, trial, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    before = sorted(tmp_path.rglob("*"))
    outcome = recoseg(*trial.words, "runs", "--dry-run", "--workers", "2")
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    assert lines[0] == "3 runs of profile trial, 0 done, 3 left"
    rows = [line.split() for line in lines if " scenes " in line]
    assert [row[-5:-3] for row in rows] == [["scenes", "1"]] * 3
    assert lines[-1].startswith("about 0:0")
    assert lines[-1].endswith("in all, 2 at a time, 1 thread each")
    # But for caches: of labels, of Python, of torch.
    after = [path for path in sorted(tmp_path.rglob("*")) if "cache" not in str(path.relative_to(tmp_path))]
    assert [path for path in after if not path.name.startswith("torchinductor")] == before


def test_a_dry_run_takes_the_time_of_runs_that_are_done(recoseg, results, tmp_path) -> None:
    cells = cells_of(GRIDS["scenes"], load_profile("tiny"), seeds=(0, 1), out=tmp_path / "runs")
    places = {(cell.row, cell.seed): cell for cell in cells}
    for result in map(json.loads, results.read_text().splitlines()):
        cell = places[result["row"], result["seed"]]
        cell.folder.mkdir(parents=True)
        (cell.folder / "split.json").write_text("{}")
        (cell.folder / "config.yaml").write_text(to_yaml(cell.config))
        (cell.folder / "result.json").write_text(json.dumps({**result, "seconds": 600}))
    outcome = recoseg("experiments", "run", *SCENES, "--dry-run")
    lines = outcome.out.splitlines()
    assert lines[0] == "9 runs of profile tiny, 5 done, 4 left"
    assert ["Supervised", "scenes", "1", "as", "before", "10:00"] in map(str.split, lines)
    assert ["ReCo", "+", "ClassMix", "scenes", "2", "as", "before", "10:00"] in map(str.split, lines)
    assert lines[-1].startswith("about 40:00 in all, one at a time")


def test_a_table_is_made_from_a_file_of_results(recoseg, results) -> None:
    outcome = recoseg(
        "experiments", "table", *SCENES, "--seeds", "0", "1", "--results", results, "--format", "csv"
    )
    assert outcome.code == 0, outcome.err
    assert "47.0" in next(line for line in outcome.out.splitlines() if ",ClassMix" in line)


def test_scores_of_classes_are_shown_for_the_seeds_that_all_methods_have(recoseg, results) -> None:
    words = ("experiments", "table", *SCENES, "--results", results, "--classes")
    outcome = recoseg(*words, "--only", "supervised", "classmix", "--format", "markdown")
    assert outcome.code == 0, outcome.err
    assert "means over seeds 0 and 1, profile tiny" in outcome.out
    assert "| Mean IoU       |       41.0 |     47.0 |" in outcome.out  # +5 and +7: 6 ± 13
    shown = recoseg(*words)  # ReCo + ClassMix has seed 0 alone
    assert "50.0" in shown.out
    assert "seed 0 alone, profile tiny" in " ".join(shown.out.split())
    none = recoseg(*words, "--seeds", "1", "2", "--only", "reco-classmix")
    assert (none.code, none.err.count("\n")) == (1, 1)
    assert "none of these runs of grid scenes are done yet" in none.err


def test_results_of_other_settings_than_the_profiles_are_refused(recoseg, results) -> None:
    results.write_text(results.read_text().replace('"optimiser.lr": 0.1', '"optimiser.lr": 0.3'))
    outcome = recoseg("experiments", "table", *SCENES, "--results", results)
    assert (outcome.code in (1, 2), outcome.err.count("\n")) == (True, 1)
    assert "seed-0 was run with optimiser.lr 0.3, but profile tiny has 0.1" in outcome.err


def test_a_result_from_before_a_setting_existed_still_reads(recoseg, results) -> None:
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    for line in lines:
        assert line["settings"].pop("split.unlabelled") is None
        assert line["settings"].pop("optimiser.name") == "sgd"
    results.write_text("".join(json.dumps(line) + "\n" for line in lines))
    outcome = recoseg("experiments", "table", *SCENES, "--results", results)
    assert outcome.code == 0, outcome.err


def test_a_table_of_run_folders_can_be_saved_and_made_again_without_them(
    recoseg, trial, in_process, results
) -> None:
    kept = trial.path / "kept.jsonl"
    words = ("experiments", "table", "scenes", *trial.words[4:], "runs", "--format", "csv")
    run = recoseg(*trial.words, "runs", "--only", "supervised")
    assert run.code == 0, run.out + run.err
    first = recoseg(*words, "--save", kept)
    assert first.code == 0, first.err
    again = recoseg(*words[:-3], "nowhere", "--format", "csv", "--results", kept)
    assert again.out == first.out
    assert f"{100 * trial.scores('supervised')['mean_iou']:.1f}" in first.out
    kept.write_text(kept.read_text() + results.read_text())
    assert recoseg(*words, "--save", kept).code == 0
    assert len(kept.read_text().splitlines()) == 1 + 5  # others stay


def test_a_table_side_by_side_is_printed_and_written(recoseg, results) -> None:
    words = ("experiments", "table", *SCENES, "--results", results, "--beside")
    printed, written = recoseg(*words), recoseg(*words, "--format", "markdown")
    assert (printed.code, written.code) == (0, 0), printed.err + written.err
    assert max(map(len, printed.out.splitlines())) <= 80
    head = written.out.splitlines()[2]
    assert [cell.strip() for cell in head.strip("|").split("|")] == [
        "method",
        "drawn scenes, 10 labelled images",
    ]


SMALL_RESULTS = Path(__file__).parents[2] / "results" / "small.jsonl"


def test_rows_of_committed_results_are_compared(recoseg) -> None:
    rows = ("supervised", "classmix", "reco-classmix", "vat")
    outcome = recoseg("experiments", "compare", *rows, "--results", SMALL_RESULTS)
    assert outcome.code == 0
    assert max(map(len, outcome.out.splitlines())) <= 80
    lines = [line.split() for line in outcome.out.splitlines()]
    # 54.78, 53.30, 53.47 less 52.69, 49.19, 50.09: mean 3.19, SD 1.01
    first = next(line for line in lines if line[:1] == ["ClassMix"])
    assert " ".join(first) == "ClassMix 3 53.9 0.8 +3.2 +0.7, +5.7 1.0 .032 .250 .097 8"
    assert "corrected for 4 comparisons" in " ".join(outcome.out.split())  # two of them on Cityscapes
    left_out = [line for line in outcome.err.splitlines() if "camvid-20, vat against supervised" in line]
    assert len(left_out) == len(outcome.err.splitlines()) == 2
    assert "not compared, 1 pair of seeds" in left_out[0]


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_a_comparison_is_written_to_a_file(recoseg, tmp_path, form) -> None:
    words = ("experiments", "compare", "cutmix", "reco-cutmix", "--results", SMALL_RESULTS, "--format", form)
    assert recoseg(*words, "--out", "table").code == 0
    assert (tmp_path / "table").read_text() == recoseg(*words).out
    again = recoseg(*words, "--out", "table")
    assert (again.code, again.err.count("\n")) == (1, 1)


def test_run_folders_are_compared_as_files_of_results_are(recoseg, results, tmp_path) -> None:
    words = ("experiments", "compare", "supervised", "classmix", "reco-classmix", "--profile", "tiny")
    cells = cells_of(GRIDS["scenes"], load_profile("tiny"), seeds=(0, 1), out=tmp_path / "runs")
    places = {(cell.row, cell.seed): cell for cell in cells}
    for line in results.read_text().splitlines():
        cell = places[json.loads(line)["row"], json.loads(line)["seed"]]
        cell.folder.mkdir(parents=True)
        (cell.folder / "split.json").write_text("{}")
        (cell.folder / "config.yaml").write_text(to_yaml(cell.config))
        (cell.folder / "result.json").write_text(line)
    of_file, of_folders = recoseg(*words, "--results", results), recoseg(*words, "--runs", "runs")
    assert of_folders == of_file
    assert of_file.code == 0
    assert "left out (only one of the two has it): seed 1" in of_file.err
    damaged = places["classmix", 1].folder / "result.json"
    damaged.write_text("{")
    outcome = recoseg(*words, "--runs", "runs")
    assert (outcome.code, outcome.err.count("\n")) == (1, 2)
    assert f"{damaged}: not JSON, or cut short" in outcome.err
    assert "not compared, 1 pair of seeds" in outcome.err


def test_a_score_that_is_no_number_is_named_by_its_line(recoseg, results) -> None:
    results.write_text(results.read_text().replace('"mean_iou": 0.45', '"mean_iou": NaN'))
    outcome = recoseg(
        "experiments", "compare", "supervised", "classmix", "--profile", "tiny", "--results", results
    )
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert f"{results} line" in outcome.err


@pytest.mark.slow
def test_the_estimate_of_a_dry_run_is_near_what_a_run_takes(recoseg, tmp_path) -> None:
    """Estimated before and after it, as a machine may become busier, or less so, meanwhile."""
    text = (Path(__file__).parents[2] / "configs" / "tiny_scenes.yaml").read_text()
    (tmp_path / "shorter.yaml").write_text(text.replace("iterations: 300", "iterations: 100"))
    (tmp_path / "mine.yaml").write_text("configs: {scenes: shorter.yaml}\n")
    words = ("experiments", "run", "scenes", "--profile", "mine.yaml", "--seeds", "0", "--only", "classmix")

    def estimate() -> int:
        told = recoseg(*words, "--dry-run", "--runs", "none")
        minutes, seconds = told.out.splitlines()[-1].split()[1].split(":")
        return 60 * int(minutes) + int(seconds)

    before = estimate()
    assert recoseg(*words, "--runs", "runs").code == 0
    low, high = sorted([before, estimate()])
    result = json.loads(next(tmp_path.rglob("result.json")).read_text())
    assert low / 1.5 < result["seconds"] < high * 1.5
