"""What new users of the package stumbled over, each with the answer that they get."""

from __future__ import annotations

import copy
import math
import warnings

import numpy
import pytest
import scipy.sparse
import torch
import torch.nn.functional as F

import libsparse as ls

DENSE = torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, -4.0], [0.0, 3.0, 0.0]])
X = torch.arange(6.0).reshape(3, 2)


@pytest.fixture
def A():
    return ls.tensor(DENSE)


@pytest.fixture
def P(A):
    """Only a pattern."""
    return A.with_values(None)


def same(found, expected):
    torch.testing.assert_close(found.to_dense() if isinstance(found, ls.SparseTensor) else found, expected)


@pytest.mark.parametrize("overridden", [False, True])
def test_enable_leaves_compiled_code_on_torchs_csr_alone(overridden):
    torch._dynamo.reset()
    csr = DENSE.to_sparse_csr()

    def product(x):
        return csr @ x + 1

    with ls.override() if overridden else torch.no_grad():
        same(torch.compile(product, backend="eager")(X), DENSE @ X + 1)


def test_sddmm_takes_batches(A):
    q, kt = torch.rand(2, 4, 3, 5), torch.rand(2, 4, 5, 3)
    for mask in (A, torch.stack([A, A, A, A])):
        if mask.ndim == 2:
            same(ls.sddmm(mask, q, kt), DENSE * (q @ kt))
        else:
            same(ls.sddmm(mask, q[0], kt[0]), DENSE * (q[0] @ kt[0]))


