"""Products and minima of duplicate truth values were true where any of them is."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler


@pytest.mark.parametrize(
    ("reduce", "combined"), [("sum", any), ("max", any), ("amax", any), ("min", all), ("amin", all), ("prod", all)]
)
@pytest.mark.parametrize("values", [[True, False], [False, True], [True, True], [False, False], [True, True, False]])
def test_duplicate_truth_values(reduce, combined, values) -> None:
    found = ls.from_coo([[1] * len(values)], torch.tensor(values), (3,), reduce=reduce)
    assert found.dtype == torch.bool
    assert found.to_dense().tolist() == [False, combined(values), False]
