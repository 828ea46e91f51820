"""A dtype that `softmax` and `log_softmax` get as their third argument was taken for another argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import libsparse as ls

CALLS: dict[str, Callable[[Any], Any]] = {
    "torch.softmax": lambda a: torch.softmax(a, 1, torch.float64),
    "torch.log_softmax": lambda a: torch.log_softmax(a, 1, torch.float64),
    "Tensor.softmax": lambda a: a.softmax(1, torch.float64),
    "Tensor.log_softmax": lambda a: a.log_softmax(1, torch.float64),
    "torch.special.softmax": lambda a: torch.special.softmax(a, 1, torch.float64),
    "torch.sparse.softmax": lambda a: torch.sparse.softmax(a, 1, torch.float64),
    "torch.sparse.log_softmax": lambda a: torch.sparse.log_softmax(a, 1, torch.float64),
    "F.softmax": lambda a: F.softmax(a, 1, 3, torch.float64),
    "F.log_softmax": lambda a: F.log_softmax(a, 1, 3, torch.float64),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_result_has_the_dtype(name: str) -> None:
    source = torch.tensor([[0.0, 2.0], [1.0, 3.0]]).to_sparse()
    wanted = torch.sparse.softmax(source, 1, dtype=torch.float64).to_dense()
    found = CALLS[name](ls.from_torch(source))
    with ls.override():
        routed = CALLS[name](source.requires_grad_())
    for result in (found, routed):
        assert result.dtype is torch.float64
        values = result.coalesce().values().detach()
        wanted_values = wanted[wanted != 0]
        torch.testing.assert_close(values.exp() if "log" in name else values, wanted_values)