def test_a_dense_result_of_a_sparse_shape_warns_and_names_stored(A):
    with pytest.warns(ls.DenseResultWarning, match=r"stored\(s\(i,j\)\)"):
        ls.evaluate("y(i,j) = exp(s(i,j) - m(i))", s=A, m=torch.ones(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = ls.evaluate("y(i,j) = stored(s(i,j)) * exp(s(i,j) - m(i))", s=A, m=torch.ones(3))
        same(kept, torch.where(DENSE != 0, (DENSE - 1).exp(), 0))
        ls.evaluate("y(i,j) = exp(s(i,j) - m(i))", s=A, m=torch.ones(3), format="dense")


@pytest.mark.parametrize("name", ["leaky_relu", "gelu", "elu", "softplus", "silu", "mish", "relu6"])
def test_activations(name, A):
    function = getattr(F, name)
    same(function(A), function(DENSE))
    found = ls.evaluate(f"y(i,j) = {name}(s(i,j))", s=A)
    same(found, function(DENSE))
    assert torch.autograd.gradcheck(
        lambda v: ls.evaluate(f"y(i,j) = {name}(s(i,j))", s=A.with_values(v)).values(),
        A.values().double().requires_grad_(),
    )


def test_an_unknown_function_has_a_suggestion(A):
    with pytest.raises(ls.FormatError, match="did you mean the function 'sigmoid'"):
        ls.evaluate("y(i,j) = sigmod(s(i,j))", s=A)


def test_a_pattern_in_sums_counts_as_ones(P):
    ones = (DENSE != 0).float()
    same(P + ls.eye(3), ones + torch.eye(3))
    same(P @ X, ones @ X)
    same(P.float() @ P.float(), ones @ ones)
    same(P @ P, (ones @ ones).bool())  # of bools: whether there is a path
    same(P.sum(1), ones.sum(1).long())
    same(P * 2.5, ones * 2.5)


@pytest.mark.parametrize(
    "function",
    [
        torch.relu,
        torch.neg,
        torch.abs,
        F.gelu,
        F.leaky_relu,
        F.dropout,
        lambda p: p.softmax(1),
        torch.Tensor.mean,
        torch.norm,
        torch.std,
        lambda p: p - p,
        lambda p: p.requires_grad_(),
    ],
)
def test_a_pattern_in_a_floating_function_is_told_to_use_float(function, P):
    with pytest.raises(ls.DtypeError, match=r"use A\.float\(\)"):
        function(P)
    function(P.float())


def test_a_parameter_is_trained_and_clipped(A):
    weight = torch.nn.Parameter(ls.tensor(DENSE))
    optimizer = torch.optim.Adam([weight], lr=0.1)
    before = weight.values().detach().clone()
    (weight @ X).square().sum().backward()
    torch.nn.utils.clip_grad_norm_([weight], 1.0)
    assert weight.grad.values().norm() <= 1.0001
    optimizer.step()
    assert not torch.equal(weight.values(), before)
    assert torch.equal(torch.zeros_like(weight), torch.zeros_like(A))
    assert torch.allclose(A, A.clone())
    assert not torch.equal(A, A * 2)


def test_autocast_is_heeded(A):
    with torch.autocast("cpu", torch.bfloat16):
        assert (A @ X).dtype == (DENSE @ X).dtype == torch.bfloat16


def test_messages_of_from_csr_name_its_arguments():
    with pytest.raises(
        ls.IndexBoundsError, match=r"^col\[1\] is 9; expected 0 <= index < 3.*shape \(1, 3\), format csr"
    ):
        ls.from_csr([0, 2], [0, 9], None, (1, 3))
    with pytest.raises(ls.FormatError, match=r"^ccol\[2\] is 0, less than 2"):
        ls.from_csc([0, 2, 0, 2], [0, 0], None, (1, 3))


def test_a_missing_attribute_is_typed_and_suggests(A):
    for error in (AttributeError, ls.LibsparseError):
        with pytest.raises(error, match=r"no attribute 'fromat' \(shape \(3, 3\), format csr\); did you mean format"):
            _ = A.fromat
    with pytest.raises(AttributeError, match=r'use A\.to_format\("csc"\)'):
        A.tocsc()
    with pytest.raises(AttributeError, match=r"use A\.to_dense\(\)"):
        A.toarray()
    assert not hasattr(A, "toarray")
    assert getattr(A, "toarray", 7) == 7
    assert copy.copy(A).nnz == A.nnz
    with pytest.raises(AttributeError, match="did you mean from_torch"):
        _ = ls.from_tensor


def test_an_unsupported_function_is_typed_and_names_the_tensor(A):
    with pytest.raises(ls.UnsupportedError, match=r"torch\.linalg\.svd is not supported .*shape \(3, 3\), format csr"):
        torch.linalg.svd(A)
    with pytest.raises(ls.UnsupportedError, match=r"use ls.linalg.solve\(A, b\)"):
        torch.linalg.solve(A, X)


def test_numbers_on_either_side(A):
    same(2 / A, 2 / DENSE)
    same(A + 1, DENSE + 1)
    same(1 - A, 1 - DENSE)
    assert (2 / A).fill_value == math.inf
    assert (A + 1).fill_value == 1


def test_operators_in_place(A):
    kept = A
    A *= 2
    A += A
    A -= ls.eye(3)
    A /= 4
    assert A is kept
    same(A, (DENSE * 4 - torch.eye(3)) / 4)


def test_iteration_gives_rows(A):
    assert len(A) == 3
    for row, dense in zip(A, DENSE, strict=True):
        same(row, dense)


def test_what_code_asks_before_it_decides(A):
    assert A.density == pytest.approx(4 / 9)
    assert A.is_sparse is False  # only torch's COO is
    assert A.is_sparse_csr is False
    assert A.layout is torch.strided
    assert isinstance(A, torch.Tensor)
    assert not A.is_cuda
    assert A.device == torch.device("cpu")


def test_arrays_of_numpy_and_scipy(A):
    same(A @ X.numpy(), DENSE @ X)
    assert isinstance(numpy.asarray(A), numpy.ndarray)
    numpy.testing.assert_array_equal(numpy.asarray(A), DENSE.numpy())
    same(ls.tensor(scipy.sparse.csr_array(DENSE.numpy())), DENSE)
    same(ls.tensor(scipy.sparse.coo_array(DENSE.numpy())) @ X, DENSE @ X)


def test_operators_of_torch_library_exist(A):
    assert callable(torch.ops.libsparse.compute)
    program = torch.export.export(_Product(), (A, X))
    assert any("libsparse" in str(node.target) for node in program.graph.nodes)


class _Product(torch.nn.Module):
    def forward(self, a, x):
        return a @ x


def test_what_serves_in_place_of_functions_that_are_missing(A):
    with pytest.raises(ls.UnsupportedError, match=r"A\.masked_fill\(mask\[:, None\], 0\) for rows of zeros"):
        A[1] = 0
    masked = DENSE.index_fill(0, torch.tensor([1]), 0)
    assert torch.equal(A.masked_fill(torch.tensor([False, True, False])[:, None], 0).to_dense(), masked)
    with pytest.raises(ls.UnsupportedError, match=r"use A\.topk\(k, dim\)"):
        A.sort(1)
    with pytest.raises(ls.UnsupportedError, match=r"use ls\.linalg\.solve\(A, b\)"):
        torch.linalg.inv(A)
