"""Draws docs/images/regional_contrast.svg: what the regional contrast does, in three panels.

python docs/draw_regional_contrast.py
"""

from __future__ import annotations

import math
from pathlib import Path

INK, SOFT, FAINT, PULL, PUSH = "#22303c", "#5b6b7a", "#dfe5ea", "#1a8f5a", "#c8402f"
CLASSES = {"road": "#7b6fae", "rider": "#e0a030", "bicycle": "#3c8dbc", "tree": "#6aa84f"}
MAP = [  # rows of the feature map, by first letter; "." takes no part
    "tttttttttttt",
    "tttttrrttttt",
    "tttttrrrtttt",
    "ttttrrrrttt.",
    "tttbbrrbbt..",
    "aabbbbbbbbaa",
    "aabbaabbbaaa",
    "aaaaaaaaaaaa",
]
LETTERS = {"t": "tree", "r": "rider", "b": "bicycle", "a": "road"}
QUERIES = [(3, 4), (4, 5), (2, 7), (4, 6), (1, 5)]  # hard pixels of the rider: (row, column)
RELATION = {"bicycle": 0.8, "tree": -0.1, "road": -0.5}  # cosine of the rider's mean with theirs


def text(x: float, y: float, words: str, size: int = 14, fill: str = INK, **more: str) -> str:
    extra = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}"{extra}>{words}</text>'


def heading(x: float, number: int, title: str, subtitle: str) -> list[str]:
    return [
        f'<circle cx="{x + 13}" cy="35" r="13" fill="{INK}"/>',
        text(x + 13, 40, str(number), 15, "white", text_anchor="middle", font_weight="bold"),
        text(x + 36, 33, title, 17, font_weight="bold"),
        text(x + 36, 52, subtitle, 13, SOFT),
    ]


def choose_queries(x: float, y: float, cell: float = 23) -> list[str]:
    parts = heading(x, 1, "Choose queries", "pixels of a class that the network finds hard")
    for row, line in enumerate(MAP):
        for column, letter in enumerate(line):
            fill = CLASSES[LETTERS[letter]] if letter in LETTERS else FAINT
            place = f'x="{x + column * cell:.1f}" y="{y + row * cell:.1f}"'
            parts.append(f'<rect {place} width="{cell - 1.5}" height="{cell - 1.5}" rx="3" fill="{fill}"/>')
    for row, column in QUERIES:
        centre = f'cx="{x + (column + 0.47) * cell:.1f}" cy="{y + (row + 0.47) * cell:.1f}"'
        parts.append(f'<circle {centre} r="6.5" fill="white" stroke="{INK}" stroke-width="2.5"/>')
    legend_y = y + len(MAP) * cell + 26
    for index, (name, colour) in enumerate(CLASSES.items()):
        left = x + index * 70
        parts.append(f'<rect x="{left}" y="{legend_y - 11}" width="13" height="13" rx="3" fill="{colour}"/>')
        parts.append(text(left + 18, legend_y, name, 13))
    parts.append(
        f'<circle cx="{x + 7}" cy="{legend_y + 22}" r="6" fill="white" stroke="{INK}" stroke-width="2.5"/>'
    )
    parts.append(text(x + 20, legend_y + 27, "hard: probability of its own label \u2264 0.97", 13))
    parts.append(f'<rect x="{x}" y="{legend_y + 40}" width="13" height="13" rx="3" fill="{FAINT}"/>')
    parts.append(text(x + 20, legend_y + 51, "255: takes no part", 13))
    return parts


def choose_keys(x: float, y: float) -> list[str]:
    parts = heading(x, 2, "Choose keys", "more from classes that look alike")
    weights = {name: math.exp(cosine) for name, cosine in RELATION.items()}
    total = sum(weights.values())
    parts.append(text(x, y + 12, "for the queries of", 13, SOFT))
    parts.append(f'<rect x="{x + 112}" y="{y}" width="14" height="14" rx="3" fill="{CLASSES["rider"]}"/>')
    parts.append(text(x + 131, y + 12, "rider", 13))
    for index, (name, cosine) in enumerate(RELATION.items()):
        top, share = y + 36 + index * 56, weights[name] / total
        parts.append(text(x, top, f"{name}, cosine of the means {cosine:+.1f}".replace("-", "\u2212"), 13))
        bar = f'x="{x}" y="{top + 8}" height="20" rx="3"'
        parts.append(f'<rect {bar} width="240" fill="{FAINT}"/>')
        parts.append(f'<rect {bar} width="{240 * share:.1f}" fill="{CLASSES[name]}"/>')
        parts.append(text(x + 240 * share + 7, top + 23, f"{share:.0%}", 13))
    bottom = y + 212
    parts.append(text(x, bottom, "softmax of the cosines (Eq. 3);", 13, SOFT))
    parts.append(text(x, bottom + 18, "within a class, any pixel alike", 13, SOFT))
    parts.append(text(x, bottom + 44, "positive key: the mean of the rider\u2019s", 13, PULL))
    parts.append(text(x, bottom + 62, "own features (Eq. 2)", 13, PULL))
    return parts


