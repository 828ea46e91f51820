"""Sums of terms with values where nothing is stored, written with `sum(...)` and beside dense factors."""

from __future__ import annotations

import re

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler

N, M, K = 6, 5, 3
EXPRESSIONS = {
    "v(i) = sum(square(A(i,j) - m(i)))/5": lambda A, m, s, X: (A - m[:, None]).square().sum(1) / 5,
    "v(i) = square(A(i,j) - sum(A(i,l))/5)": lambda A, m, s, X: (A - A.mean(1, keepdim=True)).square().sum(1),
    "v(i) = sum(square(A(i,j) - sum(A(i,l))/5))/5": lambda A, m, s, X: A.var(1, correction=0),
    "v(i) = sqrt(sum(square(A(i,j) - sum(A(i,l))/5))/5 + 1)": lambda A, m, s, X: (A.var(1, correction=0) + 1).sqrt(),
    "v(j) = square(A(i,j) - sum(A(l,j))/6)": lambda A, m, s, X: (A - A.mean(0)).square().sum(0),
    "v = square(A(i,j) - sum(A(k,l))/30)": lambda A, m, s, X: (A - A.mean()).square().sum(),
    "v = log(sum(exp(A(i,j))))": lambda A, m, s, X: A.exp().sum().log(),
    "v(i) = m(i) + log(sum(exp(A(i,j))))": lambda A, m, s, X: m + A.logsumexp(1),
    "v(i) = sum(exp(A(i,j))) * m(i)": lambda A, m, s, X: A.exp().sum(1) * m,
    "v(i) = sum(exp(A(i,j))) - sum(cos(A(i,k)))": lambda A, m, s, X: A.exp().sum(1) - A.cos().sum(1),
    "v(i) = m(i) - sum(cos(A(i,j)) * s(j))": lambda A, m, s, X: m - A.cos() @ s,
    "v(i) = square(sum(A(i,l)) - A(i,j))": lambda A, m, s, X: (A.sum(1, keepdim=True) - A).square().sum(1),
    "v(i) = exp(A(i,j) - sum(s(l)) * m(i))": lambda A, m, s, X: (A - (s.sum() * m)[:, None]).exp().sum(1),
    "v(i) = square(A(i,j) - sum(exp(A(i,l))))": lambda A, m, s, X: (A - A.exp().sum(1, True)).square().sum(1),
    "v = cos(A(i,j) - sum(exp(A(k,l)) * s(l)))": lambda A, m, s, X: (A - (A.exp() @ s).sum()).cos().sum(),
    "v(i) = exp(A(i,j)) / sum(cos(A(i,l)) * m(i))": lambda A, m, s, X: A.exp().sum(1) / (A.cos().sum(1) * m),
    "C(i,j) = A(i,j) * exp(sum(square(A(i,l) - sum(cos(A(i,n))))) / 100)": lambda A, m, s, X: (
        A * ((A - A.cos().sum(1, True)).square().sum(1, True) / 100).exp()
    ),
    "y(i,k) = exp(A(i,j)) * X(j,k)": lambda A, m, s, X: A.exp() @ X,
    "y(i,k) = m(i) * cos(A(i,j)) * X(j,k)": lambda A, m, s, X: m[:, None] * (A.cos() @ X),
    "y(i,k) = square(A(i,j) - m(i)) * X(j,k)": lambda A, m, s, X: (A - m[:, None]).square() @ X,
    "y(k) = sigmoid(A(i,j)) * X(j,k)": lambda A, m, s, X: (A.sigmoid() @ X).sum(0),
    "y(i,k) = sum(exp(A(i,j)) * X(j,k)) / sum(exp(A(i,l)))": lambda A, m, s, X: A.softmax(1) @ X,
    "y(i,k) = exp(A(i,j)) * X(j,k) - A(i,j) * X(j,k)": lambda A, m, s, X: (A.exp() - A) @ X,
    "C(i,j) = A(i,j) * sum(exp(A(i,l)))": lambda A, m, s, X: A * A.exp().sum(1, keepdim=True),
    "C(i,j) = A(i,j) / sqrt(1 + sum(square(A(i,l) - 1)))": lambda A, m, s, X: (
        A / (1 + (A - 1).square().sum(1, keepdim=True)).sqrt()
    ),
}


@pytest.mark.parametrize("format", ["csr", "coo"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_sums_and_gradients_are_those_of_dense_elements(expression: str, format: str) -> None:
    torch.manual_seed(1)
    for density in (0.4, 0.0):
        A = (torch.randn(N, M) * (torch.rand(N, M) < density)).double()
        m, s, X = torch.rand(N).double(), torch.rand(M).double(), torch.rand(M, K).double()
        stored = ls.tensor(A, format=format)
        values = stored.values().clone().requires_grad_()
        others = [tensor.requires_grad_() for tensor in (m, s, X)]
        read = re.findall(r"\w+(?=\()", expression)
        given = {name: tensor for name, tensor in zip("msX", others, strict=True) if name in read}
        dense = A.clone().requires_grad_()
        wanted = EXPRESSIONS[expression](dense, *others)
        found = ls.evaluate(expression, A=stored.with_values(values), **given)
        found = found.to_dense() if isinstance(found, ls.SparseTensor) else found
        torch.testing.assert_close(found, wanted)
        weights = torch.rand(wanted.shape).double()
        got = torch.autograd.grad((found * weights).sum(), [values, *given.values()])
        want = torch.autograd.grad((wanted * weights).sum(), [dense, *given.values()])
        of_entries = stored.with_values(got[0]).to_dense()
        torch.testing.assert_close((of_entries, *got[1:]), (want[0] * (A != 0), *want[1:]))


def test_variances_visit_entries_alone() -> None:
    A = ls.random((200_000, 300_000), 1e-7)  # whose places take minutes
    found = ls.evaluate("v(i) = sum(square(A(i,j) - sum(A(i,l))/300000))/300000", A=A)
    mean = A.sum(1) / 300_000
    torch.testing.assert_close(found, (A * A).sum(1) / 300_000 - mean.square())
    ones = ls.evaluate("y(i,k) = exp(A(i,j)) * X(j,k)", A=A, X=torch.ones(300_000, 1))
    torch.testing.assert_close(ones[:, 0], (A.expm1().sum(1) + 300_000))
