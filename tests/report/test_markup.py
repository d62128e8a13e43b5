import re

import pytest

from recoseg.report.markup import Markup, breakable, joined, run_colour, run_heading, tag


def test_text_is_escaped_and_markup_is_not():
    assert tag("p", "a < b & c", tag("b", "d")) == "<p>a &lt; b &amp; c<b>d</b></p>"


def test_attributes_are_escaped():
    assert tag("a", title='"><script>') == '<a title="&#34;&gt;&lt;script&gt;"></a>'


def test_attribute_names_follow_python_names():
    assert tag("i", class_="x", data_iou_0=0.5) == '<i class="x" data-iou-0="0.5"></i>'


def test_false_and_none_leave_an_attribute_out_but_zero_and_nothing_do_not():
    assert (
        tag("input", checked=True, hidden=False, value=None, min=0, alt="")
        == '<input checked min="0" alt="">'
    )


def test_joining_escapes_only_plain_strings():
    assert joined(["<", Markup("<br>")]) == "&lt;<br>"


def test_the_ninth_run_takes_the_first_colour_again():
    assert [run_colour(0), run_colour(7), run_colour(8)] == ["run-1", "run-8", "run-1"]


@pytest.mark.parametrize("name", ["reco_class_mix", "runs/a.b", "x_<b>_", "__", "plain", ""])
def test_names_may_wrap_after_their_separators_and_nothing_else_of_them_changes(name):
    assert breakable(name).replace("<wbr>", "") == joined([name])
    assert run_heading(name, 0).count("<wbr>") == len(re.findall(r"[_./](?=.)", name))
