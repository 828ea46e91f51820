"""Two kinds of plot as SVG text: lines over steps, and horizontal bars. Colours come from the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

__all__ = ["STYLE", "bars", "lines"]

# Colours in a fixed order, told apart also by people with colour vision deficiencies and on a dark page.
STYLE = """
:root { --page: #fcfcfb; --ink: #1c1c1a; --soft: #6b6a63; --grid: #e6e5df;
  --s0: #2a78d6; --s1: #eb6834; --s2: #1baf7a; --s3: #7a55c7; }
@media (prefers-color-scheme: dark) {
  :root { --page: #191918; --ink: #f0efe9; --soft: #a3a198; --grid: #383734;
    --s0: #4b94ec; --s1: #f07c4c; --s2: #2cbd89; --s3: #9d7fe0; } }
svg text { font: 12px system-ui, sans-serif; fill: var(--soft); }
svg text.name { fill: var(--ink); }
svg .grid { stroke: var(--grid); stroke-width: 1; }
svg .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
svg .line.first { stroke-width: 5; stroke-opacity: .55; }
"""

_WIDTH, _HEIGHT = 560, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 16, 36, 36
_DASHES = ("", "7 4", "2 4", "10 3 2 3")  # curves that lie on each other stay visible


def lines(series: Sequence[tuple[str, Sequence[float]]], label: str, steps: str = "epoch") -> str:
    """Curves over steps.

    Args:
        series: Name and values of each curve, the first one broad, the others dashed on top.
        label: The quantity of the vertical axis.
        steps: The unit of the horizontal axis.
    """
    longest = max(len(values) for _, values in series)
    ticks = _ticks(min(min(v) for _, v in series), max(max(v) for _, v in series))
    low, high = ticks[0], ticks[-1]

    def x(step: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * step / max(longest - 1, 1)

    def y(value: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low)

    parts = []
    for tick in ticks:
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    parts += [
        f'<text x="{x(step):.1f}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{step:g}</text>'
        for step in _ticks(0, longest)
        if step < longest
    ]
    parts.append(f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 4}" text-anchor="end">{escape(steps)}</text>')
    for number, (_, values) in enumerate(series):
        points = " ".join(f"{x(i):.1f},{y(v):.1f}" for i, v in enumerate(values))
        parts.append(f'<polyline {_stroke(number)} points="{points}"/>')
    return _frame(parts + _legend([name for name, _ in series]), _HEIGHT, label)


def _stroke(number: int) -> str:
    kind, dash = ("line", f' stroke-dasharray="{_DASHES[number % 4]}"') if number else ("line first", "")
    return f'class="{kind}" stroke="var(--s{number % 4})"{dash}'


def _legend(names: Sequence[str]) -> list[str]:
    parts, at = [], float(_LEFT)
    step = min(6.6, (_WIDTH - _LEFT - 48.0 * len(names)) / max(1, sum(map(len, names))))
    for number, name in enumerate(names):
        parts.append(f'<line {_stroke(number)} x1="{at}" x2="{at + 26}" y1="16" y2="16"/>')
        parts.append(f'<text class="name" x="{at + 32}" y="20">{escape(name)}</text>')
        at += 48 + step * len(name)
    return parts


def bars(values: Sequence[tuple[str, float]], unit: str, digits: int = 2) -> str:
    """Horizontal bars with their numbers, from zero.

    Args:
        values: Name and value of each bar, in the order of the curves' colours.
        unit: Written behind each number.
        digits: Decimals of the numbers.
    """
    left, row, thick = 176, 34, 20
    longest = max(value for _, value in values) or 1.0
    parts = []
    for number, (name, value) in enumerate(values):
        top = 6 + row * number
        width = max(1.0, (_WIDTH - left - 90) * value / longest)
        parts.append(f'<text class="name" x="{left - 8}" y="{top + 15}" text-anchor="end">{escape(name)}</text>')
        parts.append(
            f'<rect x="{left}" y="{top}" width="{width:.1f}" height="{thick}" rx="3" fill="var(--s{number % 4})"/>'
        )
        parts.append(f'<text x="{left + width + 8:.1f}" y="{top + 15}">{value:.{digits}f} {escape(unit)}</text>')
    return _frame(parts, 12 + row * len(values), unit)


def _frame(parts: Sequence[str], height: int, label: str) -> str:
    body = "\n".join(parts)
    box = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}"'
    return f'<svg {box} role="img" aria-label="{escape(label)}">\n{body}\n</svg>'


def _ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers that span low..high."""
    span = (high - low) or abs(high) or 1.0
    step = 10.0 ** math.floor(math.log10(span / about))
    step = next(step * m for m in (1, 2, 5, 10) if span / (step * m) <= about)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(i * step, 10) for i in range(first, max(last, first + 1) + 1)]
