"""Expressions that are computed in several steps, by way of temporaries: values and gradients against dense torch."""

from __future__ import annotations

import pytest
import torch
from libsparse._compiler import kernel

import libsparse as ls

pytestmark = pytest.mark.compiler

SIZES = {"i": 13, "j": 11, "k": 7, "l": 9, "m": 5}
FORMATS = ["csr", "csc", "dcsr", "coo"]


def sparse(indices: str, format: str, density: float = 0.3) -> tuple[ls.SparseTensor, torch.Tensor]:
    """A random tensor twice: sparse, and dense with the same elements, both followed by autograd."""
    shape = [SIZES[n] for n in indices]
    plain = torch.randn(shape, dtype=torch.float64) * (torch.rand(shape) < density)
    return ls.tensor(plain, format=format), plain


def check(text: str, operands: list, twins: list[torch.Tensor], compute, expected) -> None:
    """Compare a result and the gradients of all operands with those of the dense twins."""
    leaves = []
    given = []
    for operand, twin in zip(operands, twins, strict=True):
        twin.requires_grad_()
        if isinstance(operand, ls.SparseTensor):
            operand = operand.with_values(operand.values().detach().requires_grad_())
            leaves.append((operand.values(), operand))
        else:
            operand = operand.detach().clone().requires_grad_()
            leaves.append((operand, None))
        given.append(operand)
    # without gradients an expression is compiled as one request, with them as one a term
    plain = compute(text, [o.detach() for o in given])
    torch.testing.assert_close(
        plain.to_dense() if isinstance(plain, ls.SparseTensor) else plain, expected(*twins).detach()
    )
    result = compute(text, given)
    wanted = expected(*twins)
    result = result.to_dense() if isinstance(result, ls.SparseTensor) else result
    torch.testing.assert_close(result, wanted)
    weight = torch.randn_like(wanted)
    found = torch.autograd.grad(result, [leaf for leaf, _ in leaves], weight)
    truth = torch.autograd.grad(wanted, twins, weight)
    for (_, holder), mine, dense in zip(leaves, found, truth, strict=True):
        at = dense if holder is None else dense[tuple(holder.indices().long())]
        torch.testing.assert_close(mine, at)


def einsum(text: str, operands: list):
    return ls.einsum(text, *operands)


CHAINS = ["ij,jk,kl->il", "ij,jk,k->i", "ij,jk,kl,lm->im", "i,ij,j->", "ij,jk,kl->", "ij,j,jk->ik", "ij,ik,kl->jl"]


@pytest.mark.parametrize(("text", "format"), [(text, f) for n, text in enumerate(CHAINS) for f in FORMATS[n % 2 :: 2]])
def test_chains_with_one_sparse_matrix(text, format):
    operands, twins = [], []
    for n, indices in enumerate(text.split("->")[0].split(",")):
        if len(indices) == 2 and n < 2:
            A, plain = sparse(indices, format)
        else:
            A = plain = torch.randn([SIZES[v] for v in indices], dtype=torch.float64)
        operands.append(A)
        twins.append(plain.clone())
    check(text, operands, twins, einsum, lambda *t: torch.einsum(text, *t))


@pytest.mark.parametrize("formats", [("csr", "csr", "csr"), ("csr", "csc", "coo"), ("coo", "dcsr", "csr")])
@pytest.mark.parametrize("text", ["ij,jk,kl->il", "ij,jk,kl->"])
def test_chains_of_sparse_matrices(text, formats):
    pairs = [sparse(indices, f) for indices, f in zip(text.split("->")[0].split(","), formats, strict=True)]
    check(text, [A for A, _ in pairs], [plain for _, plain in pairs], einsum, lambda *t: torch.einsum(text, *t))


@pytest.mark.parametrize("text", ["ij,jk,k->i", "ij,jk,kl->il"])
def test_a_long_chain_takes_temporaries(text):
    """Sizes at which one loop nest would cost far more than two."""
    n = 200
    A, B = ls.random((n, n), density=0.05), ls.random((n, n), density=0.05)
    last = torch.randn((n,) if text.endswith("->i") else (n, 3))
    assert "t1(" in ls.explain(text, A, B, last, stage="steps")
    expected = torch.einsum(text, A.to_dense(), B.to_dense(), last)
    result = ls.einsum(text, A, B, last)
    result = result.to_dense() if isinstance(result, ls.SparseTensor) else result
    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)


# assignment, what each name is ("?" = any sparse format), dense torch
SUMS = [
    ("y(i) = A(i,j) * x(j) + b(i)", lambda A, x, b: A @ x + b),
    ("y(i) = b(i) + A(i,j) * x(j)", lambda b, A, x: A @ x + b),
    ("y(i) = A(i,j) * x(j) - b(i)", lambda A, x, b: A @ x - b),
    ("y(i) = 2 * A(i,j) * x(j) + 3 * b(i)", lambda A, x, b: 2 * (A @ x) + 3 * b),
    ("y(i) = A(i,j) * x(j) + B(i,k) * z(k)", lambda A, x, B, z: A @ x + B @ z),
    ("C(i,k) = A(i,j) * B(j,k) + D(i,k)", lambda A, B, D: A @ B + D),
    ("s = A(i,j) * x(j) + b(i)", lambda A, x, b: (A @ x).sum() + b.sum()),
]


