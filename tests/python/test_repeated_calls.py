"""Calls like an earlier one: the same results as calls that nothing is known of, whatever has changed in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from libsparse._runtime import direct, notes, steps
from libsparse._tensor import repeated

import libsparse as ls


@pytest.fixture(autouse=True, params=["C", "Python"])
def _implementation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "Python":
        monkeypatch.setattr(repeated, "call", repeated.call_in_python)
        monkeypatch.setattr(steps, "run", steps.run_in_python)
    elif direct.native is None:
        pytest.skip("needs the module in C")


torch.manual_seed(0)
_A = ls.random((7, 5), density=0.4)
_B = ls.random((7, 5), density=0.4)
_C = ls.random((5, 6), density=0.4)
_T = ls.random((4, 5, 3), density=0.3)

# What is called with new elements each time: A and B are 7 x 5 and sparse, C is 5 x 6, T 4 x 5 x 3; others are dense.
CALLS: dict[str, Callable[..., Any]] = {
    "matmul": lambda A, x: A @ x,
    "matmul, column-major": lambda A, x: A @ x.t().contiguous().t(),
    "left": lambda A, y: y @ A,
    "transposed": lambda A, y: A.T @ y.T,
    "sparse": lambda A, C: A @ C,
    "linear": lambda A, x: F.linear(x.T, A),
    "linear, bias": lambda A, x, u: F.linear(x.T, A, u),
    "addmm": lambda A, x, z: torch.addmm(z, A, x, alpha=2.0, beta=0.5),
    "sddmm": lambda A, y, x: ls.sddmm(A, y.T, x.T),
    "sampled_addmm": lambda A, y, x: torch.sparse.sampled_addmm(A, y.T.contiguous(), x.T.contiguous(), beta=0.5),
    "add": lambda A, B: A + B,
    "subtract": lambda A, B: A - B,
    "multiply": lambda A, B: A * B,
    "rows": lambda A, u: A * u[:, None],
    "columns": lambda A, v: A * v,
    "number": lambda A: A * 2.5,
    "divide": lambda A: A / 3,
    "normalised": lambda A: A / (A.sum(1, keepdim=True) + 1),
    "relu": lambda A: torch.relu(A),
    "power": lambda A: A**2,
    "map": lambda A: A.map(torch.exp),
    "quotient": lambda A, v: A / v,
    "whole quotient": lambda A, v: A // v,
    "remainder": lambda A, z, x: A % (x.T[0] + 1),
    "xlogy": lambda A, v: torch.xlogy(A, v),
    "maximum of a number": lambda A: A.clamp(min=0.25),
    "argmax": lambda A: A.argmax(1),
    "any": lambda A: A.any(1),
    "cumsum": lambda A: A.cumsum(1),
    "count": lambda A: A.count_nonzero(1),
    "normalize": lambda A: F.normalize(A, dim=1),
    "std": lambda A: A.std(1),
    "tensordot": lambda A, x: torch.tensordot(A, x, 1),
    "baddbmm": lambda A, x, z: torch.baddbmm(z[None], A[None], x[None]),
    "softmax": lambda A: torch.softmax(A, 1),
    "softmax of columns": lambda A: A.softmax(0),
    "log_softmax": lambda A: torch.log_softmax(A, 1),
    "sum": lambda A: A.sum(1),
    "sum of all": lambda A: A.sum(),
    "sum, kept": lambda A: A.sum(0, keepdim=True),
    "mean": lambda A: A.mean(1),
    "amax": lambda A: A.amax(1),
    "norm": lambda A: A.norm(dim=1),
    "product": lambda A: A.prod(1),
    "spmm mean": lambda A, x: ls.spmm(A, x, reduce="mean"),
    "spmm max": lambda A, x: ls.spmm(A, x, reduce="max"),
    "einsum": lambda A, x, v: ls.einsum("ij,jk,j->ik", A, x, v),
    "einsum, one tensor twice": lambda A, v: ls.einsum("ij,j,j->i", A, v, v),
    "einsum, sparse twice": lambda A: ls.einsum("ij,kj->ik", A, A),
    "evaluate": lambda A, v: ls.evaluate("y(i) = relu(A(i,j) * v(j)) + 1", A=A, v=v),
    "tensor": lambda T, w: ls.einsum("ijk,k->ij", T, w),
    "mttkrp": lambda T, f, g, h: ls.mttkrp(T, [f, g, h], 1),
    "attention": lambda A, q, k: ls.attention(q, k, k, A.bool()),
    "rows of": lambda A: A[[2, 0, 3]],
    "transpose": lambda A: A.T * 2,
    "transposed alone": lambda A: A.t(),
    "transposed back": lambda A: A.t().t(),
    "permuted": lambda T: T.permute(2, 0, 1),
    "one more dimension": lambda A: A[None],
    "slices": lambda A: A[1:6, ::2],
    "slices of columns": lambda T: T[..., 1:, None],
    "narrow": lambda A: A.narrow(1, 1, 3),
    "reshape": lambda A: A.reshape(5, 7),
    "slices, computed with": lambda A, u: (A[2:] * 2) @ A[2:].t(),
    "lower": lambda A: A.tril(1) * 2,
    "double": lambda A: A.double(),
    "integers": lambda A: A.int(),
    "conjugate": lambda A: A.to(torch.complex64).conj(),
    "minus a number": lambda A: A - 0.1,
    "sum with a number": lambda A: (A + 3).relu(),
    "clamp": lambda A: A.clamp(0, 0.5),
    "where": lambda A, B: torch.where(A > 0.5, A, B),
    "cat": lambda A, B: torch.cat([A, B]),
    "maximum": lambda A, B: torch.maximum(A, B),
    "triu": lambda A: A.triu(),
    "scalar tensor": lambda A, s: A * s,
    "plus scalar tensor": lambda A, s: A + s,
}
_SHAPES = {"x": (5, 3), "y": (3, 7), "z": (7, 3), "u": (7,), "v": (5,), "w": (3,), "q": (7, 4), "k": (5, 4), "s": ()}
_SHAPES |= {"f": (4, 2), "g": (5, 2), "h": (3, 2)}


def _arguments(call: Callable[..., Any], format: str | None, dtype: torch.dtype) -> dict[str, Any]:
    """New elements for each argument, on the same patterns."""
    found: dict[str, Any] = {}
    for name in call.__code__.co_varnames[: call.__code__.co_argcount]:
        sparse = {"A": _A, "B": _B, "C": _C, "T": _T}.get(name)
        if sparse is None:
            found[name] = torch.rand(_SHAPES[name]).to(dtype)
            continue
        if format is not None and sparse.ndim == 2:
            sparse = sparse.to_format(format)
        pattern = _PATTERNS.setdefault((name, format), sparse.pattern)
        found[name] = ls.SparseTensor(pattern, torch.rand(pattern.size).to(dtype))
    return found


_PATTERNS: dict[Any, Any] = {}


def _alone(call: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """The result of a call that nothing is known of."""
    misses = dict(repeated._misses)
    for value in arguments.values():
        if isinstance(value, ls.SparseTensor):
            value.pattern.repeated.clear()
    try:
        return call(**arguments)
    finally:
        repeated._misses.clear()
        repeated._misses.update(misses)


def _same(first: Any, second: Any) -> None:
    assert type(first) is type(second)
    assert first.dtype == second.dtype
    assert first.shape == second.shape
    assert first.requires_grad == second.requires_grad
    if isinstance(first, ls.SparseTensor):
        assert first.format == second.format
        first, second = first.to_dense(), second.to_dense()
    torch.testing.assert_close(first, second, equal_nan=True)


@pytest.mark.parametrize(
    ("name", "format"), [(name, f) for n, name in enumerate(CALLS) for f in (None, ("csc", "coo", "ell")[n % 3])]
)
def test_repeated_calls_are_right(name: str, format: str | None) -> None:
    call = CALLS[name]
    for _ in range(3):
        arguments = _arguments(call, format, torch.float32)
        found = call(**arguments)
        _same(found, call(**arguments))
        _same(found, _alone(call, arguments))
        call(**arguments)
    with torch.inference_mode():
        _same(call(**arguments), found)
        _same(call(**arguments), found)


_ODD = (0.0, -1.0, float("inf"), float("nan"))


@pytest.mark.parametrize("name", CALLS)
def test_elements_decide_nothing_that_is_kept(name: str) -> None:
    call = CALLS[name]
    arguments = _arguments(call, None, torch.float32)
    for number in _ODD:
        for _ in range(2):  # the second one is noted down, the next one like it is short
            call(**arguments)
        odd = {k: v.clone() for k, v in _arguments(call, None, torch.float32).items()}
        for value in odd.values():
            elements = value.values() if isinstance(value, ls.SparseTensor) else value
            elements.view(-1)[::3] = number
        try:
            found = call(**odd)
        except ls.LibsparseError as error:
            with pytest.raises(type(error)):
                _alone(call, odd)
        else:
            _same(found, _alone(call, odd))


def _known(pattern: Any) -> int:
    return sum(bool(steps) for steps in pattern.repeated.values())


def test_what_came_to_kernels_alone_is_known() -> None:
    for name in ("sddmm", "columns", "softmax", "sum", "spmm mean", "linear", "einsum", "evaluate", "sum, kept"):
        arguments = _arguments(CALLS[name], None, torch.float32)
        arguments["A"].pattern.repeated.clear()
        repeated._misses.clear()
        for _ in range(2):  # a first call is not looked at
            CALLS[name](**arguments)
        assert _known(arguments["A"].pattern) >= 1, name


def test_operands_in_the_same_memory_are_told_apart() -> None:
    A, y, z = ls.random((5, 5), density=0.5), torch.rand(5, 5), torch.rand(5, 5)
    views: list[Callable[[Any], Any]] = [lambda y: y, lambda y: y.T]
    for first in views:
        for second in views:
            A.pattern.repeated.clear()
            repeated._misses.clear()
            for _ in range(3):
                found = ls.sddmm(A, first(y), second(y))
                _same(found.to_dense(), A.to_dense() * (first(y) @ second(y)))
            assert _known(A.pattern) == 1
            for left, right in ((y, z), (z, y), (z, z)):
                found = ls.sddmm(A, first(left), second(right))
                _same(found.to_dense(), A.to_dense() * (first(left) @ second(right)))
    for _ in range(3):
        left, right = y.clone().requires_grad_(), y.clone().requires_grad_()
        ls.sddmm(A, left, left.detach().T).sum().backward()
        ls.sddmm(A, right, y.T).sum().backward()
        torch.testing.assert_close(left.grad, right.grad)


def test_gradients_are_followed_after_calls_without() -> None:
    A, v = ls.random((4, 5), density=0.5), torch.rand(5)
    for _ in range(2):
        assert not (A * v).requires_grad
    v.requires_grad_()
    (A * v).sum().backward()
    torch.testing.assert_close(v.grad, A.to_dense().sum(0))
    with torch.no_grad():
        assert not (A * v).requires_grad


def test_elements_that_change_in_place_are_read_anew() -> None:
    A, v = ls.random((4, 5), density=0.5), torch.rand(5)
    for _ in range(3):
        _same((A * v).to_dense(), A.to_dense() * v)
        v.add_(1)
        A.values().mul_(2)


def test_a_scalar_tensor_may_change_the_fill_value() -> None:
    A = ls.random((4, 5), density=0.5)
    for number in (0.0, 0.0, 1.0, 2.0):
        found = A + torch.tensor(number)
        _same(found.to_dense(), A.to_dense() + number)


def test_a_function_of_the_user_may_be_replaced() -> None:
    A = ls.random((4, 5), density=0.5)
    for factor in (2, 3):
        ls.register("scaled_by(x)", f"{factor} * x")
        for _ in range(2):
            _same(ls.evaluate("B(i,j) = scaled_by(A(i,j))", A=A).to_dense(), A.to_dense() * factor)
        ls.unregister("scaled_by")


def test_numbers_that_are_equal_but_no_same_type_are_told_apart() -> None:
    A = ls.random((4, 5), density=0.5).to(torch.int64)
    for number in (1, 1.0, True) * 3:
        assert (A * number).dtype == (torch.ones((), dtype=torch.int64) * number).dtype
    assert torch.signbit((ls.eye(2) * -0.0).values()).all()
    assert not torch.signbit((ls.eye(2) * 0.0).values()).any()


def test_the_default_dtype_may_change() -> None:
    A = ls.random((4, 5), density=0.5).to(torch.int64)
    for dtype in (torch.float32, torch.float64) * 3:
        torch.set_default_dtype(dtype)
        try:
            assert A.mean(1, dtype=torch.get_default_dtype()).dtype == dtype
            assert torch.sigmoid(A).dtype == dtype
        finally:
            torch.set_default_dtype(torch.float32)


def test_a_variant_that_was_replaced_computes() -> None:
    A, v = ls.random((4, 5), density=0.5), torch.rand(5)
    for _ in range(2):
        A * v
    for prepared, _ in list(A.pattern.calls.values()):
        prepared.replace(lambda operands: (torch.full((A.nnz,), 7.0), A.pattern))
    assert (A * v).values().tolist() == [7.0] * A.nnz


def test_arguments_that_are_not_described_are_computed_with() -> None:
    def operation(*args: Any, **kwargs: Any) -> Any:
        return args, kwargs

    A, x, inner = ls.random((4, 5), density=0.5), torch.rand(5), [[[[1]]]]
    many, names = [x] * 17, {f"name{n}": torch.rand(2, 3, 4, 5, 2, 1) for n in range(40)}
    for args, kwargs in [
        ((A, inner), {}),
        ((A, many), {}),
        ((A, x), names),
        ((A, float("nan")), {}),
        ((A, object()), {}),
        ((A, {1: 2}), {}),
        ((A, torch.eye(2).to_sparse()), {}),
        ((A, torch.ones(2, dtype=torch.complex64).conj()), {}),
        ((A, torch.empty(2, device="meta")), {}),
        ((torch.exp(A), x), {}),
        ((x,), {}),
        ((), {}),
    ]:
        for _ in range(4):
            found = repeated.call("test", operation, args, kwargs)
            assert all(a is b for a, b in zip(found[0], args, strict=True))
            assert found[1] == kwargs or kwargs is names


def test_arguments_that_differ_are_told_apart() -> None:
    A = ls.random((4, 5), density=0.5)
    others = [0.0, -0.0, 0, False, None, "0", (0,), [0], ((0,),), torch.float32, 0.5, A, (A,), (A, A), [A, 0], (A, 0.0)]

    def numbered(number: int) -> Callable[..., Any]:
        return lambda A, *_, **__: notes.apply(torch.mul, A.values(), number)

    for _ in range(3):
        for number, other in enumerate(others):
            for _ in range(3):
                found = repeated.call("numbers", numbered(number), (A, other), {})
                assert torch.equal(found, A.values() * number)
        for number, names in enumerate(
            ({}, {"a": 1}, {"b": 1}, {"a": 1, "b": 2}, {"b": 1, "a": 2}, {"a": 1, "b": 2.0})
        ):
            for _ in range(3):
                found = repeated.call("names", numbered(number), (A,), names)
                assert torch.equal(found, A.values() * number)
    assert _known(A.pattern) == len(others) + 6


def test_errors_are_those_of_the_operation() -> None:
    A, v = ls.random((4, 5), density=0.5), torch.rand(5)
    for _ in range(2):
        A * v
    with pytest.raises(ls.ShapeError):
        ls.sddmm(A, torch.rand(4, 3), torch.rand(3, 4))
    v.untyped_storage().resize_(0)
    with pytest.raises(ls.LibsparseError):
        A * v