def arrow(x0: float, y0: float, x1: float, y1: float, colour: str, width: float) -> str:
    name = "pull" if colour == PULL else "push"
    points = f'x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"'
    return f'<line {points} stroke="{colour}" stroke-width="{width}" marker-end="url(#{name})"/>'


def compare(x: float, y: float, radius: float = 110) -> list[str]:
    parts = heading(x, 3, "Compare", "by cosine: features as points on a circle")
    cx, cy = x + 128, y + radius + 6
    parts.append(f'<circle cx="{cx}" cy="{cy}" r="{radius}" fill="none" stroke="{FAINT}" stroke-width="2"/>')

    def on_circle(degrees: float, distance: float = radius) -> tuple[float, float]:
        return cx + distance * math.cos(math.radians(degrees)), cy - distance * math.sin(
            math.radians(degrees)
        )

    query, mean = on_circle(68), on_circle(120)
    for degrees, width in ((30, 3.5), (4, 2.5), (-18, 1.5)):  # the nearer a key, the harder it pushes
        key = on_circle(degrees)
        dx, dy = query[0] - key[0], query[1] - key[1]
        begin, end = 12 / math.hypot(dx, dy), 1 - 18 / math.hypot(dx, dy)
        parts.append(
            arrow(key[0] + dx * begin, key[1] + dy * begin, key[0] + dx * end, key[1] + dy * end, PUSH, width)
        )
    for name, angles in (("bicycle", (30, 17, 4, -7, -18)), ("tree", (192, 207)), ("road", (278,))):
        for px, py in map(on_circle, angles):
            parts.append(
                f'<circle cx="{px:.1f}" cy="{py:.1f}" r="6.5" fill="{CLASSES[name]}" stroke="white"/>'
            )
    pulled = on_circle(112, radius + 17)
    start = on_circle(74, radius + 15)
    parts.append(
        f'<path d="M {start[0]:.1f} {start[1]:.1f} A {radius + 16} {radius + 16} 0 0 0 '
        f'{pulled[0]:.1f} {pulled[1]:.1f}" '
        f'fill="none" stroke="{PULL}" stroke-width="3" marker-end="url(#pull)"/>'
    )
    star = " ".join(
        f"{mean[0] + r * math.sin(i * math.pi / 5):.1f},{mean[1] - r * math.cos(i * math.pi / 5):.1f}"
        for i, r in enumerate([13, 5.5] * 5)
    )
    parts.append(f'<polygon points="{star}" fill="{CLASSES["rider"]}" stroke="{INK}" stroke-width="1.5"/>')
    centre = f'cx="{query[0]:.1f}" cy="{query[1]:.1f}"'
    parts.append(f'<circle {centre} r="8" fill="white" stroke="{INK}" stroke-width="3"/>')
    parts.append(text(mean[0] - 18, mean[1] + 2, "mean", 13, text_anchor="end"))
    parts.append(text(query[0] + 15, query[1] - 5, "query", 13))
    parts.append(text(cx + radius + 12, cy - 12, "negative", 13))
    parts.append(text(cx + radius + 12, cy + 4, "keys", 13))
    parts.append(text(cx - 28, cy + 8, "pulled to the mean,", 13, PULL, text_anchor="middle"))
    parts.append(text(cx - 28, cy + 26, "pushed from negatives", 13, PUSH, text_anchor="middle"))
    bottom = y + 2 * radius + 44
    parts.append(text(x, bottom, "Then average the losses of all queries", 13, SOFT))
    parts.append(text(x, bottom + 18, "and classes. Only queries get a gradient.", 13, SOFT))
    return parts


def marker(name: str, colour: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 10 10" refX="7" refY="5" markerWidth="5" markerHeight="5" '
        f'orient="auto-start-reverse"><path d="M 0 0 L 10 5 L 0 10 z" fill="{colour}"/></marker>'
    )


def main() -> None:
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1010 370" '
        'font-family="Helvetica, Arial, sans-serif">',
        '<rect width="1010" height="370" fill="white"/>',
        f"<defs>{marker('pull', PULL)}{marker('push', PUSH)}</defs>",
        *choose_queries(24, 80),
        *choose_keys(358, 80),
        *compare(672, 72),
        "</svg>",
    ]
    target = Path(__file__).parent / "images" / "regional_contrast.svg"
    target.write_text("\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
