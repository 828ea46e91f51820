"""What `detach()` and `.data` make of a tensor changes with it, whatever an in-place operation does to the pattern."""

import gc

import pytest
import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

import libsparse as ls

CHANGES = {
    "add_": lambda a, b: a.add_(b),
    "mul_": lambda a, b: a.mul_(b),
    "lerp_": lambda a, b: a.lerp_(b, 0.5),
    "iadd": lambda a, b: a.__iadd__(b),
    "foreach_lerp": lambda a, b: (torch._foreach_lerp_([a], [b], 0.5), a)[1],
    "foreach_add": lambda a, b: (torch._foreach_add_([a], [b]), a)[1],
    "exp_": lambda a, b: a.exp_(),
    "zero_": lambda a, b: a.zero_(),
}


def _pair():
    torch.manual_seed(0)
    return torch.nn.Parameter(ls.random((8, 8), 0.5)), ls.random((8, 8), 0.5)


@pytest.mark.parametrize("taken", ["detach", "data"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_a_detached_tensor_reaches_the_parameter(change, taken):
    weight, other = _pair()
    cut = weight.detach() if taken == "detach" else weight.data
    expected = CHANGES[change](weight.detach().to_dense().clone(), other.to_dense())
    CHANGES[change](cut, other)
    torch.testing.assert_close(cut.to_dense(), expected)
    torch.testing.assert_close(weight.to_dense().detach(), expected)
    assert weight.requires_grad
    assert weight.is_leaf
    assert not cut.requires_grad
    assert weight.pattern is cut.pattern
    (weight * 2).sum().backward()
    assert weight.grad.nnz == weight.nnz


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_parameter_reaches_what_was_detached(change):
    weight, other = _pair()
    first, second = weight.detach(), weight.detach().data
    with torch.no_grad():
        CHANGES[change](weight, other)
        CHANGES[change](weight, other)
    assert weight.requires_grad
    for cut in (first, second):
        assert torch.equal(cut.to_dense(), weight.detach().to_dense())
        assert cut.values().data_ptr() == weight.values().data_ptr()


def test_averages_follow_a_pattern_that_changes():
    torch.manual_seed(0)
    layer = ls.nn.SparseLinear(16, 12, density=0.3)
    averaged = AveragedModel(layer, multi_avg_fn=get_ema_multi_avg_fn(0.5))
    expected = layer.weight.detach().to_dense()
    averaged.update_parameters(layer)
    for _ in range(3):
        layer.grow(layer.prune(0.3))
        with torch.no_grad():
            layer.weight.values().normal_()
        averaged.update_parameters(layer)
        expected = expected.lerp(layer.weight.detach().to_dense(), 0.5)
        torch.testing.assert_close(averaged.module.weight.detach().to_dense(), expected)


def test_copies_and_replaced_tensors_are_apart():
    weight, other = _pair()
    before, cut, copy = weight.detach().to_dense(), weight.detach(), weight.detach().clone()
    copy.add_(other)
    assert torch.equal(weight.detach().to_dense(), before)
    weight.data = other  # shares the memory of `other` from here on, as in torch
    cut.add_(other)
    assert torch.equal(weight.detach().to_dense(), other.to_dense())
    other.add_(ls.eye(8))
    assert torch.equal(weight.detach().to_dense(), other.to_dense())
    weight.values().data = torch.ones(weight.nnz)
    other.mul_(ls.eye(8))
    assert weight.values().tolist() == [1.0] * weight.nnz


def test_what_autograd_computed_refuses_other_entries():
    weight, other = _pair()
    computed = weight * 2
    cut = computed.detach()
    with pytest.raises(ls.UnsupportedError, match=r"add_: the tensor shares its entries .*detach\(\)\.clone\(\)"):
        cut.add_(other)
    assert torch.equal(cut.to_dense(), computed.detach().to_dense())
    cut.mul_(3)
    assert torch.equal(cut.to_dense(), computed.detach().to_dense())
    del computed
    gc.collect()
    cut.add_(other)
    torch.testing.assert_close(cut.to_dense(), weight.detach().to_dense() * 6 + other.to_dense())


def test_a_pattern_alone_is_shared():
    mask, other = ls.eye(3).bool().with_values(None), ls.tensor([[False, True, False]] * 3)
    cut = mask.detach()
    cut.logical_or_(other)
    assert torch.equal(mask.to_dense(), torch.eye(3).bool() | other.to_dense())


def test_entries_that_change_between_forward_and_backward_are_noticed():
    torch.manual_seed(0)
    weight, other = ls.random((6, 6), 0.3).requires_grad_(), ls.random((6, 6), 0.5)
    loss = (weight * weight).sum()
    with torch.no_grad():
        weight.add_(other)  # of other entries, as a dense tensor would be modified
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    (weight * weight).sum().backward()
    torch.testing.assert_close(weight.grad.to_dense(), 2 * weight.detach().to_dense())
