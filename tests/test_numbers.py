from recoseg.text import count, how_many, hundredths, percent, percent_of_pixels, plain, points


def test_shares_have_one_decimal_and_a_missing_one_is_a_dash():
    assert [percent(0.41257), percent(1.0), percent(None)] == ["41.3%", "100.0%", "–"]
    assert [hundredths(0.41257), hundredths(0.0), hundredths(None)] == ["41.3", "0.0", "–"]
    assert [hundredths(float("nan")), percent(float("nan")), percent(0.41257, digits=0, sign=" %")] == [
        "–",
        "–",
        "41 %",
    ]


def test_a_share_of_pixels_is_0_only_where_there_is_none():
    assert [percent_of_pixels(share) for share in (0, 0.00001, 0.00005, 0.123456)] == [
        "0 %",
        "< 0.01 %",
        "0.01 %",
        "12.35 %",
    ]


def test_differences_carry_their_sign_and_one_too_small_to_show_has_none():
    assert [points(0.021), points(-0.021), points(-0.0001)] == ["+2.1", "−2.1", "±0.0"]


def test_large_numbers_are_grouped_and_small_ones_short():
    assert [count(40000), plain(0.1 + 0.2), plain(12345.6), plain(0.00012)] == [
        "40,000",
        "0.3",
        "12,346",
        "0.00012",
    ]


def test_nouns_follow_their_number():
    assert [how_many(1, "run"), how_many(2, "run"), how_many(1, "class"), how_many(0, "class")] == [
        "1 run",
        "2 runs",
        "1 class",
        "0 classes",
    ]
