"""torch's functions of the values of a tensor without their places, and draws of places by weights."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, MissingKernelError, ShapeError, UnsupportedError
from libsparse._ops.operands import is_sparse, to_operand
from libsparse._ops.reductions import Groups
from libsparse._runtime.problem import Operand

from .registry import implements, named


def _elements(input: Any, name: str) -> tuple[Tensor, Tensor, int]:
    """The stored values, the fill value, and how many elements have it because they are not stored.

    Raises:
        MissingKernelError: They are complex, which have no order.
    """
    groups = Groups(input, None)
    if groups.source.dtype.is_complex:
        raise MissingKernelError(f"{name} of {groups.source.dtype} ({groups.source}), which has no order")
    return groups.entries.detach(), groups.fill, int(groups.absent())


@implements(*named("unique", torch, Tensor), layouts="raises")
def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The different elements in order, dense, and on request how many there are of each.

    Each NaN that is stored is another element, as in torch; all that are not stored are one.

    Raises:
        UnsupportedError: `dim` or the place of each element is asked for, as many as a dense tensor has elements.
    """
    if return_inverse or dim is not None:
        raise UnsupportedError(
            f"unique of an ls.SparseTensor ({to_operand(input)}): return_inverse and dim are of dense tensors; use "
            "torch.unique(A.values(), return_inverse=True)"
        )
    values, fill, absent = _elements(input, "unique")
    found, counts = torch.unique(values, return_counts=True)
    if absent and not return_counts:
        return torch.unique(torch.cat([found, fill[None]]))
    if absent >= 1 << 63:
        raise UnsupportedError(f"unique of a tensor ({to_operand(input)}): {absent} elements can't be counted in int64")
    if absent:
        found, places = torch.unique(torch.cat([found, fill[None]]), return_inverse=True)
        added = torch.cat([counts, counts.new_tensor([absent])])
        counts = torch.zeros(found.numel(), dtype=counts.dtype, device="cpu").index_add(0, places, added)
    return (found, counts) if return_counts else found


@implements(torch.isin, layouts="raises")
def isin(
    elements: Any = None,
    test_elements: Any = None,
    *,
    element: Any = None,
    test_element: Any = None,
    assume_unique: bool = False,
    invert: bool = False,
) -> Any:
    """Whether each element is one of others: a sparse tensor of bools, with the answer for the fill value."""
    elements = element if elements is None else elements  # torch's names of single numbers
    others = test_element if test_elements is None else test_elements
    for tested in (elements, others):
        if is_sparse(tested) and tested.dtype == torch.bool:
            raise MissingKernelError(f"isin of torch.bool ({to_operand(tested)}); use A.to(torch.uint8)")
        if is_sparse(tested) and tested.dtype.is_complex:
            raise MissingKernelError(f"isin of {tested.dtype} ({to_operand(tested)}), which has no order")
    if is_sparse(others):
        values, fill, absent = _elements(others, "isin")
        others = torch.cat([values, fill[None]]) if absent else values
    if not is_sparse(elements):
        return torch.isin(elements, others, assume_unique=False, invert=invert)
    source = to_operand(elements)
    fill = torch.tensor(source.fill, dtype=source.dtype, device="cpu")
    found = torch.isin(source.values.detach(), others, assume_unique=False, invert=invert)
    return Operand(source.pattern, found, bool(torch.isin(fill, others, assume_unique=False, invert=invert)))


@implements(*named("histc", torch, Tensor), layouts="raises")
def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements fall in each of some equal intervals; those of the least and greatest element by default.

    Raises:
        DtypeError: The elements are not floating.
        ShapeError: There are no bins, or the bounds, or elements that stand for them, are not finite or in order.
    """
    values, fill, absent = _elements(input, "histc")
    if not values.is_floating_point():
        raise DtypeError(f"histc of {values.dtype} ({to_operand(input)}); expected a floating dtype: use A.float()")
    whole = torch.cat([values, fill[None]]) if absent else values
    if min == max and whole.numel():
        least, greatest = torch.aminmax(whole)
        min, max = (least.item(), greatest.item()) if min == 0 else (min, max)
    if bins < 1 or not -math.inf < min <= max < math.inf:
        raise ShapeError(
            f"histc of a tensor ({to_operand(input)}): bins is {bins}, from {min} to {max}; expected one bin or more, "
            "and finite bounds in order"
        )
    found = torch.histc(values, bins, min, max)
    return found + float(absent) * torch.histc(fill[None], bins, min, max) if absent else found


@implements(*named("multinomial", torch, Tensor), layouts="raises")
def multinomial(input: Any, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Coordinates that are drawn in each row with probabilities by the stored values, (rows, num_samples), int64.

    Args:
        input: A matrix, or a vector; values are not below 0 and finite, and each row has some above.
        num_samples: How many are drawn of each row.
        replacement: Whether one may be drawn again.
        generator: That of the random numbers.

    Raises:
        DtypeError: The values are not floating.
        ShapeError: A row has a value that is no weight, none above 0, or fewer than are drawn without replacement.
    """
    source = to_operand(input)
    if source.ndim not in (1, 2) or not source.dtype.is_floating_point or source.fill != 0 or num_samples < 1:
        raise DtypeError(
            f"multinomial of a tensor ({source}) with num_samples={num_samples}; expected a matrix or a vector of "
            "floating weights, 0 where nothing is stored, and one sample or more"
        )
    weights = input.detach().double()
    weights = weights.reshape(1, -1) if source.ndim == 1 else weights
    values = weights.values()
    if not bool(((values >= 0) & values.isfinite()).all()):
        raise ShapeError(f"multinomial of a tensor ({source}): a weight is below 0, infinite or NaN")
    needed = 1 if replacement else num_samples
    lacking = weights.gt(0).sum(1) < needed
    if bool(lacking.any()):
        raise ShapeError(
            f"multinomial of a tensor ({source}): row {int(lacking.nonzero()[0])} has fewer than {needed} weights "
            "above 0; pass replacement=True, or fewer samples"
        )
    if replacement:
        found = _drawn_again(weights, num_samples, generator)
    else:  # the first of exponential clocks of these rates
        clocks = torch.empty_like(values).exponential_(generator=generator)
        found = weights.with_values(values / clocks).topk(num_samples, 1).indices
    return found.squeeze(0) if source.ndim == 1 else found


def _drawn_again(weights: Any, count: int, generator: Any) -> Tensor:
    """Draws by the sums of weights up to each entry of a row, which are scaled to 1 a row."""
    rows = weights.to_format("csr")
    shares = rows / rows.sum(1, keepdim=True)
    ends, sums = rows.crow_indices()[1:].to(torch.int64), shares.values().cumsum(0)
    starts = torch.cat([ends.new_zeros(1), ends[:-1]])
    before = torch.cat([sums.new_zeros(1), sums])
    low, high = before[starts], before[ends]
    drawn = torch.rand(ends.numel(), count, dtype=torch.float64, generator=generator, device="cpu")
    places = torch.searchsorted(sums, low[:, None] + drawn * (high - low)[:, None], right=True)
    places = torch.minimum(torch.maximum(places, starts[:, None]), ends[:, None] - 1)
    columns: Tensor = rows.col_indices()
    return columns.to(torch.int64)[places]
