"""Lists of columns of matrices by rows, and of rows of those by columns.

The transpose, which a pattern keeps, has the entries of each wanted coordinate side by side: they are copied as rows
are, and transposed back, which counts the entries of each row. Nothing is searched or sorted.
"""

from __future__ import annotations

from torch import Tensor

from libsparse._ops.operands import PLAIN
from libsparse._runtime import conversion
from libsparse._runtime.problem import Operand
from libsparse._storage import ordinary
from libsparse._storage.conversion import Conversion
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from .copied_rows import copies, copy_rows

_EMPTY = 4  # coordinates for each entry that a mode may have, since a transpose has a position for each


def select_columns(pattern: Pattern, columns: Tensor) -> Conversion | None:
    """The pattern whose coordinates of the inner mode are those of `columns` in `pattern`.

    Args:
        pattern: Of any format.
        columns: (count,), int64, in any order, also repeated; none is out of range.

    Returns:
        None where the pattern is no matrix below a dense level, nearly all of its columns are empty, or there is no
        compiler.
    """
    format = pattern.format
    if not copies(pattern) or pattern.block or pattern.traced:
        return None
    if type(columns) not in PLAIN or ordinary.in_transform() is not None:
        return None
    outer, inner = format.order
    if pattern.shape[inner] > _EMPTY * pattern.size:
        return None
    turned = pattern.converted(Format(f"{''.join(format.levels)}:{inner},{outer}"))
    assert turned.source is not None, "a transpose moves entries"
    found = copy_rows(Operand(turned.pattern, turned.source), columns)
    if found is None:
        return None
    places, selected = conversion.copied(found.sparsity, found.values, format)
    return Conversion(selected, places, None)
