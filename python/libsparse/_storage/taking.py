"""Values in another order."""

from __future__ import annotations

import torch
from torch import Tensor
from torch._C import _functorch
from torch.autograd import forward_ad

from . import memory, sorting, threads

_EACH = 1 << 15  # entries from which on a thread of its own is worth its start
_SIZES = (1, 2, 4, 8)  # bytes of values that C takes
_watchers = (torch._C._len_torch_dispatch_stack, torch._C._len_torch_function_stack, torch._C._get_tracing_state)


def taken(values: Tensor, source: Tensor) -> Tensor:
    """The values at these places, each of which is there; differentiable. torch's own function has one thread."""
    if torch.compiler.is_compiling():
        return values.index_select(0, source)
    count = source.numel()
    shared = threads.shared(count, _EACH)
    radix = sorting.in_c() if shared[0] > 1 else None
    if radix is None or not _is_plain(values) or not sorting.is_plain(source):
        return values.index_select(0, source)
    out = values.new_empty(count)
    places = memory.address(source), source.dtype == torch.int64
    given = memory.address(values), values.itemsize, values.numel()
    if not radix.take(*given, *places, out.data_ptr(), count, *shared):
        return values.index_select(0, source)  # which says what is wrong
    return out


def _is_plain(values: Tensor) -> bool:
    """Whether nobody but C has to see what is done to values."""
    if type(values) is not Tensor or any([watcher() for watcher in _watchers]) or forward_ad._current_level >= 0:
        return False
    if (values.requires_grad and torch.is_grad_enabled()) or _functorch.is_functorch_wrapped_tensor(values):
        return False
    if not values.is_cpu or values.layout != torch.strided or values.ndim != 1 or not values.is_contiguous():
        return False
    return values.itemsize in _SIZES and not values.is_conj() and not values.is_neg()
