"""torch's elementwise functions on sparse tensors: `op(A).to_dense()` equals `op(A.to_dense())`, types included."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from covering import pairs
from torch.autograd import gradcheck, gradgradcheck

import libsparse as ls

UNARY = """
abs acos acosh angle asin asinh atan atanh ceil conj cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1
floor frac isfinite isinf isnan isneginf isposinf isreal lgamma log log10 log1p log2 logical_not logit
nan_to_num neg positive rad2deg real reciprocal relu round rsqrt selu sgn sigmoid sign signbit sin sinc sinh
sqrt square tan tanh trunc
"""
ACTIVATIONS = """
celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 silu softplus
softshrink softsign tanhshrink
"""
SPECIAL = """
bessel_j0 entr erfcx expit gammaln i0 i0e i1 i1e log_ndtr ndtr psi
"""
BINARY = """
add sub mul div maximum minimum fmax fmin eq ne lt le gt ge atan2 hypot copysign logaddexp logaddexp2
heaviside pow float_power logical_and logical_or logical_xor nextafter xlogy isclose ldexp
"""
BITS = """
bitwise_and bitwise_or bitwise_xor gcd lcm
"""


def drawn(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Numbers of both signs, with halves among them; most are zero."""
    small = torch.randint(-6, 7, shape) / 2
    return torch.where(torch.rand(shape) < 0.4, small, 0).to(dtype)


def same(found: Any, wanted: torch.Tensor) -> None:
    dense = found.to_dense() if isinstance(found, ls.SparseTensor) else found
    assert dense.dtype == wanted.dtype
    torch.testing.assert_close(dense, wanted, equal_nan=True)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr", "bsr(2,2)", "ell", "hh", "bb"])
def test_functions_of_one_tensor(format: str) -> None:
    functions = [
        *(getattr(torch, name) for name in UNARY.split()),
        *(getattr(F, name) for name in ACTIVATIONS.split()),
        *(getattr(torch.special, name) for name in SPECIAL.split()),
        operator.neg,
        operator.abs,
    ]
    for dtype in (torch.float32, torch.int32, torch.bool, torch.complex64):
        dense = drawn(5, 6, dtype=dtype)
        A = ls.tensor(dense, format=format)
        for function in functions:
            try:
                wanted = function(dense)
            except (RuntimeError, TypeError):
                with pytest.raises((RuntimeError, TypeError)):
                    function(A)
                continue
            found = function(A)
            assert isinstance(found, ls.SparseTensor)
            same(found, wanted)


@pytest.mark.parametrize(
    ("name", "formats", "dtypes"),
    pairs(
        BINARY.split(),
        [("csr", "csr"), ("csr", "coo"), ("bsr(2,2)", "csc"), ("ell", "bb")],
        [(torch.float32, torch.float32), (torch.float64, torch.int32), (torch.int64, torch.bool)],
    ),
    ids=str,
)
def test_functions_of_two_tensors(name: str, formats: tuple[str, str], dtypes: tuple[torch.dtype, ...]) -> None:
    function = getattr(torch, name)
    dense = [drawn(6, 6, dtype=dtype) for dtype in dtypes]
    try:
        wanted = function(*dense)
    except RuntimeError:  # torch does not take these dtypes
        dense = [drawn(6, 6), drawn(6, 6)]
        wanted = function(*dense)
    sparse = [ls.tensor(d, format=format) for d, format in zip(dense, formats, strict=True)]
    found = function(*sparse)
    assert isinstance(found, ls.SparseTensor)
    same(found, wanted)
    same(function(sparse[0], sparse[0]), function(dense[0], dense[0]))


@pytest.mark.parametrize("name", BITS.split())
def test_functions_of_integers(name: str) -> None:
    function = getattr(torch, name)
    a, b = drawn(5, 5, dtype=torch.int32), drawn(5, 5, dtype=torch.int32)
    same(function(ls.tensor(a), ls.tensor(b)), function(a, b))
    same(function(ls.tensor(a), b), function(a, b))


@pytest.mark.parametrize("other", [(6,), (1, 6), (4, 1), (3, 1, 6), (1,), (1, 1)], ids=str)
def test_broadcasting_of_sparse_tensors(other: tuple[int, ...]) -> None:
    a, b = drawn(4, 6), drawn(*other)
    A, B = ls.tensor(a), ls.tensor(b)
    for function in (torch.add, torch.mul, torch.maximum, torch.lt, torch.sub):
        same(function(A, B), function(a, b))
        same(function(B, A), function(b, a))


def test_dense_operands_make_dense_results_but_for_those_that_are_absorbed() -> None:
    a, d = drawn(4, 6), torch.rand(4, 6) + 0.5
    A = ls.tensor(a)
    for absorbed in (torch.mul, torch.div, torch.ldexp, torch.xlogy):
        for dense in (d, d[:1], d[:, :1], d[0]):
            found = absorbed(A, dense)
            assert isinstance(found, ls.SparseTensor)
            assert found.nnz == A.nnz
            same(found, absorbed(a, dense))
    for filling in (torch.add, torch.sub, torch.maximum, torch.lt, torch.pow, torch.atan2):
        for dense in (d, d[:1], d[:, :1], torch.rand(2, 4, 6)):
            found = filling(A, dense)
            assert type(found) is torch.Tensor
            same(found, filling(a, dense))
            same(filling(dense, A), filling(dense, a))


