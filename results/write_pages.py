"""Put the tables of results/*.jsonl into RESULTS.md and README.md, and what runs cost into docs/training.md.

    python results/write_pages.py    # after recoseg experiments table NAME --save results/small.jsonl

A page has the place of a table between two comments, <!-- table NAME --> and <!-- end -->. One with boundary
scores and costs begins with <!-- wide NAME -->, one with its columns side by side with <!-- beside NAME -->,
and one of the scores of each class with <!-- classes NAME -->.
<!-- compare ROWS --> compares rows seed by seed, <!-- compare ROWS pairs --> two by two.
Numbers in a sentence stand between <!-- figures NAME --> and <!-- end --> on one line; see `figures`.
Rows or columns may follow the name, and then seeds: <!-- table camvid-20 classmix reco-classmix seeds 0 -->.
A chart with rows of its own has them above it: <!-- chart NAME ROWS -->.
The table and the chart of simulated clicks, <!-- clicks --> and clicks.svg, are of results/label.jsonl, where
benchmarks/clicks.py left its lines; <!-- costs --> is what benchmarks/methods.py measured.
"""

from __future__ import annotations

import json
import re
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from recoseg.cli.main import main as recoseg
from recoseg.experiments.plan.grids import ROWS
from recoseg.experiments.tables.results import measured_costs, read_results
from recoseg.figures.line_charts import Chart, Points, draw_charts, mean_line
from recoseg.files import write_whole
from recoseg.text import hundredths

ROOT = Path(__file__).resolve().parents[1]
PROFILE = "small"
RESULTS = ROOT / "results" / f"{PROFILE}.jsonl"
CLICKS = ROOT / "results" / "label.jsonl"
PAGES = (
    ROOT / "RESULTS.md",
    ROOT / "README.md",
    ROOT / "docs" / "training.md",
    ROOT / "docs" / "choosing.md",
)
CHARTS = ROOT / "docs" / "results"
PLACE = re.compile(
    r"(<!-- (?P<kind>table|wide|beside|classes|compare) (?P<words>[^>]+) -->\n).*?(?P<end><!-- end -->)",
    re.DOTALL,
)

PLACE_OF_FIGURES = re.compile(r"(<!-- figures (?P<name>[^>]+) -->).*?(<!-- end -->)")
PLACE_OF_CLICKS = re.compile(r"(<!-- clicks -->\n).*?(<!-- end -->)", re.DOTALL)
PLACE_OF_COSTS = re.compile(r"(<!-- costs -->\n).*?(<!-- end -->)", re.DOTALL)
CHART = re.compile(
    r"(?:<!-- chart (?P<words>[^>]+) -->\n)?"
    r"!\[[^]]*\]\(docs/results/(?P<grid>[a-z0-9-]+?)(?P<curves>-curves)?\.svg\)"
)


def table(words: str, *more: str) -> str:
    """The output of recoseg experiments table for "GRID [rows or columns] [seeds N ...]"."""
    named, _, seeds = words.partition(" seeds ")
    grid, *only = named.split()
    chosen = (["--only", *only] if only else []) + (["--seeds", *seeds.split()] if seeds else [])
    return output_of("table", grid, *chosen, *more)


def comparison(words: str) -> str:
    """The output of recoseg experiments compare for "ROWS [pairs]"."""
    rows, pairs, _ = words.partition(" pairs")
    return output_of("compare", *rows.split(), *(["--pairs"] if pairs else []), "--format", "markdown")


def output_of(*words: str) -> str:
    """What recoseg experiments prints of the committed results."""
    command = ["experiments", *words, "--profile", PROFILE, "--results", str(RESULTS)]
    with redirect_stdout(StringIO()) as output, redirect_stderr(StringIO()) as errors:
        code = recoseg(command)
    if code:
        raise SystemExit(f"recoseg {' '.join(command)}: {errors.getvalue().strip()}")
    return output.getvalue()


def filled(page: str) -> str:
    """The page with all of its tables written anew."""

    def written(place: re.Match[str]) -> str:
        if place["kind"] == "compare":
            return f"{place[1]}\n{comparison(place['words']).strip()}\n\n{place['end']}"
        more = [] if place["kind"] == "table" else [f"--{place['kind']}"]
        text = table(place["words"], *more, "--format", "markdown")
        return f"{place[1]}\n{text.strip()}\n\n{place['end']}"

    clicks = clicks_table(read_clicks())
    page = PLACE_OF_CLICKS.sub(lambda place: f"{place[1]}\n{clicks}\n\n{place[2]}", page)
    numbers = figures()
    page = PLACE_OF_FIGURES.sub(lambda place: f"{place[1]}{numbers[place['name']]}{place[3]}", page)
    page = PLACE_OF_COSTS.sub(lambda place: f"{place[1]}\n{costs()}\n\n{place[2]}", page)
    return PLACE.sub(written, page)


