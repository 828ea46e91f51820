"""torch's tensors like another one: they have its shape, and its entries where values are free."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, ShapeError, UnsupportedError
from libsparse._ops import foreign
from libsparse._ops.operands import is_sparse, to_operand
from libsparse._runtime.problem import Operand
from libsparse._tensor.placement import check_device

from .registry import implements, named

_FREE = {"empty_like": torch.zeros_like, "rand_like": torch.rand_like, "randn_like": torch.randn_like}
_PLAIN = {"dtype", "device", "requires_grad"}


@implements(*named("zeros_like", torch))
def zeros_like(input: Any, **kwargs: Any) -> Operand:
    """Zeros at the entries of a tensor."""
    return _like(input, torch.zeros_like, 0, kwargs)


@implements(*named("ones_like", torch))
def ones_like(input: Any, **kwargs: Any) -> Operand:
    """Ones everywhere: at the entries of a tensor, and as its fill value."""
    return _like(input, torch.ones_like, 1, kwargs)


@implements(*named("full_like", torch))
def full_like(input: Any, fill_value: Any, **kwargs: Any) -> Operand:
    """One number everywhere: at the entries of a tensor, and as its fill value."""

    def full(values: Tensor, **given: Any) -> Tensor:
        return torch.full_like(values, fill_value, **given)

    return _like(input, full, fill_value, kwargs)


def _like(input: Any, make: Any, fill: Any, kwargs: dict[str, Any]) -> Operand:
    source = to_operand(input)
    check_device(input, [kwargs.get("device")])
    given = {name: value for name, value in kwargs.items() if name in _PLAIN}
    values = make(source.values.detach(), **given)
    if fill != 0:
        fill = torch.tensor(fill, device="cpu").to(values.dtype).item()
    return Operand(source.pattern, values, fill)


def _free(name: str) -> Any:
    def handler(input: Any, **kwargs: Any) -> Operand:
        return _like(input, _FREE[name], 0, kwargs)

    handler.__name__ = name
    handler.__doc__ = f"`torch.{name}` of the values, at the entries of a tensor."
    return handler


for _name in _FREE:
    implements(*named(_name, torch))(_free(_name))
for _name in ("new_zeros", "new_ones", "new_empty", "new_full", "new_tensor"):

    def _new(input: Any, *args: Any, _name: str = _name, **kwargs: Any) -> Tensor:
        """A dense tensor of the dtype of this one."""
        if any(map(is_sparse, args)):
            raise DtypeError(f"{_name}: an argument is a sparse tensor; expected numbers or a dense one: use A.shape")
        made: Tensor = getattr(torch.empty(0, dtype=input.dtype, device="cpu"), _name)(*args, **kwargs)
        return made

    implements(*named(_name, Tensor))(_new)


@implements(*named("bernoulli", torch, Tensor))
def bernoulli(input: Any, p: float | None = None, *, generator: Any = None) -> Operand:
    """Draws 0 or 1 at each entry, with the probability that the entry, or `p`, is."""
    source = to_operand(input)
    source.need_zero_fill("bernoulli")
    values = source.values
    drawn = (
        torch.bernoulli(values, generator=generator) if p is None else torch.bernoulli(values, p, generator=generator)
    )
    return source.with_data(drawn)


@implements(*named("masked_fill", torch, Tensor), layouts="raises")
def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """`value` where the mask is true, the tensor elsewhere; 0 keeps it sparse, also where the mask is dense."""
    source = to_operand(input)
    dtype = source.dtype
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        kind = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise DtypeError(f"masked_fill of a tensor ({source}): the mask is {kind}; expected a bool one: use mask != 0")
    if isinstance(value, (int, float)) and value == 0:
        return torch.where(mask, False, input)  # of all dtypes the one that promotes no other
    if isinstance(value, (int, float)) and dtype.is_floating_point:
        return torch.where(mask, value, input)
    place, always = torch.zeros((), dtype=dtype, device="cpu"), torch.tensor(True, device="cpu")
    try:
        number = place.masked_fill(always, value)  # torch knows which values the dtype can hold
    except RuntimeError as error:
        raise DtypeError(f"masked_fill of {dtype} ({source}) by {value!r}: {error}") from None
    return torch.where(mask, number, input)


@implements(Tensor.sparse_mask, layouts="raises")
def sparse_mask(input: Any, mask: Any) -> Operand:
    """The elements of a tensor at the entries of another one."""
    source, where = to_operand(input, 0), to_operand(mask, 1)
    source.need_zero_fill("sparse_mask")
    if where.pattern is None or source.shape != where.shape:
        raise ShapeError(f"sparse_mask of a tensor ({source}) by ({where}); expected a sparse mask of the same shape")
    if source.pattern is None:
        elements = source.values[tuple(where.sparsity.coordinates())]
        return Operand(where.pattern, where.sparsity.spread(elements))
    return Operand(where.pattern, where.sparsity.resample(source.values, source.sparsity))


@implements(Tensor.tolist)
def tolist(input: Any) -> Any:
    """All elements, stored or not, as nested lists."""
    return input.to_dense().tolist()


@implements(Tensor.__array__)
def array(input: Any, dtype: Any = None, copy: bool | None = None) -> Any:
    """All elements, stored or not, as a NumPy array; for operators of SciPy's sparse arrays, none.

    Raises:
        FormatError: They would not fit into memory.
        UnsupportedError: The tensor requires grad, which an array does not; a dense tensor raises a RuntimeError, too.
        ShapeError: `copy` is False, and the array would be a copy, for which NumPy wants a ValueError.
    """
    if foreign.asked_by_operator():
        return foreign.no_array()
    if copy is False:
        raise ShapeError(f"np.asarray(A, copy=False): an array of a sparse tensor ({to_operand(input)}) is a copy")
    if input.requires_grad:
        raise UnsupportedError(
            f"np.asarray(A): the tensor ({to_operand(input)}) requires grad, which an array does not; use A.detach()"
        )
    dense = input.to_dense().numpy()
    return dense if dtype is None else dense.astype(dtype)


@implements(Tensor.numpy)
def numpy(input: Any, *, force: bool = False) -> Any:
    """Refused, as torch refuses it for its sparse tensors."""
    raise UnsupportedError("numpy() shares memory, which a sparse tensor has none of; use A.to_dense().numpy()")
