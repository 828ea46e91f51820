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
_STRIP = 8  # of the shorter side, at least

# Text and background are the notebook's own, dark or light. The picture is an image, which notebooks show that are not
# trusted, too; its colour stands out from either. Selectors outdo Jupyter's own for output.
_STYLE = (
    "<style>div.libsparse-tensor{display:flex;gap:1.5em;align-items:flex-start;flex-wrap:wrap}"
    "div.libsparse-tensor table.libsparse-facts{border-collapse:collapse;margin:.2em 0 .5em}"
    "div.libsparse-tensor table.libsparse-facts th,div.libsparse-tensor table.libsparse-facts td"
    "{text-align:left;padding:.1em 1em .1em 0;color:inherit;background:transparent}"
    "div.libsparse-tensor pre{margin:0;padding:0;color:inherit;background:transparent;white-space:pre}"
    "div.libsparse-tensor img.spy{border:1px solid rgba(128,128,128,.7);image-rendering:pixelated;margin:0}</style>"
)
_COLOUR = (58, 130, 196)  # a blue
_FAINTEST = 110  # the opacity of a cell with one entry; 255 is that of a full one


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
    shown = f"<pre>{html.escape(chr(10).join(entry.strip() for entry in entries))}</pre>" if entries else ""
    picture = _picture(source.sparsity) if source.ndim == 2 and source.sparsity.nnz else ""
    text = f'<div><b>SparseTensor</b><table class="libsparse-facts">{rows}</table>{shown}</div>'
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
    height, width = _size(grid)
    image = base64.b64encode(_png(grid)).decode()
    return (
        f'<img class="spy" alt="where entries are" width="{width}" height="{height}" '
        f'src="data:image/png;base64,{image}"/>'
    )


def _size(grid: Tensor) -> tuple[int, int]:
    """Height and width of its picture as shown; that of a row or a column is still a strip."""
    height, width = (max(_STRIP, round(_PIXELS * n / max(grid.shape))) for n in grid.shape)
    return height, width


def _png(grid: Tensor) -> bytes:
    """A picture of one colour, whose opacity follows a grid: a cell with one entry can still be seen."""
    rows, columns = (max(1, n // cells) for n, cells in zip(_size(grid), grid.shape, strict=True))
    opacity = torch.where(grid > 0, _FAINTEST + (255 - _FAINTEST) * grid.sqrt(), 0).to(torch.uint8)
    opacity = opacity.repeat_interleave(rows, 0).repeat_interleave(columns, 1)  # few pixels would be smeared
    colour = torch.tensor(_COLOUR, dtype=torch.uint8, device="cpu").expand(*opacity.shape, 3)
    pixels = torch.cat([colour, opacity[:, :, None]], 2)
    lines = b"".join(b"\0" + bytes(line.reshape(-1).tolist()) for line in pixels)
    header = struct.pack(">IIBBBBB", opacity.shape[1], opacity.shape[0], 8, 6, 0, 0, 0)
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
