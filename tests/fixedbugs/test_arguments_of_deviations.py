"""Arguments of variances and deviations: NumPy's are heeded, those that nobody knows are refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler
DENSE = torch.tensor([[1.0, 0.0, 2.0], [0.0, -3.0, 0.5]])


@pytest.mark.parametrize("given", [{}, {"ddof": 1}, {"axis": 0}, {"axis": 1, "ddof": 1, "keepdims": True}])
@pytest.mark.parametrize("name", ["std", "var"])
def test_functions_of_numpy(name, given):
    function = getattr(np, name)
    found = function(ls.tensor(DENSE), **given)
    torch.testing.assert_close(found, torch.as_tensor(function(DENSE.numpy(), **given)))


@pytest.mark.parametrize("name", ["std", "var", "std_mean", "var_mean"])
@pytest.mark.parametrize("args", [(), (False,), (0,), (1, False), (0, True, True)])
def test_signatures_of_torch(name, args):
    function = getattr(torch, name)
    torch.testing.assert_close(function(ls.tensor(DENSE), *args), function(DENSE, *args))


@pytest.mark.parametrize(
    "call", [lambda A: A.std(corection=0), lambda A: A.var(0, True, False, 1), lambda A: A.std(dtype=torch.float64)]
)
def test_unknown_arguments(call):
    with pytest.raises(ls.DtypeError, match=r"(std|var) .*(unexpected|positional|no dtype)"):
        call(ls.tensor(DENSE))
