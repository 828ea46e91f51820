"""Medians and quantiles of sparse tensors against dense torch: values, places, NaN, fill values and gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

import libsparse as ls

from .test_ranking import pairs, same

METHODS = ["linear", "lower", "higher", "midpoint", "nearest"]


@settings(max_examples=60, deadline=None)
@given(pairs(), st.sampled_from(["median", "nanmedian"]), st.booleans(), st.data())
def test_medians(pair: tuple[ls.SparseTensor, torch.Tensor], name: str, keepdim: bool, data: st.DataObject) -> None:
    sparse, dense = pair
    dim = data.draw(st.none() | st.integers(-dense.ndim, dense.ndim - 1))
    function = getattr(torch, name)
    if dim is None:
        assert same(function(sparse), function(dense))
        return
    found, wanted = function(sparse, dim, keepdim), function(dense, dim, keepdim)
    assert type(found) is getattr(torch.return_types, name)
    assert same(found.values, wanted.values)
    values, places = (part if keepdim else part.unsqueeze(dim) for part in found)
    assert same(dense.gather(dim, places), values)


@settings(max_examples=60, deadline=None)
@given(pairs(), st.sampled_from(["quantile", "nanquantile"]), st.sampled_from(METHODS), st.booleans(), st.data())
def test_quantiles(
    pair: tuple[ls.SparseTensor, torch.Tensor], name: str, interpolation: str, keepdim: bool, data: st.DataObject
) -> None:
    sparse, dense = (operand.to(torch.float64) for operand in pair)
    dim = data.draw(st.none() | st.integers(-dense.ndim, dense.ndim - 1))
    q: Any = data.draw(st.sampled_from([0.5, 0.3, 1, [0.25, 0.5, 1.0], []]))
    q = torch.tensor(q, dtype=torch.float64) if isinstance(q, list) else q
    function = getattr(torch, name)
    found = function(sparse, q, dim, keepdim, interpolation=interpolation)
    wanted = function(dense, q, dim, keepdim, interpolation=interpolation)
    assert same(found, wanted) or torch.allclose(found, wanted, equal_nan=True)


def test_gradients() -> None:
    A = ls.random((4, 5), 0.6, dtype=torch.float64)
    values = torch.arange(1.0, A.nnz + 1, dtype=torch.float64).requires_grad_()
    q = torch.tensor([0.9, 0.35], dtype=torch.float64)
    assert gradcheck(lambda v: A.with_values(v).median(1).values, [values])
    assert gradcheck(lambda v: A.with_values(v).nanmedian(), [values])
    assert gradcheck(lambda v: A.with_values(v).quantile(q, 0), [values])


def test_errors() -> None:
    A = ls.tensor(torch.tensor([[0.0, 1.0], [2.0, 0.0]]))
    nothing = ls.from_coo(torch.zeros(2, 0, dtype=torch.int64), torch.zeros(0), (3, 0))
    with pytest.raises(ls.IndexBoundsError, match="0 to 1"):
        A.quantile(2.0, 1)
    with pytest.raises(ls.DtypeError, match="expected torch"):
        A.quantile(torch.tensor([0.5], dtype=torch.float64), 1)
    with pytest.raises(ls.DtypeError, match="interpolation is 'cubic'"):
        A.quantile(0.5, 1, interpolation="cubic")
    with pytest.raises(ls.DtypeError, match="expected float32 or float64"):
        A.to(torch.int64).quantile(0.5)
    with pytest.raises(ls.IndexBoundsError, match="has no elements"):
        nothing.median(1)
    assert nothing.median(0).values.shape == (0,)
    with pytest.raises(NotImplementedError, match="bool"):
        A.bool().median(0)
