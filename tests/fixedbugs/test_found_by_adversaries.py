"""Dtypes of differences, one-element factors, autocast of sums, dense tensors changed in place, closures that raise."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler


@pytest.mark.parametrize("format", ["csr", "coo", "csc"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (torch.tensor([[1, 0, 2]], dtype=torch.int16), torch.tensor([[1, 3, 0]], dtype=torch.uint8)),
        (torch.tensor([[1.0, 0, 2]]), torch.tensor([[200, 3, 0]], dtype=torch.uint8)),
        (torch.tensor([[1.0, 0]]), torch.tensor([[-128, 0]], dtype=torch.int8)),
        (torch.tensor([[1, 0]]), torch.tensor([[-(2**31), 0]], dtype=torch.int32)),
        (torch.tensor([[1, 0]]), torch.tensor([[True, True]])),
    ],
)
def test_differences_of_several_dtypes(format, first, second):
    found = ls.tensor(first, format=format) - ls.tensor(second, format=format)
    wanted = first - second.to(torch.promote_types(first.dtype, second.dtype))
    assert found.dtype == wanted.dtype
    assert torch.equal(found.to_dense(), wanted)


def test_a_factor_of_one_element_keeps_its_dtype():
    dense, factor = torch.eye(3), torch.tensor([1 / 3], dtype=torch.float64)
    for found in (ls.tensor(dense) * factor, factor * ls.tensor(dense), torch.mul(ls.tensor(dense), factor)):
        assert found.dtype == torch.float64
        assert torch.equal(found.to_dense(), dense * factor)


def test_sums_with_products_have_the_dtype_of_autocast():
    dense, x = torch.eye(6), torch.randn(6, 6)
    A = ls.tensor(dense)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for function in (
            lambda M: torch.addmm(x, M, x),
            lambda M: torch.nn.functional.linear(x, M, x[0]),
        ):
            for _ in range(3):
                assert function(A).dtype == function(dense).dtype == torch.bfloat16


def test_dense_tensors_take_products_in_place():
    dense, x = torch.eye(3) * 2, torch.rand(3, 2)
    A, found, wanted = ls.tensor(dense), torch.ones(3, 2), torch.ones(3, 2)
    assert found.addmm_(A, x) is found
    torch.testing.assert_close(found, wanted.addmm_(dense, x))
    torch.testing.assert_close(torch.ones(3).addmv_(A, x[:, 0]), torch.ones(3).addmv_(dense, x[:, 0]))
    torch.testing.assert_close(torch.ones(3, 3).add_(A), torch.ones(3, 3).add_(dense))
    with pytest.raises(ls.UnsupportedError, match="sparse result"):
        torch.ones(3, 3).mul_(A)
    with pytest.raises(ls.ShapeError):
        torch.ones(3).add_(A)


def test_parameters_are_back_after_a_closure_that_raised():
    def closure():
        raise KeyError("stop")

    parameter = torch.nn.Parameter(ls.tensor(torch.eye(3)))
    optimizer = torch.optim.SGD([parameter], lr=0.01)
    with pytest.raises(KeyError, match="stop"):
        optimizer.step(closure)
    assert optimizer.param_groups[0]["params"][0] is parameter
    with pytest.raises(ValueError, match="more than one"):
        optimizer.add_param_group({"params": [parameter]})


def test_masks_of_multihead_attention_are_refused() -> None:
    x, mask = torch.randn(1, 4, 8), ls.from_mask(torch.eye(4) > 0)
    heads = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    with pytest.raises(ls.UnsupportedError, match="to_dense"):
        heads(x, x, x, attn_mask=mask, need_weights=False)
    torch.testing.assert_close(heads(x, x, x, attn_mask=mask)[0], heads(x, x, x, attn_mask=mask.to_dense())[0])


def test_stored_is_about_entries_where_the_rest_has_a_value() -> None:
    F = torch.exp(ls.tensor([[0.0, 2.0], [1.0, 0.0]]))
    assert F.fill_value == 1
    assert ls.evaluate("c = stored(F(i,j))", F=F) == 2
    assert ls.evaluate("C(i,j) = stored(F(i,j)) * F(i,j)", F=F).fill_value == 0


def test_conversions_refuse_what_they_do_not_do() -> None:
    A = ls.tensor([[0.0, 2.0], [1.0, 0.0]])
    assert torch.ones(2, 3, dtype=torch.int32).to(A).dtype == torch.float32
    for arguments in ({"dense_dim": 1}, {"blocksize": (1, 2)}, {"blocksize": (1, 2), "layout": torch.sparse_csr}):
        with pytest.raises(ls.UnsupportedError):
            A.to_sparse(**arguments)
    with pytest.raises(TypeError):
        A.to_sparse(foo=1)
    with pytest.raises(ls.UnsupportedError, match="out="):
        torch.mm(A, torch.ones(2, 2), out=torch.empty(2, 2, device="meta"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize("name", ["product", "softmax", "slice", "format", "dense", "assembled", "layout", "SciPy"])
def test_graphs_of_torch_jit_would_have_no_kernels(name: str) -> None:
    A = ls.tensor([[0.0, 2.0], [1.0, 0.0]]).to_format("csr")
    functions: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "product": lambda v: A.with_values(v) @ torch.ones(2),
        "softmax": lambda v: torch.softmax(A.with_values(v), 1).values(),
        "slice": lambda v: A.with_values(v)[:1].values(),
        "format": lambda v: A.with_values(v).to_format("csc").values(),
        "dense": lambda v: A.with_values(v).to_dense(),
        "assembled": lambda v: ls.from_coo(A.indices(), v, A.shape).values(),
        "layout": lambda v: A.with_values(v).to_sparse_csr().values(),
        "SciPy": lambda v: torch.from_numpy(A.with_values(v).to_scipy().data),
    }
    for _ in range(4):  # the last ones are repeated calls
        functions[name](A.values())
    with pytest.raises(ls.UnsupportedError, match=r"torch\.export"):
        torch.jit.trace(functions[name], (A.values(),))


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("dim", [0, 1])
def test_extrema_with_places_give_the_gradient_to_one_place(dim: int, format: str) -> None:
    dense = torch.tensor([[2.0, 2.0, 0.0], [-1.0, -1.0, -1.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    A, D = ls.tensor(dense).to_format(format).requires_grad_(), dense.clone().requires_grad_()
    for function in (torch.max, torch.min):
        A.grad = D.grad = None
        found, expected = function(A, dim), function(D, dim)
        assert torch.equal(found[0], expected[0])
        assert torch.equal(found[1], expected[1])
        (found[0] * torch.arange(1, 4)).sum().backward()
        (expected[0] * torch.arange(1, 4)).sum().backward()
        assert torch.equal(A.grad.to_dense(), D.grad * (dense != 0))


def test_questions_that_torch_answers() -> None:
    A = ls.tensor([[0.0, 2.0], [1.0, 0.0]])
    assert torch.is_same_size(A, torch.ones(2, 2))
    assert not torch.ones(2).is_same_size(A)
    assert A.is_cpu
    assert (A.to("meta").is_meta, A.to("meta").is_cpu) == (True, False)
    assert torch.ones(4).view_as(A).shape == (2, 2)
    found = torch.logsumexp(A.to(torch.complex64), 1)
    torch.testing.assert_close(found, torch.logsumexp(A.to(torch.complex64).to_dense(), 1))
