"""In a graph of torch.compile, functions of results with unknown numbers of entries were refused, such as of masks."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

FUNCTIONS = {
    "where": lambda a, b: torch.where(a > b, a, b * 2),
    "maximum": lambda a, b: torch.maximum(torch.maximum(a, b * 0.5), b),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_of_unknown_patterns_are_operands(name):
    function = FUNCTIONS[name]
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
    torch.manual_seed(0)
    full, empty = ls.random((6, 5), 0.4), ls.tensor(torch.zeros(6, 5))
    for pair in ((full, ls.random((6, 5), 0.4)), (empty, full), (empty, empty)):
        found = []
        for call in (function, compiled):
            leaves = [operand.values().clone().requires_grad_() for operand in pair]
            result = call(*(operand.with_values(values) for operand, values in zip(pair, leaves, strict=True)))
            found.append((result.to_dense().detach(), *torch.autograd.grad(result.values().sum(), leaves)))
        torch.testing.assert_close(*found)
