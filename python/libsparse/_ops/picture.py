"""Where the entries of a matrix are: counts of a grid, and pictures of it for notebooks and plots."""

from __future__ import annotations

import base64
import html
import struct
import zlib
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import LibsparseError, ShapeError
from libsparse._runtime.problem import Operand
from libsparse._storage.pattern import Pattern

from .export import describe

_CELLS = 96  # of the longer side of a picture
_LOOKED_AT = 1 << 20  # entries that are counted, evenly spread where there are more
_PIXELS = 240  # of the longer side, as shown

# Colours are the notebook's own: the picture is a mask that lets the colour of text through.
_STYLE = (
    "<style>.libsparse-tensor{display:flex;gap:1em;align-items:flex-start;flex-wrap:wrap}"
    ".libsparse-tensor table{border-collapse:collapse;margin:0}"
    ".libsparse-tensor th,.libsparse-tensor td{text-align:left;padding:.1em .6em;color:inherit}"
    ".libsparse-tensor .spy{border:1px solid currentColor}"
    ".libsparse-tensor .spy div{width:100%;height:100%;background:currentColor;"
    "-webkit-mask-size:100% 100%;mask-size:100% 100%;image-rendering:pixelated}</style>"
)


def counts(pattern: Pattern, cells: int = _CELLS) -> Tensor:
    """How many entries the parts of a matrix have, relative to the places there: a grid with values from 0 to 1.

    Args:
        pattern: Of a matrix.
        cells: Of the longer side; the other has as many as its extent asks for, at least one.

    Raises:
        ShapeError: It is no matrix.
    """
    if len(pattern.shape) != 2:
        raise ShapeError(f"spy: shape {tuple(pattern.shape)}, format {pattern.format}; expected a matrix")
    longest = max(*pattern.shape, 1)
    grid = [max(1, min(n, round(cells * n / longest))) for n in pattern.shape]
    coords = pattern.coordinates()
    step = max(1, -(-coords.shape[1] // _LOOKED_AT))
    row, col = (_cell(coords[mode, ::step], pattern.shape[mode], grid[mode]) for mode in range(2))
    found = torch.bincount(row * grid[1] + col, minlength=grid[0] * grid[1]).reshape(grid) * float(step)
    heights, widths = (
        torch.bincount(_cell(torch.arange(n, device="cpu"), n, count), minlength=count)
        for n, count in zip(pattern.shape, grid, strict=True)
    )
    return (found / (heights[:, None] * widths).clamp(min=1)).clamp(max=1)


def _cell(coordinates: Tensor, extent: int, cells: int) -> Tensor:
    return coordinates.to(torch.int64) * cells // max(extent, 1)


def page(source: Operand) -> str:
    """A tensor as HTML: a table of its facts, and of a matrix where its entries are."""
    try:
        first, *entries = describe(source).splitlines()
    except LibsparseError:  # a notebook shows what can be shown
        return ""
    facts = [fact.split("=", 1) for fact in _facts(first)]
    rows = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in facts)
    shown = f"<pre>{html.escape(chr(10).join(entries))}</pre>" if entries else ""
    picture = _picture(source.sparsity) if source.ndim == 2 and source.sparsity.nnz else ""
    text = f"<div><b>SparseTensor</b><table>{rows}</table>{shown}</div>"
    return f'{_STYLE}<div class="libsparse-tensor">{text}{picture}</div>'


def _facts(head: str) -> list[str]:
    """The arguments in the first line of a description; the commas of a shape or a format part none."""
    facts: list[str] = []
    for word in head.removeprefix("SparseTensor(").removesuffix(")").split(", "):
        if "=" in word:
            facts.append(word)
        else:
            facts[-1] += f", {word}"
    return facts


def _picture(pattern: Pattern) -> str:
    grid = counts(pattern)
    height, width = (max(4, round(_PIXELS * n / max(grid.shape))) for n in grid.shape)
    mask = f"url(data:image/png;base64,{base64.b64encode(_png(grid)).decode()})"
    return (
        f'<div class="spy" role="img" aria-label="where entries are" style="width:{width}px;height:{height}px">'
        f'<div style="-webkit-mask-image:{mask};mask-image:{mask}"></div></div>'
    )


def _png(grid: Tensor) -> bytes:
    """A picture whose transparency follows a grid: a cell with one entry can still be seen."""
    alpha = torch.where(grid > 0, 80 + 175 * grid.sqrt(), 0).to(torch.uint8)
    pixels = torch.stack([torch.zeros_like(alpha), alpha], 2)  # grey and alpha
    lines = b"".join(b"\0" + bytes(line.reshape(-1).tolist()) for line in pixels)
    header = struct.pack(">IIBBBBB", grid.shape[1], grid.shape[0], 8, 4, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )


def plot(pattern: Pattern, axes: Any, **appearance: Any) -> Any:
    """Draws where the entries of a matrix are into axes of matplotlib, and returns them.

    Raises:
        ShapeError: It is no matrix.
        LibsparseError: matplotlib is not installed.
    """
    grid = counts(pattern, 4 * _CELLS)
    if axes is None:
        try:
            from matplotlib import pyplot  # optional, and slow to import
        except ImportError:
            raise LibsparseError("spy needs matplotlib: pip install 'libsparse[plots]'") from None
        axes = pyplot.subplots()[1]
    rows, columns = pattern.shape
    appearance = {"cmap": "Greys", "vmin": 0, "vmax": 1, "interpolation": "nearest", **appearance}
    shown = torch.where(grid > 0, 0.3 + 0.7 * grid.sqrt(), 0)
    axes.imshow(shown.tolist(), extent=(-0.5, columns - 0.5, rows - 0.5, -0.5), **appearance)
    axes.set_xlabel("column")
    axes.set_ylabel("row")
    axes.set_title(f"{rows} x {columns}, {pattern.nnz} entries")
    return axes
