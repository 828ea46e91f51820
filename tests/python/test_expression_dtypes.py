"""Gradients of expressions on complex values, halves, mixed dtypes and formats with padding."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls


def complex(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.complex128)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y(i) = sin(x(i)) * exp(z(i))", lambda x, z: x.sin() * z.exp()),
        ("y(i) = abs(x(i) * z(i))", lambda x, z: (x * z).abs()),
        ("y(i) = real(x(i) * z(i)) * z(i)", lambda x, z: (x * z).real * z),
        ("y(i) = imag(x(i) / z(i))", lambda x, z: (x / z).imag),
        ("y(i) = conj(x(i) * z(i)) * x(i)", lambda x, z: (x * z).conj() * x),
        ("y(i) = acosh(x(i)) + sqrt(z(i))", lambda x, z: x.acosh() + z.sqrt()),
    ],
)
@pytest.mark.parametrize("mixed", [False, True])
def test_complex_gradients_are_torchs(text, expected, mixed):
    x, z = complex(5), torch.rand(5, dtype=torch.float64) if mixed else complex(5)
    mine = [v.clone().requires_grad_() for v in (x, z)]
    torchs = [v.clone().requires_grad_() for v in (x, z)]
    out, want = ls.evaluate(text, x=mine[0], z=mine[1]), expected(*torchs)
    torch.testing.assert_close(out, want)
    grad = torch.randn_like(want)
    torch.testing.assert_close(torch.autograd.grad(out, mine, grad), torch.autograd.grad(want, torchs, grad))


def test_a_users_function_without_a_complex_derivative_is_refused():
    ls.register("lengthened(a)", "abs(a) * a")
    try:
        with pytest.raises(ls.UnsupportedError, match="abs"):
            ls.evaluate("y(i) = lengthened(x(i))", x=complex(3).requires_grad_())
    finally:
        ls.unregister("lengthened")


@pytest.mark.parametrize("format", ["csr", "ell", "sell(4)", "sell(2,4)", "dia", "bs", "bsr(2,3)"])
def test_padding_has_no_gradient(format):
    dense = torch.randn(6, 6, dtype=torch.float64) * (torch.rand(6, 6) < 0.5)
    A = ls.tensor(dense, format=format)
    values, x = A.values().clone().requires_grad_(), torch.randn(6, dtype=torch.float64, requires_grad=True)
    leaf, other = dense.clone().requires_grad_(), x.detach().clone().requires_grad_()
    out = ls.evaluate("y(i) = relu(A(i,j) * x(j))", A=A.with_values(values), x=x)
    want = torch.relu(leaf * other).sum(1)
    torch.testing.assert_close(out, want)
    out.sum().backward()
    want.sum().backward()
    torch.testing.assert_close(x.grad, other.grad)
    torch.testing.assert_close(A.pattern.entries(values.grad), leaf.grad[tuple(A.indices())])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_extrema_and_means_of_halves(dtype):
    x = (torch.randn(4, 512) / 3).to(dtype)
    y = torch.randn(512).to(dtype)
    a, b = x.clone().requires_grad_(), y.clone().requires_grad_()
    wide = [v.float().requires_grad_() for v in (x, y)]
    out, want = ls.evaluate("o(i) max= x(i,j) * y(j)", x=a, y=b), (wide[0] * wide[1]).amax(1)
    torch.testing.assert_close(out, want.to(dtype))
    out.sum().backward()
    want.sum().backward()
    torch.testing.assert_close((a.grad, b.grad), tuple(v.grad.to(dtype) for v in wide))
    many = torch.full((70_000,), 3.0, dtype=dtype, requires_grad=True)
    for mean in (ls.evaluate("o mean= x(i)", x=many), ls.einsum("i->", many, reduce="mean")):
        assert mean.dtype == dtype
        assert mean.item() == 3
    (ties,) = torch.autograd.grad(ls.evaluate("o min= x(i)", x=many), many)
    torch.testing.assert_close(ties, torch.full_like(ties, 1 / 70_000))


def test_the_dtype_of_a_users_function_is_that_of_all_its_bodies():
    ls.register("either(a, b)", {"a & b": "a * b", "a": "a", "b": "exp(b)"})
    try:
        k = torch.arange(3)
        assert ls.evaluate("y(i) = either(k(i), k(i))", k=k).dtype == torch.float32
    finally:
        ls.unregister("either")
    integers = ls.tensor(torch.tensor([[1, 0, 2], [0, 0, 0]]))
    torch.testing.assert_close(ls.einsum("ij->i", integers, reduce="mean"), torch.tensor([1.5, 0]))
