"""A log-log plot of time against size, as SVG, with the slope of each line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_WIDTH, _HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 150, 20, 50
_OF_A_LETTER = 7  # about the width of one
_COLOURS = ("#0b6e4f", "#b3541e", "#3d5a98")
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#444}"
    ".grid{stroke:#ddd}.line{fill:none;stroke-width:2}"
    "@media(prefers-color-scheme:dark){text{fill:#bbb}.grid{stroke:#444}}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line of the plot, with (size, seconds) of each point."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """Powers of ten from `low` to `high`, drawn between two positions."""

    low: int
    high: int
    start: float
    end: float

    def place(self, number: float) -> float:
        return self.start + (math.log10(number) - self.low) / (self.high - self.low) * (self.end - self.start)

    def powers(self) -> range:
        return range(self.low, self.high + 1)


def slope(series: Series) -> float:
    """Return the exponent by which time grows with size: least squares on the logarithms."""
    sizes = [math.log(size) for size, _ in series.points]
    times = [math.log(seconds) for _, seconds in series.points]
    size, time = sum(sizes) / len(sizes), sum(times) / len(times)
    above = sum((x - size) * (y - time) for x, y in zip(sizes, times, strict=True))
    return above / sum((x - size) ** 2 for x in sizes)


def plot(series: Sequence[Series], across: str, up: str) -> str:
    """Draw the plot; both axes are logarithmic."""
    sizes = [size for each in series for size, _ in each.points]
    times = [seconds for each in series for _, seconds in each.points]
    x = _axis(sizes, _LEFT, _WIDTH - _RIGHT)
    y = _axis(times, _HEIGHT - _BOTTOM, _TOP)
    width = max(_WIDTH, _WIDTH - _RIGHT + _OF_A_LETTER * max(len(_name(each)) for each in series))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_HEIGHT}" role="img">',
            f"<title>{up} against {across}</title>",
            f"<style>{_STYLE}</style>",
            *_grid(x, y),
            _label(across, (_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 10),
            _label(up, 14, _HEIGHT / 2, f' transform="rotate(-90 14 {_HEIGHT / 2})"'),
            *(_line(each, colour, x, y) for each, colour in zip(series, _COLOURS, strict=False)),
            *_names(series, y, x),
            "</svg>\n",
        ]
    )


def _label(text: str, x: float, y: float, turned: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle"{turned}>{text}</text>'


def _axis(numbers: Sequence[float], start: float, end: float) -> _Axis:
    low, high = math.floor(math.log10(min(numbers))), math.ceil(math.log10(max(numbers)))
    return _Axis(low=low, high=max(high, low + 1), start=start, end=end)


def _grid(x: _Axis, y: _Axis) -> Iterator[str]:
    for power in x.powers():
        at = x.place(10.0**power)
        yield f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>'
        yield f'<text x="{at:.1f}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{10**power:,}</text>'
    for power in y.powers():
        at = y.place(10.0**power)
        yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
        yield f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{10.0**power:g}</text>'


def _line(series: Series, colour: str, x: _Axis, y: _Axis) -> str:
    points = " ".join(f"{x.place(size):.1f},{y.place(seconds):.1f}" for size, seconds in series.points)
    return f'<polyline class="line" stroke="{colour}" points="{points}"/>'


def _names(series: Sequence[Series], y: _Axis, x: _Axis) -> Iterator[str]:
    """Draw the name of each line next to its end, without overlaps."""
    lowest = math.inf
    ends = sorted(zip(series, _COLOURS, strict=False), key=lambda each: each[0].points[-1][1])
    for each, colour in ends:
        size, seconds = each.points[-1]
        lowest = min(lowest - 16, y.place(seconds) + 4)
        yield (
            f'<text x="{x.place(size) + 8:.1f}" y="{lowest:.1f}" style="fill:{colour}">{_name(each)}</text>'
        )


def _name(series: Series) -> str:
    return f"{series.name}, slope {slope(series):.2f}"
