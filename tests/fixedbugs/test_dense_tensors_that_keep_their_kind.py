"""A dense tensor that can't take a result in place: `x += A` named a new tensor so, and left the old one as it was."""

from __future__ import annotations

import operator

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler


@pytest.mark.parametrize("change", [operator.iadd, operator.isub, operator.itruediv, operator.imod, operator.ipow])
def test_integers_do_not_take_floats(dense, change):
    target = torch.ones(3, 3, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="can't be cast"):
        change(target.clone(), dense)
    with pytest.raises(ls.UnsupportedError, match="can't be cast to torch"):
        change(target, ls.tensor(dense))
    assert torch.equal(target, torch.ones(3, 3, dtype=torch.int64))


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_dense_tensors_do_not_become_sparse(dense, dtype):
    target = torch.ones(3, 3, dtype=dtype)
    with pytest.raises(ls.UnsupportedError, match="can't take over a sparse result; use mul"):
        target *= ls.tensor(dense)
    mask = torch.ones(3, 3, dtype=torch.bool)
    with pytest.raises(ls.UnsupportedError, match="can't take over a sparse result"):
        mask &= ls.tensor(dense) != 0
    assert torch.equal(target, torch.ones(3, 3, dtype=dtype))


def test_dense_tensors_take_dense_results(dense):
    target = same = torch.ones(3, 3)
    target += ls.tensor(dense)
    target -= ls.tensor(dense) * 3
    assert target is same
    assert torch.equal(same, 1 - 2 * dense)
