"""The whole page, as a browser would read it."""

import itertools
import re

import pytest
import torch

from recoseg.errors import UserError
from recoseg.report.markup import tag
from recoseg.report.page import SECTIONS, Section, page, write_page
from recoseg.types import ClassInfo

NASTY = "<script>alert(\"x\")</script> & 'co'"


@pytest.fixture
def read_page(read_html):
    def read(*runs, title="Report"):
        return read_html(page(runs, title=title))

    return read


def facts(root):
    summary = root.one("dl", "facts")
    return dict(zip((n.text for n in summary.all("dt")), (n.text for n in summary.all("dd")), strict=True))


def table_rows(root, class_):
    body = root.one("table", class_).one("tbody")
    return [[cell.text for cell in row.children] for row in body.all("tr")]


def test_one_run_shows_the_numbers_of_its_last_evaluation(read_page, make_run):
    assert facts(read_page(make_run())) == {
        "Mean IoU": "55.0%",  # of 0.6 and 0.5
        "Boundary IoU": "37.5%",  # of 3/6 and 1/4
        "Boundary F": "58.3%",  # of 1/2 and 2/3
        "Pixel accuracy": "71.4%",  # 100 of 140
        "Iterations": "2,000",
        "Labelled images": "12",
        "Unlabelled images": "1,234",
        "Classes in the mean": "2 of 3",
        "Method": "mean_teacher with classmix",
        "Network": "deeplab_v3_plus, resnet101",
        "Scored weights": "last",
    }


def test_a_comparison_says_which_runs_are_scored_by_an_average(read_page, make_run):
    plain, average = make_run(name="plain", num_unlabelled=0), make_run(name="mean", weights="EMA 0.975")
    root = read_page(plain, average)
    assert [row[0].partition("; ")[2] for row in table_rows(root, "comparison")] == [
        "last weights",
        "EMA 0.975",
    ]
    assert table_rows(root, "comparison")[0][7] == "0"  # unlabelled images
    (note,) = (text for text in notes(root) if "EMA" in text)
    assert "plain" in note
    assert "--method.average 0.975" in note
    assert not any("EMA" in text for text in notes(read_page(average, average)))


def notes(root):
    return [note.text for note in root.one("section", id="summary").all("p", "note")]


def test_the_summary_names_the_classes_that_the_mean_leaves_out(read_page, make_run):
    assert notes(read_page(make_run())) == [
        "1 class in neither truth nor prediction, left out of the mean: kangaroo."
    ]


def test_the_summary_names_the_classes_that_were_never_predicted(read_page, make_run, scores_line):
    run = make_run(metrics=[scores_line(1, [[9, 0, 0], [4, 0, 0], [0, 0, 1]])])
    assert notes(read_page(run)) == ["1 class never predicted: sky."]


def test_the_page_has_a_title_a_language_and_a_width_for_phones(read_page, make_run):
    root = read_page(make_run(), title="Twelve labels")
    assert root.one("head").one("title").text == root.one("h1").text == "Twelve labels"
    assert root.one("html").attributes["lang"] == "en"
    assert "width=device-width" in root.one("meta", name="viewport").attributes["content"]


def test_several_runs_are_compared_with_the_first(read_page, make_run, scores_line):
    better = make_run(name="better", metrics=[scores_line(3000, [[9, 1, 0], [0, 9, 0], [0, 0, 1]])])
    rows = table_rows(read_page(make_run(), better), "comparison")
    method = "mean_teacher with classmix"
    assert rows[0] == [f"plain{method}", "55.0%", "37.5%", "58.3%", "71.4%", "2,000", "12", "1,234", "2 of 3"]
    # IoU 9/10, 9/10 and 1; mean 0.9333 is 38.3 points above 0.55
    assert rows[1][:2] == [f"better{method}", "93.3%+38.3"]
    assert rows[1][4:] == ["95.0%", "3,000", "12", "1,234", "3 of 3"]


def test_a_network_that_all_runs_share_is_said_once_and_others_at_each_run(read_page, make_run):
    other = make_run(network="deeplab_v2")
    assert (
        read_page(make_run(), make_run()).one("p", "subtitle").text.endswith("· deeplab_v3_plus, resnet101")
    )
    root = read_page(make_run(), other)
    assert root.one("p", "subtitle").text == "2 runs · 3 classes · 4 validation images"
    assert table_rows(root, "comparison")[1][0] == "plainmean_teacher with classmix; deeplab_v2"


def test_the_best_run_is_named_and_marked(read_page, make_run, scores_line):
    better = make_run(name="better", metrics=[scores_line(3000, [[9, 1, 0], [0, 9, 0], [0, 0, 1]])])
    root = read_page(make_run(), better)
    assert root.one("p", "lead").text == "better has the highest mean IoU, 93.3%: 38.3 points above plain."
    assert root.one("table", "comparison").one("strong").text == "93.3%"


