"""Where a tensor is stored: on the CPU, with contiguous values; anything else that torch can ask for is refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from libsparse._lang.errors import ShapeError, UnsupportedError

CPU_ONLY = "libsparse computes on the CPU only; A.to_torch().cuda() is torch's own sparse tensor on a GPU"
_RANKS = {torch.channels_last: 4, torch.channels_last_3d: 5}


def check_device(tensor: Any, arguments: Iterable[Any]) -> None:
    """No argument of `A.to(...)` names another device than the CPU and "meta".

    Raises:
        UnsupportedError: One does.
    """
    for argument in arguments:
        device = argument.device if isinstance(argument, torch.Tensor) else argument
        named = isinstance(device, (str, torch.device, int)) and not isinstance(device, bool)
        if named and torch.device(device).type not in ("cpu", "meta"):
            raise UnsupportedError(f"a tensor ({tensor._operand()}) can't go to {str(device)!r}: {CPU_ONLY}")


def check_memory_format(tensor: Any, memory_format: torch.memory_format | None) -> None:
    """A memory format fits the rank; the order of dimensions in memory is the business of `A.format`.

    Raises:
        ShapeError: It is of images, and the tensor has another rank.
    """
    rank = None if memory_format is None else _RANKS.get(memory_format)
    if rank is not None and rank != tensor.ndim:
        raise ShapeError(f"{memory_format} is of {rank} dimensions; the tensor ({tensor._operand()}) has {tensor.ndim}")
