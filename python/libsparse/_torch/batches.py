"""DataLoaders' default collate of SparseTensors, which torch calls without asking for a handler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.data._utils.collate import default_collate_fn_map

from libsparse._tensor.sparse_tensor import SparseTensor


def collate(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    """The items of a batch along a new first dimension; they may differ in their numbers of entries."""
    return torch.stack(list(batch))


default_collate_fn_map[SparseTensor] = collate