def test_runs_that_are_equally_good_share_the_lead(read_page, make_run):
    lead = read_page(make_run(name="a"), make_run(name="b")).one("p", "lead").text
    assert lead == "a and b share the highest mean IoU, 55.0%."


def test_the_table_of_classes_shows_share_iou_and_accuracy(read_page, make_run):
    assert table_rows(read_page(make_run()), "classes") == [
        ["road", "71.4", "60.0", "60.0", "50.0", "50.0"],
        ["sky", "28.6", "50.0", "100.0", "25.0", "66.7"],
        ["kangaroo", "0.0", "absent, left out of the mean–", "–", "–", "–"],
    ]


def test_without_boundary_scores_the_table_has_no_columns_for_them(read_page, make_run):
    root = read_page(make_run(survey=None))
    assert table_rows(root, "classes")[0] == ["road", "71.4", "60.0", "60.0"]
    assert facts(root)["Boundary IoU"] == "–"


def test_bars_are_as_long_as_the_iou(read_page, make_run):
    tracks = read_page(make_run()).one("table", "classes").all("span", "track")
    assert [track.children[0].attributes["style"] for track in tracks] == ["width:60.00%", "width:50.00%"]


def test_every_class_has_a_bar_for_each_run_that_says_whose_it_is(read_page, make_run):
    root = read_page(make_run(), make_run(name="other", metrics=[]))
    bars = [bar.text for bar in root.one("table", "classes").all("div", "bar")]
    assert bars[:2] == ["plain: 60.0", "other: not evaluated yet–"]
    assert len(bars) == 6


def test_rows_carry_the_numbers_that_sorting_needs(read_page, make_run, scores_line):
    other = make_run(metrics=[scores_line(1, [[1, 0, 0], [0, 1, 0], [0, 0, 1]])])
    road, _, kangaroo = read_page(make_run(), other).one("table", "classes").one("tbody").all("tr")
    sort_values = {key: value for key, value in road.attributes.items() if key.startswith("data-iou")}
    assert sort_values == {"data-iou-0": "0.6", "data-iou-1": "1.0", "data-iou-gain": "0.4"}
    assert "data-iou-0" not in kangaroo.attributes
    assert kangaroo.attributes["data-iou-1"] == "1.0"


def test_a_class_that_is_only_predicted_has_an_iou_but_no_accuracy(read_page, make_run, scores_line):
    rows = table_rows(
        read_page(make_run(metrics=[scores_line(1, [[1, 0, 1], [0, 1, 0], [0, 0, 0]])])), "classes"
    )
    assert rows[2][:4] == ["kangaroo", "0.0", "0.0", "–"]


def test_a_run_without_any_evaluation_says_so(read_page, make_run):
    root = read_page(make_run(metrics=[]))
    assert facts(root)["Mean IoU"] == facts(root)["Classes in the mean"] == "–"
    assert notes(root) == [
        "Not evaluated yet: plain.",
        "Without weights, so without pictures and relations of classes: plain.",
    ]
    assert "No run has been evaluated yet." in root.one("section", id="classes").text


def test_a_run_that_has_not_logged_anything_gives_a_page(read_page, make_run):
    root = read_page(make_run(metrics=[], losses=[]), make_run(metrics=[], losses=[]))
    assert root.one("section", id="curves").text.count("Nothing recorded yet.") == 2
    assert root.one("p", "lead").text == "No run has been evaluated yet."


def test_an_evaluation_that_counted_no_pixel_is_a_dash(read_page, make_run, scores_line):
    nothing = make_run(metrics=[scores_line(1, [[0, 0, 0]] * 3)])
    assert facts(read_page(nothing))["Mean IoU"] == "–"
    assert table_rows(read_page(nothing), "classes")[0][1] == "–"


def test_one_evaluation_is_one_dot_at_its_iteration(read_page, make_run, scores_line):
    root = read_page(make_run(metrics=[scores_line(1000, [[60, 40, 0], [0, 40, 0], [0, 0, 0]])]))
    score_chart = root.one("section", id="curves").all("figure")[0]
    assert (
        score_chart.one("circle").attributes["cx"] == "50.0%"
    )  # of the 2000 iterations that the losses tell of
    assert score_chart.one("title").text == "iteration 1,000\nplain: 55%"


def test_a_sole_part_of_the_loss_has_no_chart_of_its_own(read_page, make_run):
    headings = [h.text for h in read_page(make_run()).one("section", id="curves").all("h3")]
    assert headings == ["Mean IoU", "Loss"]


