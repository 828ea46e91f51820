"""Assembly: sparse operands from coordinates and values, differentiable by the values; patterns from levels."""

from __future__ import annotations

import functools
import math
import string
from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._lang import dtypes
from libsparse._lang.errors import FormatError, ShapeError, ToolchainError
from libsparse._runtime.direct import native
from libsparse._runtime.problem import Einsum, Operand, Problem, product
from libsparse._storage import checks, memory, ordinary, sorting, threads, validate
from libsparse._storage.conversion import first_values, inverse
from libsparse._storage.fakes import is_fake, refuse_jit_trace
from libsparse._storage.format import Format, default_format
from libsparse._storage.pattern import Pattern

from . import tracing

REDUCTIONS: Final = ("sum", "mean", "prod", "max", "amax", "min", "amin")
"""The reductions of duplicates."""

MODES: Final = 16  # of sums and copies that are compiled; torch's functions do those of more
_LARGE = 1 << 19  # elements from which on a kernel, which writes to memory that is there, makes dense tensors

BAGS: Final = Format("duq").resolve(3)
"""The format of bags: members stand below places, of which each bag has a run."""

_FEW_PLACES: Final = 1 << 16  # which are kept, in 256 KiB at most
_POSITIONS: Final = 2  # what `copy_compressed` checks of bags
_COMPRESSED: Final = {name: Format(name).resolve(2) for name in ("csr", "csc")}


def assemble(
    coords: list[Tensor],
    values: Tensor | None,
    shape: Sequence[int],
    format: str | Format | None = None,
    reduce: str = "sum",
) -> Operand:
    """Sorts coordinates, one array of integers for each mode, reduces duplicates and packs them.

    Without values it is a pattern alone; the format is the usual one of the rank by default.
    """
    refuse_jit_trace()
    wanted = default_format(len(shape)) if format is None else Format(format).resolve(len(shape))
    if wanted.is_dense:
        return to_format(assemble(coords, values, shape, "coo", reduce), wanted)
    if any(map(is_fake, coords)):
        return tracing.operators[0].assemble(coords, values, shape, wanted, reduce)
    from . import arranging  # with the first coordinates

    itemsize = 1 if values is None else values.element_size()
    pattern, found = arranging.arrange(coords, shape, wanted.writable, itemsize)
    packed = _of_pattern(pattern, None if values is None else found.values(values, reduce))
    return packed if wanted == wanted.writable or packed.sparsity.block else to_format(packed, wanted)


def of_nonzeros(dense: Tensor, format: str | Format | None = None) -> Operand:
    """The nonzeros of a dense tensor, differentiable; of a tensor of bool their pattern alone."""
    wanted = default_format(dense.ndim) if format is None else Format(format).resolve(dense.ndim)
    found = _rows_of(dense) if wanted == _COMPRESSED["csr"] else None
    if found is not None:
        return found
    coords = dense.detach().nonzero(as_tuple=True)
    return assemble(list(coords), None if dense.dtype == torch.bool else dense[coords], dense.shape, wanted)


def _rows_of(dense: Tensor) -> Operand | None:
    """The nonzeros of a matrix as compressed rows; None where C can't read it."""
    flat = dense.detach().reshape(-1) if dense.is_contiguous() else dense.detach()
    radix, itemsize = sorting.in_c(), dense.element_size()
    if radix is None or dense.is_complex() or not sorting.is_plain(flat, (dense.dtype,)):
        return None
    if not 0 < dense.numel() <= dtypes.INT32_MAX:  # without elements there may be any number of rows or columns
        return None
    bits = (1 << 8 * itemsize) - 1
    kept = (bits >> 1 if dense.dtype.is_floating_point else bits) * ((1 << 64) - 1) // bits  # without the sign
    rows, columns = dense.shape
    pos = torch.empty(rows + 1, dtype=torch.int32, device="cpu")
    given = memory.address(flat), itemsize, kept, rows, columns, *threads.shared(dense.numel()), pos.data_ptr()
    count = radix.count_nonzeros(*given, 0, 0)
    crd = torch.empty(count, dtype=torch.int32, device="cpu")
    copied = dense.dtype != torch.bool and not dense.requires_grad and _is_plain(Operand(None, dense))
    values = dense.new_empty(count) if copied else None
    radix.write_nonzeros(*given, crd.data_ptr(), 0 if values is None else values.data_ptr())
    pattern = Pattern(_COMPRESSED["csr"], dense.shape, (None, pos), (None, crd))
    if dense.dtype != torch.bool and values is None:
        values = dense[tuple(pattern.coordinates())]
    return Operand(pattern, values)