def test_numbers() -> None:
    a = drawn(4, 6)
    A = ls.tensor(a)
    calls: list[Callable[[Any], Any]] = [
        lambda x: x + 1,
        lambda x: 1 - x,
        lambda x: 2 / x,
        lambda x: 2.5 * x,
        lambda x: 2**x,
        lambda x: x**2,
        lambda x: x == 0,
        lambda x: x > 1,
        lambda x: torch.add(x, 3, alpha=2),
        lambda x: torch.rsub(x, 3),
        lambda x: x.clamp(-1, 1),
        lambda x: x.clamp(min=1),
        lambda x: torch.clamp(x, max=-1.0),
        lambda x: torch.where(x > 0, x, 0),
        lambda x: torch.where(x > 0, 1.0, x),
        lambda x: torch.lerp(x, x * 2, 0.5),
        lambda x: torch.addcmul(x, x, x + 1, value=3),
        lambda x: x + torch.tensor(2.0),
        lambda x: x * float("inf"),
        lambda x: x.mul(3).add(1).mul(2).sub(x),
        lambda x: (x > 0) & ~(x > 1),
        lambda x: torch.threshold(x, 0.5, 7),
        lambda x: F.prelu(x, torch.tensor([0.25])),
        lambda x: torch.isclose(x, x + 1e-9),
        lambda x: torch.div(x, 2, rounding_mode="trunc"),
        lambda x: torch.true_divide(x, 2),
        lambda x: x.logical_not().float(),
        lambda x: torch.nan_to_num(x / 0),
    ]
    for call in calls:
        found = call(A)
        assert isinstance(found, ls.SparseTensor)
        same(found, call(a))


def test_rows_that_are_normalized_stay_sparse() -> None:
    a = drawn(5, 5).abs() + torch.eye(5)
    A = ls.tensor(a)
    same(A / A.sum(1, keepdim=True), a / a.sum(1, keepdim=True))
    same(A * (A.sum(1, keepdim=True) ** -0.5), a * (a.sum(1, keepdim=True) ** -0.5))
    same(torch.where(torch.ones(5, 1, dtype=torch.bool), A, 0), a)


def test_patterns_count_as_ones() -> None:
    mask = ls.from_mask(drawn(5, 5) != 0)
    ones = mask.to_dense()
    A = ls.tensor(drawn(5, 5))
    same(mask + A, ones + A.to_dense())
    same(mask * 2.5, ones * 2.5)
    same(mask + ls.eye(5), ones + torch.eye(5))
    same(~mask, ~ones)
    same(mask.float(), ones.float())


def test_in_place() -> None:
    a = drawn(4, 4)
    A = ls.tensor(a)
    values, itself = A.values(), A
    A *= 2
    A.relu_()
    assert A is itself
    assert A.values() is values
    same(A, (a * 2).relu())
    A += ls.eye(4)
    A.add_(1).clamp_(min=0.5)
    same(A, ((a * 2).relu() + torch.eye(4) + 1).clamp(min=0.5))
    same(ls.tensor(a).zero_(), torch.zeros(4, 4))
    with pytest.raises(ls.UnsupportedError, match="add_: the result is dense"):
        A.add_(torch.ones(4, 4))
    with pytest.raises(ls.DtypeError, match="can't be cast"):
        ls.tensor(a.int()).div_(2)
    with pytest.raises(ls.DtypeError, match="no_grad"):
        ls.tensor(a).requires_grad_().mul_(2)
    B = ls.tensor(a).requires_grad_()
    C = B * 1
    C *= 3
    C.values().sum().backward()
    assert torch.equal(B.grad.values(), torch.full((B.nnz,), 3.0))


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: torch.exp(a),
        lambda a, b: a * b + a / (2 + b),
        lambda a, b: torch.maximum(a, b),
        lambda a, b: torch.where(a > b, a * a, b),
        lambda a, b: torch.sigmoid(a - b).log(),
        lambda a, b: a.clamp(-1, 1) * b.exp(),
    ],
)
def test_gradients(call: Callable[..., Any]) -> None:
    torch.manual_seed(0)
    A, B = (ls.tensor(drawn(4, 5, dtype=torch.float64) * 1.1 + 0, format=f) for f in ("csr", "coo"))
    A, B = A * 1.01, B * 0.97  # no ties

    def of_values(v: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return call(A.with_values(v), B.with_values(w)).values()

    inputs = [t.values().clone().requires_grad_() for t in (A, B)]
    assert gradcheck(of_values, inputs)
    assert gradgradcheck(of_values, inputs)


def test_messages() -> None:
    A = ls.tensor(drawn(4, 6))
    with pytest.raises(ls.ShapeError, match=r"add: operand 0 \(shape \(4, 6\), format csr\).*do not broadcast"):
        A + ls.tensor(drawn(5, 6))
    with pytest.raises(ls.DtypeError, match="bitwise_and"):
        A & A
    with pytest.raises(ls.UnsupportedError, match="gradient"):
        A + torch.tensor(2.0, requires_grad=True)
    with pytest.raises(TypeError):
        A + "x"


def test_operands_that_are_no_tensors() -> None:
    A = ls.tensor(drawn(4, 6))
    assert (A == "x") is False
    for call in (
        lambda: A ** "x",
        lambda: A + None,
        lambda: A.sum("x"),
        lambda: A.amax(1.5),
        lambda: ls.sddmm(A, "x", "y"),
    ):
        with pytest.raises(TypeError):
            call()
    assert torch.equal(torch.where(A)[0], torch.where(A.to_dense())[0])
    same(A.where(A > 0, 0), A.to_dense().where(A.to_dense() > 0, 0))