def test_every_part_of_the_loss_that_any_run_has_gets_a_chart(read_page, make_run):
    line = {"iteration": 1, "lr": 0.1, "loss": 3.0, "supervised": 1.0, "contrast": 2.0, "seconds": 1}
    root = read_page(make_run(), make_run(losses=[line])).one("section", id="curves")
    assert [h.text for h in root.all("h3")] == ["Mean IoU", "Loss", "Loss: supervised", "Loss: contrast"]
    assert [item.text for item in root.one("ul", "legend").all("li")] == ["plain", "plain"]


def test_losses_that_are_not_numbers_are_left_out_of_the_chart(read_page, make_run):
    losses = [
        {"iteration": i, "lr": 0.1, "loss": loss}
        for i, loss in ((1, 1.0), (2, float("nan")), (3, float("inf")))
    ]
    loss_chart = read_page(make_run(losses=losses)).one("section", id="curves").all("figure")[1]
    assert loss_chart.one("title").text == "iteration 1\nplain: 1"


def test_text_from_users_is_never_markup(read_page, make_run, make_picture):
    classes = ClassInfo((NASTY, "sky", "kangaroo"), ((1, 1, 1), (2, 2, 2), (3, 3, 3)))
    nasty = {"name": NASTY, "classes": classes, "config_yaml": NASTY, "command": NASTY}
    runs = [make_run(**nasty, pictures=[make_picture(NASTY)]) for _ in range(2)]
    root = read_page(*runs, title=NASTY)
    assert len(root.all("script")) == 1
    assert root.one("h1").text == NASTY
    assert root.one("table", "comparison").one("tbody").all("span", "run-name")[0].text == NASTY
    assert root.one("table", "classes").one("tbody").all("th")[0].text == NASTY
    assert [code.text for code in root.all("code")] == [NASTY] * 4
    assert root.one("h3", "key").text == NASTY


def test_the_page_fetches_nothing(make_run, make_picture, read_page):
    run = make_run(pictures=[make_picture()])
    for node in read_page(run).walk():
        for name in ("src", "href"):
            assert (node.attributes.get(name) or "#").startswith(("data:", "#")), node
    assert not re.search(r"@import|https?://|url\((?![$#])", page([run], title="Report"))


def test_anchors_lead_to_sections(read_page, make_run):
    root = read_page(make_run())
    links = [link.attributes["href"] for link in root.one("nav").all("a")]
    assert links == [f"#{section.attributes['id']}" for section in root.all("section")]


@pytest.mark.parametrize("num_runs", [1, 3])
def test_no_id_is_used_twice_and_none_is_missing(read_page, make_run, make_picture, num_runs):
    runs = [make_run(pictures=[make_picture("a"), make_picture("b")]) for _ in range(num_runs)]
    nodes = list(read_page(*runs).walk())
    ids = [node.attributes["id"] for node in nodes if "id" in node.attributes]
    assert len(ids) == len(set(ids))
    meant = [
        node.attributes.get(name) for node in nodes for name in ("aria-labelledby", "data-chooser", "for")
    ]
    assert set(filter(None, meant)) <= set(ids)


@pytest.mark.parametrize("num_runs", [1, 3])
def test_everything_that_takes_a_key_or_a_click_has_a_name(read_page, make_run, make_picture, num_runs):
    runs = [make_run(pictures=[make_picture()]) for _ in range(num_runs)]
    root = read_page(*runs)
    labelled = {id(control) for label in root.all("label") if label.text.strip() for control in label.walk()}
    controls = [node for node in root.walk() if node.tag in {"input", "select", "button"}]
    assert len(controls) >= 7  # six views, and labels over the image
    assert all(id(control) in labelled for control in controls)
    focusable = [node for node in root.walk() if node.attributes.get("tabindex") == "0" and node.tag != "pre"]
    assert len(focusable) == 1 + 3 * num_runs  # the picture; of each run the confusion, Z and R
    assert all(node.attributes.get("aria-label") and node.attributes.get("role") for node in focusable)
    assert all(
        node.attributes.get("aria-label") for node in root.walk() if node.attributes.get("role") == "img"
    )
    assert all("alt" in image.attributes for image in root.all("img"))


