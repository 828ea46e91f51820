"""Methods for sums took any object for `alpha=`, and computed as if it were 1."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import libsparse as ls

pytestmark = pytest.mark.compiler


@pytest.mark.parametrize("alpha", ["x", None, [2], torch.ones(2)])
def test_factors_that_are_no_numbers(alpha: object, dense: Tensor) -> None:
    a = ls.tensor(dense)
    for function in (a.add, a.sub, a.clone().add_, a.clone().sub_):
        for other in (a, ls.tensor(dense.flip(0)), dense):
            with pytest.raises(ls.DtypeError, match=f"alpha is a {type(alpha).__name__}"):
                function(other, alpha=alpha)


def test_factors_that_are_numbers(dense: Tensor) -> None:
    a = ls.tensor(dense)
    for alpha in (2, -0.5, torch.tensor(3.0)):
        assert torch.equal(
            a.add(ls.tensor(dense.flip(0)), alpha=alpha).to_dense(), dense.add(dense.flip(0), alpha=alpha)
        )
