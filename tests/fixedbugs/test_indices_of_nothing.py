"""An index out of range was refused where it is broadcast to no elements, of which torch looks at none."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler
NONE = torch.zeros(0, dtype=torch.long)


@pytest.mark.parametrize(
    ("shape", "key"),
    [
        ((3,), (False, torch.tensor([7]))),
        ((0, 0, 1, 0), (False, ..., torch.tensor([-1]))),
        ((3, 4), (torch.tensor([7]), NONE[:, None])),
        ((3, 4), (torch.tensor([[1], [-9]]), NONE)),
    ],
)
def test_nothing_is_looked_at(shape, key):
    dense = torch.zeros(shape)
    assert ls.tensor(dense)[key].shape == dense[key].shape


def test_others_are_refused():
    with pytest.raises(ls.IndexBoundsError, match="index 7 is out of range for dimension 0"):
        ls.tensor(torch.eye(3))[torch.tensor([7]), torch.tensor([1])]
