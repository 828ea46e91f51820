"""States that modules load: weights in another format, and tensors that are exchanged as wholes."""

from __future__ import annotations

import copy

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler


@pytest.mark.parametrize("format", ["csc", "coo", "dcsr"])
def test_the_format_of_a_weight_is_that_of_the_layer(format):
    layer = ls.nn.SparseLinear(5, 6, density=0.5)
    state = copy.deepcopy(layer).state_dict()
    wanted = state["weight"].to_dense() * 2
    layer.load_state_dict({**state, "weight": (state["weight"] * 2).to_format(format)})
    assert layer.weight.format == "csr"
    assert torch.equal(layer.weight.to_dense(), wanted)


def test_other_places_are_refused():
    layer = ls.nn.SparseLinear(5, 6, density=0.5)
    for other in (ls.random((6, 5), 0.3), ls.random((5, 6), 0.5)):
        with pytest.raises(ls.FormatError, match="other places"):
            layer.load_state_dict({**layer.state_dict(), "weight": other})


@pytest.mark.parametrize("assign", [False, True])
def test_tensors_that_are_exchanged(assign):
    layer = ls.nn.SparseLinear(5, 6, density=0.5)
    layer.register_buffer("graph", ls.eye(5))
    state, weight = copy.deepcopy(layer).state_dict(), layer.weight
    state["weight"] = state["weight"] * 2
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        layer.load_state_dict(state, assign=assign)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)
    assert layer.weight is weight
    assert weight.requires_grad
    assert torch.equal(weight.to_dense(), state["weight"].to_dense())


@pytest.mark.parametrize("assign", [False, True])
def test_states_that_are_not_sparse(assign):
    layer = ls.nn.SparseLinear(5, 6, density=0.5)
    state, weight = layer.state_dict(), layer.weight
    with pytest.raises(ls.FormatError, match=r"weight: the state has a dense weight .* SparseLinear.from_dense"):
        layer.load_state_dict({**state, "weight": torch.zeros(6, 5)}, assign=assign)
    with pytest.raises(RuntimeError, match=r'parameter named "weight", expected torch\.Tensor'):
        layer.load_state_dict({**state, "weight": 3}, assign=assign)
    assert layer.weight is weight
