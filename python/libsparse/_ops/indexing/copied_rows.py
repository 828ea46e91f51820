"""Rows copied by a kernel: the product of a selection, one column a row, with a matrix whose rows are compressed.

The kernel depends on the widths of values and positions only: any matrix and any list of rows run the same one.
"""

from __future__ import annotations

import functools
import weakref
from array import array
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from libsparse._autograd import tape
from libsparse._compiler import kernel, request
from libsparse._lang import dtypes
from libsparse._lang.errors import ToolchainError
from libsparse._ops.operands import PLAIN
from libsparse._runtime import notes
from libsparse._runtime.problem import Operand, stored
from libsparse._runtime.status import check
from libsparse._storage import memory, ordinary, threads
from libsparse._storage.boxes import has_far_more_rows
from libsparse._storage.conversion import taken
from libsparse._storage.derived import is_first
from libsparse._storage.pattern import Pattern

_INDICES = frozenset({torch.int32, torch.int64})
_MANY = 1 << 15  # entries that are not all numbered for a gradient of some
# A type of each width, as which values are copied.
_OF_WIDTH = {0: "bool", 1: "u8", 2: "i16", 4: "i32", 8: "i64", 16: "c128"}


def copies(pattern: Pattern) -> bool:
    """Whether rows of a pattern are copied: those of a matrix, below a dense level."""
    return pattern.format.levels == ("d", "s")


def copy_rows(source: Operand, rows: Tensor) -> Operand | None:
    """The rows of these numbers, in the format of `source`; not differentiable.

    Args:
        source: A tensor of a pattern that is copied.
        rows: (count,), int32 or int64.

    Returns:
        None where a number is out of range, the entries can't be counted in the index type, or there is no compiler.
    """
    pattern = source.sparsity
    values = None if source.data is None else stored(pattern, source.data)
    copier = _copier(0 if values is None else values.element_size(), pattern.index_dtype)
    if copier is None:
        return None
    pos, crd = pattern.compressed(1)
    rows = rows.to(torch.int64).contiguous()
    starts = pos.new_empty(rows.numel() + 1)
    block = copier.block[:]
    address = block.buffer_info()[0]
    block[copier.n_rows], block[copier.n_choices] = rows.numel(), pattern.shape[pattern.format.order[0]]
    block[copier.rows], block[copier.pos], block[copier.crd] = map(memory.address, (rows, pos, crd))
    block[copier.out_pos], block[copier.threads] = starts.data_ptr(), threads.count()
    if values is not None:
        block[copier.vals] = memory.address(values)
    if copier.assemble(address):  # a number out of range, or more entries than positions can count
        return None
    count = block[copier.count]
    columns = crd.new_empty(count)
    copied = crd.new_empty(count, dtype=torch.bool) if values is None else values.new_empty(count)
    block[copier.out_crd], block[copier.out_vals] = columns.data_ptr(), copied.data_ptr()
    check(copier.compute(address))
    shape = list(pattern.shape)
    shape[pattern.format.order[0]] = rows.numel()
    data = None if values is None else copied
    return Operand(Pattern(pattern.format, shape, (None, starts), (None, columns)), data, source.fill)


def listed_rows(source: Operand, rows: Tensor) -> Operand | None:
    """Rows by their numbers, which the kernel that copies them checks; None where another way has to do it."""
    pattern, values = source.sparsity, source.data
    arrays = [rows] if values is None else [rows, values]
    if not copies(pattern) or rows.dtype not in _INDICES or any([array.ndim != 1 for array in arrays]):
        return None
    plain = all([type(array) in PLAIN for array in arrays]) and rows.layout is torch.strided and rows.is_cpu
    if not plain or torch.is_inference_mode_enabled():
        return None
    if forward_ad._current_level >= 0 or ordinary.in_transform() is not None or tape.is_seen([source]):
        return None
    if values is None or not (values.requires_grad and torch.is_grad_enabled()):
        return copy_rows(source, rows)
    if pattern.size >= _MANY:
        return None
    numbers = torch.arange(pattern.size, dtype=pattern.index_dtype, device="cpu")
    numbered = copy_rows(Operand(pattern, numbers), rows)
    if numbered is None:
        return None
    return Operand(numbered.pattern, taken(stored(pattern, values), numbered.values), source.fill)


def first_rows(source: Operand, name: tuple[Any, ...], rows: Callable[[], Tensor]) -> Operand | None:
    """The rows that the first call of an operation on a pattern selects; None for later ones and where others serve.

    Most patterns see one such call, and one kernel copies coordinates and values in half the time that it takes to find
    the places of values, which later calls need alone, and to take these.

    Args:
        source: The operand.
        name: What `Pattern.derive` is given by later calls.
        rows: Makes the numbers of the rows.
    """
    pattern = source.sparsity
    if not copies(pattern) or notes.notes.runs is not None or has_far_more_rows(pattern):
        return None
    kept = "function", *name
    found = listed_rows(source, rows()) if is_first(pattern.begun, kept) else None
    if found is not None:
        pattern.begun[kept] = weakref.ref(found.sparsity)
    return found


class _Copier:
    """A kernel that copies rows, and the places of its arguments in its block."""

    def __init__(self, found: kernel.Kernel) -> None:
        assert found.assemble is not None
        self.assemble, self.compute = found.assemble, found.compute
        self.block = array("q", bytes(8 * len(found.slots)))
        named = {(slot.kind, slot.operand, slot.index): place for place, slot in enumerate(found.slots)}
        operands = {(kind, operand): place for (kind, operand, _), place in named.items()}
        extents = {index: place for (kind, _, index), place in named.items() if kind == "extent"}
        kinds = {kind: place for (kind, _, _), place in named.items()}
        self.threads, self.count = kinds["threads"], kinds["count"]
        self.n_rows, self.n_choices = extents["i"], extents["j"]
        self.rows, self.pos, self.crd = operands["crd", 0], operands["pos", 1], operands["crd", 1]
        self.vals, self.out_pos = operands.get(("vals", 1), -1), operands["pos", -1]  # -1 without values
        self.out_crd, self.out_vals = operands["crd", -1], operands["vals", -1]


@functools.cache
def _copier(width: int, index: torch.dtype) -> _Copier | None:
    """The kernel for values of a width, 0 without any, and for a type of positions; None where there is no compiler."""
    value, extents = _OF_WIDTH[width], (1 << 10, 1 << 10)  # a kernel decides nothing by its extents
    selection = request.OperandInfo("A0", "dq", "bool", True, "i64", extents, 1 << 10, -1)
    matrix = request.OperandInfo("A1", "ds", value, width == 0, dtypes.code(index), extents, 1 << 14, -1)
    output = request.OutputInfo("ds", value, dtypes.code(index))
    try:
        return _Copier(kernel.find(request.Request("ij,jk->ik", False, (selection, matrix), output)))
    except ToolchainError:
        return None