def evaluate(text: str, operands: list):
    right = text.partition("=")[2]
    names = sorted({c for c in right if f"{c}(" in right}, key=lambda c: right.index(f"{c}("))
    return ls.evaluate(text, **dict(zip(names, operands, strict=True)))


@pytest.mark.parametrize(
    ("text", "expected", "format"), [(*case, f) for n, case in enumerate(SUMS) for f in FORMATS[n % 2 :: 2]]
)
def test_sums_of_products(text, expected, format):
    right = text.partition("=")[2]
    operands, twins = [], []
    for n, c in enumerate(right):
        if right[n + 1 : n + 2] != "(" or not c.isalpha():
            continue
        indices = right[n + 2 : right.index(")", n)].replace(",", "")
        if c in "ABD":
            A, plain = sparse(indices, format)
        else:
            A = plain = torch.randn([SIZES[v] for v in indices], dtype=torch.float64)
        operands.append(A)
        twins.append(plain.clone())
    check(text, operands, twins, evaluate, expected)


def test_a_term_without_all_indices_of_the_result():
    A, plain = sparse("ij", "csr")
    X, b = torch.randn(SIZES["j"], SIZES["k"], dtype=torch.float64), torch.randn(SIZES["k"], dtype=torch.float64)
    text = "C(i,k) = A(i,j) * X(j,k) + b(k)"
    torch.testing.assert_close(ls.evaluate(text, A=A, X=X, b=b), plain @ X + b)
    out = ls.evaluate(text, A=A, X=X, b=b.requires_grad_())
    torch.testing.assert_close(out, plain @ X + b)
    torch.testing.assert_close(torch.autograd.grad(out.sum(), b)[0], torch.full_like(b, SIZES["i"]))
    sparse_b = ls.tensor(b.detach()).requires_grad_()
    ls.evaluate(text, A=A, X=X, b=sparse_b).sum().backward()
    torch.testing.assert_close(sparse_b.grad.to_dense(), torch.full_like(b, SIZES["i"]))


def test_a_layer_trains():
    """Several steps of gradient descent through an expression with a temporary."""
    A, plain = sparse("ij", "csr")
    x = torch.randn(SIZES["j"], dtype=torch.float64, requires_grad=True)
    b = torch.zeros(SIZES["i"], dtype=torch.float64, requires_grad=True)
    target = plain.detach() @ torch.randn(SIZES["j"], dtype=torch.float64) + 1
    losses = []
    for _ in range(50):
        y = ls.evaluate("y(i) = A(i,j) * x(j) + b(i)", A=A, x=x, b=b)
        loss = (y - target).square().mean()
        losses.append(loss.item())
        for leaf, gradient in zip((x, b), torch.autograd.grad(loss, (x, b)), strict=True):
            leaf.data -= 0.3 * gradient
    assert losses[-1] < losses[0] / 2


def test_second_order_gradients():
    A, _ = sparse("ij", "csr")
    values = A.values().detach().requires_grad_()
    x = torch.randn(SIZES["j"], dtype=torch.float64, requires_grad=True)
    b = torch.randn(SIZES["i"], dtype=torch.float64, requires_grad=True)

    def function(values, x, b):
        return ls.evaluate("y(i) = A(i,j) * x(j) + b(i)", A=A.with_values(values), x=x, b=b)

    assert torch.autograd.gradcheck(function, (values, x, b))
    assert torch.autograd.gradgradcheck(function, (values, x, b))


@pytest.mark.parametrize(
    ("text", "shape", "format"), [("ij,j,ki->k", (2000,), "s"), ("ij,jl,ki->kl", (2000, 30), "sd")]
)
def test_temporaries_store_few_rows(text, shape, format):
    """What nothing reaches stays absent: infinity times nothing is nothing."""
    rows, columns = (100 * torch.arange(1, 40)).repeat_interleave(2000), torch.arange(2000).repeat(39)
    A = ls.from_coo(torch.stack([rows, columns]), torch.rand(39 * 2000).double(), (4000, 2000))
    X = torch.rand(shape, dtype=torch.float64)
    C = torch.rand(40, 4000, dtype=torch.float64) * (torch.rand(40, 4000) < 0.5)
    C[:, 5] = torch.inf  # row 5 of A has no entries
    kernel.forget()
    found = ls.einsum(text, A, X, ls.tensor(C), format="dense")
    torch.testing.assert_close(found, torch.nan_to_num(C, posinf=0.0) @ (A.to_dense() @ X))
    made = {str(k.format) for request, k in kernel.known() if request.output.temporary}
    assert made == {format}


@pytest.mark.parametrize(("density", "formats"), [(0.02, {"csr"}), (0.6, {"dd", "db"})])
def test_temporaries_have_the_format_that_takes_less(density, formats):
    factors = [ls.random((80, 80), density, dtype=torch.float64) for _ in range(2)]
    first = ls.random((80, 80), 0.4, dtype=torch.float64)
    want = first.to_dense() @ factors[0].to_dense() @ factors[1].to_dense()
    kernel.forget()
    torch.testing.assert_close(ls.einsum("ij,jk,kl->il", first, *factors, format="dense"), want)
    made = {str(k.format) for request, k in kernel.known() if request.output.temporary}
    assert made <= formats
    # a user gets the same type of tensor for all data
    kernel.forget()
    torch.testing.assert_close(ls.einsum("ij,jk,kl->il", first, *factors).to_dense(), want)
    assert not any(request.output.temporary for request, _ in kernel.known())