def _of_pattern(pattern: Pattern, values: Tensor | None) -> Operand:
    """A pattern with values, blocks of its entries where these are arrays."""
    if values is not None and values.ndim > 1:
        return Operand(pattern.with_blocks(values.shape[1:]), values.reshape(-1))
    return Operand(pattern, values)


def to_format(source: Operand, format: str | Format) -> Operand:
    """The same tensor in another format; differentiable, and its pattern is converted once.

    Of dense levels only it is a strided tensor: of `dd:1,0`, columns are contiguous.
    """
    wanted = Format(format).resolve(source.ndim)
    if wanted.is_dense:
        back = [wanted.order.index(mode) for mode in range(source.ndim)]
        return Operand(None, to_dense(source).permute(wanted.order).contiguous().permute(back))
    if source.sparsity.format != wanted:
        refuse_jit_trace()
        carried = None if source.data is None else first_values(source.sparsity, source.data, wanted, source.fill)
        if carried is not None:
            return Operand(carried[1], carried[0], source.fill)
    conversion = source.sparsity.converted(wanted)
    values = None if source.data is None else conversion.values(source.data, source.fill)
    return Operand(conversion.pattern, values, source.fill)


def to_dense(source: Operand, dtype: torch.dtype | None = None) -> Tensor:
    """A strided tensor of the same elements; differentiable."""
    pattern, values = source.pattern, source.values
    if dtype is not None:
        values = values.to(dtype)
    if pattern is None:
        return values
    refuse_jit_trace()
    operand, size = Operand(pattern, values), math.prod(pattern.shape)
    if _is_whole(pattern) and size == pattern.size:
        stored = values.reshape(pattern.extents).permute(inverse(pattern.format.order))
        return stored.clone(memory_format=torch.contiguous_format)
    memory.check(size, values.element_size(), f"a dense tensor of shape {tuple(pattern.shape)}", "keep it sparse")
    compiled = source.fill == 0 and values.dtype in dtypes.CODES and pattern.ndim <= MODES
    if size >= _LARGE and compiled and _is_plain(operand):
        try:
            return tape.compute(_copied_densely(pattern.ndim), [operand])[0]
        except ToolchainError:  # there is no compiler, and torch can do it, too
            pass
    return pattern.to_dense(values, source.fill)


def _is_whole(pattern: Pattern) -> bool:
    """Whether a pattern with as many values as elements has each of them once, in the order of its modes.

    One that torch traces isn't asked how many it has.
    """
    format = pattern.format
    if pattern.traced or format.padded or len(format.kinds) != pattern.ndim:
        return False
    return all([kind.ordered and kind.unique for kind in format.kinds])


def _is_plain(operand: Operand) -> bool:
    """Whether nothing but autograd follows what is done to an operand."""
    return not (tape.is_traced([operand]) or tape.is_transformed([operand]) or tape.is_watched())


@functools.cache
def _copied_densely(ndim: int) -> Problem:
    """The copy of a sparse tensor to a dense one."""
    letters = tuple(string.ascii_lowercase[:ndim])
    return product(Einsum((letters,), letters, Format("d" * ndim)))


