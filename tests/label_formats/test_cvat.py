"""CVAT for images 1.1, as a task exports it."""

from __future__ import annotations

import pytest

from recoseg.data.problem import FileError

LABELS = """<labels>
  <label><name>leaf</name><color>#00a000</color><type>any</type><attributes></attributes></label>
  <label><name>stem</name><color>#c83c00</color><type>any</type><attributes></attributes></label>
</labels>"""


def xml(*images: str, owner: str = "task") -> str:
    return f"""<?xml version="1.0" encoding="utf-8"?>
<annotations>
  <version>1.1</version>
  <meta><{owner}><id>5</id><name>plants</name><mode>annotation</mode>{LABELS}</{owner}></meta>
  {"".join(images)}
</annotations>"""


def image(name: str, height: int, width: int, *shapes: str, subset: str = "default") -> str:
    inner = "".join(shapes)
    return f'<image id="0" name="{name}" subset="{subset}" width="{width}" height="{height}">{inner}</image>'


def test_every_shape_with_an_area_and_the_colours_of_the_task(photo, text, imported) -> None:
    photo("images/a.jpg", 6, 8)
    text(
        "annotations.xml",
        xml(
            image(
                "a.jpg", 6, 8,
                '<polygon label="leaf" source="manual" occluded="0" points="0,0;2,0;2,2;0,2" z_order="0"/>',
                '<box label="stem" xtl="3" ytl="0" xbr="5" ybr="1"><attribute name="n">1</attribute></box>',
                '<mask label="stem" rle="1, 2, 3" left="5" top="4" width="3" height="2" z_order="0"></mask>',
                '<ellipse label="leaf" cx="1.5" cy="4.5" rx="0.9" ry="0.9" z_order="0"/>',
                '<box label="leaf" xtl="4" ytl="2" xbr="7" ybr="3" rotation="90.0" z_order="0"/>',
                '<tag label="leaf" source="manual"></tag>',
            )
        ),
    )  # fmt: skip
    made = imported("cvat")
    assert made.names == ("background", "leaf", "stem")
    assert made.told.classes.palette[1:] == ((0, 160, 0), (200, 60, 0))
    assert made.rows("a") == ["11022000", "11000100", "00000100", "00000100", "01000022", "00000000"]
    assert made.notes == {}


LEAF = '<polygon label="leaf" points="0,0;2,0;2,1;0,1" z_order="0"/>'
MASK = '<mask label="stem" rle="{}" left="1" top="0" width="{}" height="1" z_order="0"/>'
BROKEN = {
    "a letter": '<polygon label="stem" points="0,0;x,0" z_order="0"/>',
    "no label": '<polygon points="0,0;2,0;2,1" z_order="0"/>',
    "no number of a rotation": '<box label="stem" xtl="0" ytl="0" xbr="2" ybr="1" rotation="nan"/>',
    "a box beyond any image": '<box label="stem" xtl="0" ytl="0" xbr="1e308" ybr="1e308" rotation="9"/>',
    "an endless radius": '<ellipse label="stem" cx="1" cy="1" rx="inf" ry="1"/>',
    "no layer": '<polygon label="stem" points="0,0;2,0;2,1" z_order="x"/>',
    "an unknown type": '<cuboid label="stem" xtl1="1" z_order="0"/>',
    "a mask without a place": '<mask label="stem" rle="1" left="x" top="0" width="1" height="1"/>',
}
MASKS = {
    "too few pixels": MASK.format("1, 1", 3),
    "a sum that wraps": MASK.format(f"{2**62}, {2**62}, {2**62}, {2**62}, 3", 3),
    "a letter": MASK.format("1, x", 3),
    "larger than its image": MASK.format("0, 100000000", 100_000_000),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_an_object_that_cannot_be_read_leaves_nothing_background(photo, text, imported, broken) -> None:
    photo("images/a.jpg", 2, 4)
    text("annotations.xml", xml(image("a.jpg", 2, 4, LEAF, broken)))
    made = imported("cvat")
    assert made.rows("a") == ["11..", "...."]
    assert made.told.num_voided == 1


@pytest.mark.parametrize("broken", MASKS.values(), ids=MASKS)
def test_a_mask_that_cannot_be_read_is_void_where_it_lies(photo, text, imported, broken) -> None:
    photo("images/a.jpg", 2, 5)
    text("annotations.xml", xml(image("a.jpg", 2, 5, LEAF, broken)))
    rest = "..." if "100000000" in broken else "..0"
    made = imported("cvat")
    assert made.rows("a") == [f"11{rest}", "00000"]
    assert made.notes["objects that cannot be read: void"] == 1


def test_what_is_in_front_by_its_z_order(photo, text, imported) -> None:
    photo("images/a.jpg", 2, 3)
    text(
        "annotations.xml",
        xml(image("a.jpg", 2, 3, '<polygon label="stem" points="0,0;3,0;3,2;0,2" z_order="4"/>',
                  '<polygon label="leaf" points="0,0;1,0;1,1;0,1" z_order="1"/>')),
    )  # fmt: skip
    assert imported("cvat").rows("a") == ["122", "222"]
    assert imported("cvat", to="later", overlap="later").rows("a") == ["222", "222"]


def test_points_and_polylines(photo, text, imported) -> None:
    photo("images/a.jpg", 3, 4)
    shapes = (
        '<points label="leaf" points="0.5,0.5;3.5,0.5"/>',
        '<polyline label="stem" points="0.5,2.5;3.5,2.5"/>',
    )
    text("annotations.xml", xml(image("a.jpg", 3, 4, *shapes)))
    assert imported("cvat", thickness=1).rows("a") == ["0..0", "....", "1111"]


def test_a_project_has_subsets_and_folders(photo, text, imported) -> None:
    leaf = '<polygon label="leaf" points="0,0;1,0;1,1;0,1" z_order="0"/>'
    for subset in ("Train", "Validation"):
        photo(f"images/{subset}/day/a.jpg", 1, 2)
    text(
        "annotations.xml",
        xml(
            image("Train/day/a.jpg", 1, 2, leaf, subset="Train"),
            image("Validation/day/a.jpg", 1, 2, leaf, subset="Validation"),
            owner="project",
        ),
    )
    made = imported("cvat")
    assert made.keys() == ["Train/day/a", "Validation/day/a"]
    assert (made.folder / "val.txt").read_text() == "Validation/day/a\n"


def test_other_exports_of_cvat_are_named(text, imported) -> None:
    text("annotations.xml", xml('<track id="0" label="leaf"><box frame="0"/></track>'))
    with pytest.raises(FileError, match=r"this is CVAT for video; export the task as CVAT for images 1\.1"):
        imported("cvat")
    bomb = '<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    text("annotations.xml", xml().replace("<annotations>", f"{bomb}<annotations>"))
    with pytest.raises(FileError, match="its own document type"):
        imported("cvat")
    text("annotations.xml", xml()[:-20])
    with pytest.raises(FileError, match="not XML, or cut short"):
        imported("cvat")
