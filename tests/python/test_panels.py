"""Products of transposed dense matrices by panels of their rows."""

import pytest
import torch
import torch.nn.functional as F
from libsparse._runtime import panels
from libsparse._runtime.dispatch import Prepared

import libsparse as ls


@pytest.fixture
def small_caches(monkeypatch: pytest.MonkeyPatch) -> list[Prepared]:
    """Caches of which panels of the fewest rows fill some, and what was prepared meanwhile."""
    monkeypatch.setattr(panels.target, "caches", lambda: (1 << 10, 1 << 30))
    prepared: list[Prepared] = []
    begin = Prepared.__init__
    monkeypatch.setattr(
        Prepared, "__init__", lambda self, *args, **kwargs: (begin(self, *args, **kwargs), prepared.append(self))[0]
    )
    return prepared


def _matrix(dtype: torch.dtype) -> torch.Tensor:
    torch.manual_seed(3)
    dense = torch.randn(300, 500, dtype=dtype)
    return dense * (torch.rand(300, 500) < 0.05)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rows", [32, 40, 47, 64])
def test_products_are_those_of_dense_matrices(small_caches, dtype, rows) -> None:
    dense = _matrix(dtype)
    A = ls.tensor(dense, format="csr")
    X, Y = torch.randn(rows, 300, dtype=dtype), torch.randn(rows, 500, dtype=dtype)
    torch.testing.assert_close(X @ A, X @ dense)
    torch.testing.assert_close(F.linear(Y, A), Y @ dense.T)
    assert (X @ A).is_contiguous()
    assert any(isinstance(p.variant, panels.Panels) for p in small_caches)


def test_repeated_calls_read_new_values(small_caches) -> None:
    dense = _matrix(torch.float32)
    A = ls.tensor(dense, format="csr")
    for _ in range(4):
        X = torch.randn(48, 300)
        torch.testing.assert_close(X @ A, X @ dense)
    assert any(isinstance(p.variant, panels.Panels) for p in small_caches)


def test_gradients(small_caches) -> None:
    dense = _matrix(torch.float64).requires_grad_()
    A = ls.tensor(dense.detach(), format="csr").requires_grad_()
    X, other = (
        torch.randn(48, 300, dtype=torch.float64, generator=torch.manual_seed(1)).requires_grad_() for _ in "ab"
    )
    weights = torch.randn(48, 500, dtype=torch.float64)
    for _ in range(2):
        ((X @ A) * weights).sum().backward()
        ((other @ dense) * weights).sum().backward()
    torch.testing.assert_close(X.grad, other.grad)
    torch.testing.assert_close(A.grad.to_dense(), dense.grad * (dense.detach() != 0))
    assert any(isinstance(p.variant, panels.Panels) for p in small_caches)


@pytest.mark.parametrize("turn", [lambda X: X.T.contiguous().T, lambda X: X[::2], lambda X: X[:8], lambda X: X[:0]])
def test_other_operands_take_the_call_as_it_is(small_caches, turn) -> None:
    dense = _matrix(torch.float32)
    X = turn(torch.randn(48, 300))
    torch.testing.assert_close(X @ ls.tensor(dense, format="csr"), X @ dense)
    assert not any(isinstance(p.variant, panels.Panels) for p in small_caches)


def test_explanations_name_the_panels(small_caches) -> None:
    A = ls.tensor(_matrix(torch.float32), format="csr")
    X = torch.randn(48, 300)
    assert "panels" not in ls.explain("ki,ij->kj", X, A)
    ls.einsum("ki,ij->kj", X, A)
    assert "go by panels of 16, whose copies" in ls.explain("ki,ij->kj", X, A)


def test_scattered_operands_beyond_the_caches_are_read_once(small_caches, monkeypatch) -> None:
    dense = _matrix(torch.float32)
    A, X = ls.tensor(dense, format="csr"), torch.randn(64, 300)
    monkeypatch.setattr(panels.target, "caches", lambda: (1 << 10, 1 << 11))
    monkeypatch.setattr(type(A.pattern.statistics), "scattered", True)
    torch.testing.assert_close(X @ A, X @ dense)
    assert not any(isinstance(p.variant, panels.Panels) for p in small_caches)