def pattern_from_levels(
    format: str | Format,
    shape: Sequence[int],
    pos: Sequence[Any],
    crd: Sequence[Any],
    check: bool = True,
    called: checks.Names = checks.Names(),  # noqa: B008  # immutable
) -> Pattern:
    """A pattern from copies of the arrays of its levels; `check` verifies contents, too, and not only lengths.

    A `torch.Size` has been checked.

    `called` has the names of the arrays for messages.

    Raises:
        FormatError: Positions decrease, coordinates are not sorted, or arrays don't fit the format.
        IndexBoundsError: A coordinate is out of range.
        ShapeError: A length is wrong.
    """
    refuse_jit_trace()
    size = shape if type(shape) is torch.Size else validate.shape(shape)
    wanted = Format(format).resolve(len(size))
    if wanted.is_dense:
        raise FormatError(f"format {wanted} has no positions and coordinates: it is a strided torch tensor")
    own_pos, own_crd = _index_arrays("pos", pos, called), _index_arrays("crd", crd, called)
    if len(own_pos) == len(own_crd) == 2 and own_pos[0] is None and own_crd[0] is None:
        known = compressed_pattern(format, size, own_pos[1], own_crd[1], check)
        if known is not None:
            return known
    if any(map(is_fake, (*own_pos, *own_crd))):
        return tracing.operators[0].checked(wanted, size, own_pos, own_crd, check, called)
    checks.check(wanted, size, own_pos, own_crd, check, called)
    return Pattern._of_copies(wanted, size, own_pos, own_crd)


def compressed_pattern(format: str | Format, shape: torch.Size, pos: Any, crd: Any, check: bool) -> Pattern | None:
    """What `pattern_from_levels` makes of a CSR or CSC matrix, in C; None where something is unusual or wrong."""
    wanted = _COMPRESSED.get(format) if type(format) is str else None
    if wanted is None or native is None or len(shape) != 2:
        return None
    rows, columns = wanted.order
    parents, extent = shape[rows], shape[columns]
    if type(parents) is not int or type(extent) is not int:
        return None
    team = threads.count(), threads.team()
    found: tuple[Tensor, Tensor] | None = native.copy_compressed(pos, crd, parents, extent, check, *team)
    if found is None:
        return None
    starts, coordinates = found
    return Pattern._of_kernel(
        wanted, shape, (None, starts), (None, coordinates), coordinates.numel(), coordinates.dtype
    )


def bags(ends: Tensor, members: Tensor, extent: int) -> Pattern | None:
    """A pattern (bags, members, extent) of members in any order, which may come again: each has a place of its own.

    Args:
        ends: (bags + 1,), where each bag begins and the last one ends.
        members: 1-D, their coordinates.
        extent: What coordinates are below.

    Returns:
        The pattern in C; None where something is unusual or wrong, which `pattern_from_levels` says.
    """
    if native is None:
        return None
    team = threads.count(), threads.team()
    found = native.copy_compressed(ends, members, ends.numel() - 1, extent, _POSITIONS, *team)
    if found is None:
        return None
    starts, coordinates = found
    count = coordinates.numel()
    crd = None, (_kept_places if count <= _FEW_PLACES else _places)(count), coordinates
    shape = torch.Size((ends.numel() - 1, count, extent))
    return Pattern._of_kernel(BAGS, shape, (None, starts, None), crd, count, torch.int32)


def _places(count: int) -> Tensor:
    return torch.arange(count, dtype=torch.int32, device="cpu")


_kept_places = ordinary.kept(4)(_places)


def _index_arrays(kind: str, given: Any, called: checks.Names) -> list[Tensor | None]:
    """The arrays of one kind that a user hands over, which may still be the user's own memory."""
    if not isinstance(given, Sequence):
        raise ShapeError(f"{kind} is a {type(given).__name__}; expected one array, or None, a level")
    return [
        None if a is None else validate.index_array(called.array(kind, n), a, copy=False) for n, a in enumerate(given)
    ]
