"""torch's functions that select elements of a tensor."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import UnsupportedError
from libsparse._ops.indexing import getitem

from .registry import implements, named

implements(Tensor.__getitem__, layouts=True)(getitem.index)
implements(*named("index_select", torch, Tensor), layouts=True)(getitem.index_select)
implements(*named("select", torch, Tensor), layouts=True)(getitem.select)
implements(*named("narrow narrow_copy", torch, Tensor), layouts=True)(getitem.narrow)
implements(*named("masked_select", torch, Tensor), layouts=True)(getitem.masked_select)
implements(*named("take", torch, Tensor), layouts=True)(getitem.take)


@implements(Tensor.__setitem__)
def assign(input: Any, key: Any, value: Any) -> None:
    """Refuses `input[key] = value`: patterns are shared and don't change."""
    raise UnsupportedError(
        "A[...] = x: the entries of an ls.SparseTensor don't change in place; use A.with_values(values) for other "
        "values, A.set_diag(values) or A.fill_diag(value) for a diagonal, torch.cat for other rows, or ls.from_coo"
    )
