"""torch's constructors of sparse tensors within `ls.override`: gradients of values, neither hashed nor made dense."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import libsparse as ls

SHAPE = (4, 5)
INDICES = torch.tensor([[2, 0, 2, 3, 0, 2], [1, 4, 1, 0, 2, 3]])  # neither sorted nor distinct
STARTS, COLUMNS = torch.tensor([0, 2, 2, 5, 6]), torch.tensor([2, 4, 0, 1, 3, 0])
CONSTRUCTORS: dict[str, Callable[[Tensor], Tensor]] = {
    "coo": lambda v: torch.sparse_coo_tensor(INDICES, v, SHAPE),
    "coo without a shape": lambda v: torch.sparse_coo_tensor(INDICES, v),
    "coo by names": lambda v: torch.sparse_coo_tensor(indices=INDICES, values=v, size=SHAPE),
    "coalesced": lambda v: torch.sparse_coo_tensor(INDICES, v, SHAPE).coalesce(),
    "csr": lambda v: torch.sparse_csr_tensor(STARTS, COLUMNS, v, SHAPE),
    "csc": lambda v: torch.sparse_csc_tensor(STARTS, COLUMNS, v, SHAPE[::-1]).t(),
    "compressed": lambda v: torch.sparse_compressed_tensor(STARTS, COLUMNS, v, SHAPE, layout=torch.sparse_csr),
}
USES: dict[str, Callable[[Tensor], Tensor]] = {
    "product": lambda A: A @ torch.linspace(1, 2, 15, dtype=torch.float64).reshape(5, 3),
    "two products": lambda A: (A @ torch.eye(5, 2, dtype=torch.float64)) * (A @ torch.ones(5, 1, dtype=torch.float64)),
    "dense": lambda A: A.to_dense().square() if A.layout is not torch.strided else A.square(),
    "transposed": lambda A: A.t() @ torch.linspace(1, 2, 8, dtype=torch.float64).reshape(4, 2),
}


def gradient(make: Callable[[Tensor], Tensor], use: Callable[[Tensor], Tensor]) -> Tensor:
    values = torch.linspace(-1, 2, 6, dtype=torch.float64).requires_grad_()
    result = use(make(values))
    (found,) = torch.autograd.grad(result.square().sum(), values)
    return found


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("constructor", CONSTRUCTORS)
def test_gradients_are_those_of_a_dense_matrix(constructor: str, use: str) -> None:
    rows = torch.repeat_interleave(torch.arange(4), STARTS.diff())
    places = INDICES if constructor.startswith("co") and constructor != "compressed" else torch.stack([rows, COLUMNS])

    def dense(values: Tensor) -> Tensor:
        return torch.zeros(SHAPE, dtype=values.dtype).index_put(tuple(places), values, accumulate=True)

    wanted = gradient(dense, USES[use])
    with ls.override():
        for _ in range(3):  # patterns are kept meanwhile
            torch.testing.assert_close(gradient(CONSTRUCTORS[constructor], USES[use]), wanted)


def test_second_derivatives() -> None:
    x = torch.linspace(1, 2, 5, dtype=torch.float64)[:, None]
    values = torch.linspace(-1, 2, 6, dtype=torch.float64).requires_grad_()
    with ls.override():
        for name in ("coo", "csr"):
            assert torch.autograd.gradcheck(lambda v, name=name: CONSTRUCTORS[name](v) @ x, values)
            assert torch.autograd.gradgradcheck(lambda v, name=name: (CONSTRUCTORS[name](v) @ x).square(), values)


def test_nothing_of_the_dense_shape_is_made() -> None:
    many = 1 << 20
    values = torch.ones(3, requires_grad=True)
    starts = torch.zeros(many + 1, dtype=torch.int64)
    starts[5:] = 3
    with ls.override():
        A = torch.sparse_csr_tensor(starts, torch.tensor([1, 7, many - 1]), values, (many, many))
        (A @ torch.arange(many, dtype=torch.float32)).sum().backward()
    assert values.grad is not None
    assert values.grad.tolist() == [1, 7, many - 1]


def test_gradients_have_the_dtype_of_values() -> None:
    values = torch.ones(6, requires_grad=True)
    with ls.override():
        A = torch.sparse_coo_tensor(INDICES, values, SHAPE, dtype=torch.float64)
        (A @ torch.ones(5, 1, dtype=torch.float64)).sum().backward()
    assert A.dtype is torch.float64
    assert values.grad is not None
    assert values.grad.dtype is torch.float32


def test_other_constructions_are_torchs() -> None:
    values = torch.ones(6, requires_grad=True)
    with ls.override():
        leaf = torch.sparse_coo_tensor(INDICES, torch.ones(6), SHAPE, requires_grad=True)
        (leaf @ torch.ones(5, 1)).sum().backward()
        hybrid = torch.sparse_coo_tensor(INDICES, values[:, None] * torch.ones(2), (*SHAPE, 2))
        hybrid.to_dense().sum().backward()
        with torch.no_grad():
            assert torch.sparse_coo_tensor(INDICES, values, SHAPE).grad_fn is None
        unsorted = torch.sparse_csr_tensor(STARTS, COLUMNS.flip(0), values, SHAPE, check_invariants=False)
        assert unsorted.requires_grad
        assert pickle.loads(pickle.dumps(torch.sparse_coo_tensor)).__name__ == "sparse_coo_tensor"
        with pytest.raises(RuntimeError):
            torch.sparse_coo_tensor(INDICES, values[:2], SHAPE)
        with pytest.raises(TypeError):
            torch.sparse_coo_tensor()
    assert leaf.is_leaf
    assert leaf.grad is not None
    assert values.grad is not None
    assert values.grad.tolist() == [2] * 6


@pytest.mark.filterwarnings("ignore:Dynamo does not know")  # nor does it outside of the block
def test_transforms_and_compiled_functions() -> None:
    values = torch.linspace(-1, 2, 6)

    def loss(v: Tensor) -> Tensor:
        return torch.sparse_coo_tensor(INDICES, v, SHAPE).to_dense().square().sum()

    wanted = torch.func.grad(loss)(values)
    with ls.override():
        torch.testing.assert_close(torch.func.grad(loss)(values), wanted)
        followed = values.clone().requires_grad_()
        torch.compile(loss, backend="eager")(followed).backward()
    torch.testing.assert_close(followed.grad, wanted)


@pytest.mark.filterwarnings("ignore")  # torch.jit is deprecated
def test_traces_and_scripts_are_torchs() -> None:
    values = torch.linspace(-1, 2, 6, requires_grad=True)

    def dense(v: Tensor) -> Tensor:
        return torch.sparse_coo_tensor(INDICES, v, SHAPE).to_dense()

    with ls.override():
        torch.testing.assert_close(torch.jit.trace(dense, values, check_trace=False)(values), dense(values))
        assert "sparse_coo_tensor" in repr(torch.sparse_coo_tensor)


def test_gradients_of_bfloat16_in_rows_are_added_up() -> None:
    crow, col = torch.tensor([0, 2, 3, 5]), torch.tensor([1, 2, 0, 0, 2])
    values = torch.ones(5, dtype=torch.bfloat16, requires_grad=True)
    with ls.override():
        S = torch.sparse_csr_tensor(crow, col, values, (3, 3))
        (S + S).to_dense().sum().backward()
    assert values.grad is not None
    assert values.grad.tolist() == [2.0] * 5