def figures() -> dict[str, str]:
    """Numbers in sentences, by name: over all committed runs, and over the measured costs."""
    results = read_results(RESULTS)
    rows = measured_costs().rows
    alone = [row for row in rows if not ROWS[row].contrast]
    seed_0 = {one.row: 100 * one.mean_iou for one in results if (one.column, one.seed) == ("camvid-20", 0)}
    gains = [seed_0[f"reco-{row}"] - seed_0[row] for row in alone]
    errors = {
        dataset: [
            100 * one.calibration_error
            for one in results
            if one.column.startswith(dataset) and one.calibration_error is not None
        ]
        for dataset in ("camvid", "cityscapes")
    }
    return {
        **{f"calibration {dataset}": range_of(values, 1) for dataset, values in errors.items()},
        "minutes": range_of([one.seconds / 60 for one in results], 0),
        "minutes alone": range_of([rows[row].minutes for row in alone], 0),
        "minutes of ReCo": range_of([rows[f"reco-{row}"].minutes - rows[row].minutes for row in alone], 0),
        "memory of ReCo": range_of(
            [100 * (rows[f"reco-{row}"].gigabytes / rows[row].gigabytes - 1) for row in alone], 0
        ),
        "methods with gains": f"{sum(gain > 0.05 for gain in gains)} of the {len(gains)}",
        "mean gain": f"{sum(gains) / len(gains):.1f}",
    }


def range_of(values: list[float], digits: int) -> str:
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


def costs() -> str:
    """Minutes and memory of a run of each method, in runs of Supervised too, without and with ReCo."""
    rows = measured_costs().rows
    unit = rows["supervised"]
    lines = [
        "| method | minutes | GB | time | memory | + ReCo: time | memory |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in (row for row in rows if not ROWS[row].contrast):
        alone = rows[row]
        figures = [f"{alone.minutes:.1f}", f"{alone.gigabytes:.1f}"]
        for cost in (alone, rows[f"reco-{row}"]):
            figures += [f"{cost.minutes / unit.minutes:.1f}", f"{cost.gigabytes / unit.gigabytes:.1f}"]
        lines.append(f"| {ROWS[row].title} | {' | '.join(figures)} |")
    return "\n".join(lines)


Clicks = dict[str, dict[str, list[Points]]]
"""Dataset -> strategy -> (clicks, mean IoU) of each seed."""


def read_clicks() -> Clicks:
    result: Clicks = {}
    for line in CLICKS.read_text(encoding="utf-8").splitlines():
        trial = json.loads(line)
        curve = list(zip(trial["clicks"], trial["mean_iou"], strict=True))
        result.setdefault(trial["data"], {}).setdefault(trial["strategy"], []).append(curve)
    return result


def clicks_table(found: Clicks) -> str:
    """Means over seeds."""
    curves = [curve for strategies in found.values() for seeds in strategies.values() for curve in seeds]
    clicks = sorted({count for curve in curves for count, _ in curve})
    lines = [f"| data | clicks | {' | '.join(map(str, clicks))} |", f"|---|---|{'---:|' * len(clicks)}"]
    for data, strategies in found.items():
        for strategy, seeds in strategies.items():
            means = dict(mean_line(seeds))
            cells = [hundredths(means.get(count)) for count in clicks]
            lines.append(f"| {data} | {strategy} | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw_clicks(path: Path, found: Clicks) -> None:
    """A panel for each dataset."""
    names = list(dict.fromkeys(name for strategies in found.values() for name in strategies))
    charts = [Chart(data, [by.get(name, []) for name in names], percent=True) for data, by in found.items()]
    about = "Clicks of a simulated annotator; pale lines are seeds."
    title = "Mean IoU over clicks"
    draw_charts(path, names, charts, title=title, about=about, across="clicks", from_zero=False)


def draw(page: str) -> None:
    """The charts that a page shows: docs/results/NAME.svg, and NAME-curves.svg."""
    CHARTS.mkdir(parents=True, exist_ok=True)
    for place in CHART.finditer(page):
        path = str(CHARTS / f"{place['grid']}{place['curves'] or ''}.svg")
        if place["grid"] == "clicks":
            draw_clicks(Path(path), read_clicks())
            continue
        table(place["words"] or place["grid"], "--curves" if place["curves"] else "--chart", path, "--force")


def main() -> None:
    for path in PAGES:
        page = filled(path.read_text(encoding="utf-8"))
        write_whole(path, page)
        draw(page)


if __name__ == "__main__":
    main()
