"""A call that torch.jit.trace refuses left a transpose whose number of entries was a tensor: later calls raised."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", [lambda A, x: A.T @ x, lambda A, x: (A + A.T) @ x])
def test_eager_calls_after_a_trace(function):
    A, x = ls.random((8, 8), 0.4), torch.rand(8)
    with pytest.raises(ls.UnsupportedError, match=r"torch\.jit\.trace"):
        torch.jit.trace(lambda x: function(A, x), x)
    torch.testing.assert_close(function(A, x), function(A.to_dense(), x))