def test_headings_never_skip_a_level(read_page, make_run, make_picture):
    root = read_page(*(make_run(pictures=[make_picture()]) for _ in range(2)))
    levels = [int(node.tag[1]) for node in root.walk() if re.fullmatch("h[1-6]", node.tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_only_several_runs_have_differences(read_page, make_run):
    assert "differences" not in [section.attributes["id"] for section in read_page(make_run()).all("section")]
    both = read_page(make_run(), make_run())
    assert "differences" in [section.attributes["id"] for section in both.all("section")]


def test_settings_and_command_are_there_to_copy(read_page, make_run):
    root = read_page(make_run()).one("section", id="origin")
    assert root.one("pre", "command").text == "recoseg train --config run.yaml"
    assert root.one("details").one("code").text == "optimiser:\n  lr: 0.01\n"


def test_runs_of_other_classes_do_not_share_a_page(make_run):
    other = make_run(name="other", classes=ClassInfo(("a", "b", "c"), ((1, 1, 1),) * 3))
    with pytest.raises(UserError, match="'other' has other classes than 'plain'"):
        page([make_run(), other], title="Report")


def test_a_page_of_no_runs_is_an_error():
    with pytest.raises(UserError, match="at least one run"):
        page([], title="Report")


def test_two_classes_and_150_have_a_row_each(read_page, make_run, make_picture, scores_line, many_classes):
    two = ClassInfo(("no", "yes"), ((0, 0, 0), (255, 255, 255)))
    for classes in (two, many_classes):
        count = len(classes)
        confusion = torch.eye(count, dtype=torch.int64).tolist()
        pictures = [make_picture(num_classes=count, width=2 * count)]
        root = read_page(make_run(classes=classes, metrics=[scores_line(1, confusion)], pictures=pictures))
        assert [row[0] for row in table_rows(root, "classes")] == list(classes.names)
        assert facts(root)["Classes in the mean"] == f"{count} of {count}"
        legend = root.one("section", id="pictures").all("ul", "legend")[0]
        assert [item.text for item in legend.all("li")] == list(classes.names)


def test_best_weights_are_named_as_what_they_are(read_page, make_run, scores_line) -> None:
    first, second = make_run().metrics
    on = "4 labelled images held back from training"
    first = {**first, "selection": {"on": on, "mean_iou": 0.7}}
    second = {**second, "selection": {"on": on, "mean_iou": 0.6}}
    page = read_page(make_run(metrics=[first, second]))
    notes = " ".join(note.text for note in page.all("p", "note"))
    assert "scores here are those of the last weights" in notes
    assert f"iteration 1,000, chosen by their mean IoU of 70.0% on {on}" in notes
    assert "best.safetensors" not in " ".join(note.text for note in read_page(make_run()).all("p", "note"))


@pytest.mark.parametrize(
    ("pixels", "text"),
    [(None, "12"), ("1", "12, 1 pixel of each class"), ("5%", "12, 5% of each class")],
)
def test_partly_labelled_images_are_named_as_such(read_page, make_run, pixels, text) -> None:
    page = read_page(make_run(pixels=pixels))
    facts = {fact.one("dt").text: fact.one("dd").text for fact in page.one("dl", "facts").all("div")}
    assert facts["Labelled images"] == text


def test_a_long_list_of_absent_classes_is_cut_short(read_page, make_run, scores_line, many_classes):
    confusion = torch.zeros(150, 150, dtype=torch.int64)
    confusion[0, 0] = 1
    run = make_run(classes=many_classes, metrics=[scores_line(1, confusion.tolist())])
    [note] = notes(read_page(run))
    assert note.startswith("149 classes in neither")
    assert note.endswith("class 8 and 141 more.")


def test_the_file_is_written_whole_and_can_be_written_again(tmp_path, make_run):
    path = tmp_path / "index.html"
    write_page(path, [make_run()], title="First")
    write_page(path, [make_run()], title="Second")
    assert path.read_text(encoding="utf-8") == page([make_run()], title="Second")
    assert [entry.name for entry in tmp_path.iterdir()] == ["index.html"]


def test_a_page_that_cannot_be_drawn_leaves_the_old_one(tmp_path, make_run):
    path = tmp_path / "index.html"
    write_page(path, [make_run()], title="First")
    with pytest.raises(UserError):
        write_page(path, [], title="Second")
    assert "First" in path.read_text(encoding="utf-8")


def test_a_section_is_a_function_and_its_line(read_page, make_run, monkeypatch):
    monkeypatch.setitem(
        SECTIONS, "toy", Section("A toy", lambda runs: tag("p", *(run.name for run in runs), class_="toy"))
    )
    monkeypatch.setitem(SECTIONS, "pair", Section("A pair", lambda runs: tag("p", "two"), for_several=True))
    alone, both = read_page(make_run(name="a")), read_page(make_run(name="a"), make_run(name="b"))
    assert [heading.text for heading in alone.all("h2")][-1] == "A toy"
    assert [heading.text for heading in both.all("h2")][-2:] == ["A toy", "A pair"]
    assert both.one("p", "toy").text == "ab"
    assert ["#toy" in {link.attributes.get("href") for link in root.all("a")} for root in (alone, both)] == [
        True,
        True,
    ]
