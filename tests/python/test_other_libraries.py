"""Arrays and graphs of other libraries: NumPy, SciPy, PyData's sparse, NetworkX; real ones where they are installed."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import libsparse as ls

DENSE = np.array([[0.0, 2.0, 0.0, 3.0], [0.0, 0.0, 0.0, 0.0], [1.0, 4.0, 0.0, 0.0], [0.0, 0.0, 5.0, 6.0]])
NAMES = ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"]
LAYOUTS = [getattr(sp, f"{name}_{kind}") for name in NAMES for kind in ("array", "matrix")]


def same(found: Any, expected: Any) -> None:
    if isinstance(found, ls.SparseTensor):
        found = found.to_dense()
    np.testing.assert_allclose(found.detach().numpy(), np.asarray(expected), rtol=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
@pytest.mark.parametrize("name", ["matmul", "mul", "add", "sub", "truediv", "eq", "ne", "lt", "ge"])
def test_operators_with_scipy_on_either_side(layout: Any, name: str) -> None:
    S, A, apply = layout(sp.csr_array(DENSE)), ls.tensor(DENSE).requires_grad_(), getattr(operator, name)
    with np.errstate(all="ignore"):
        expected = apply(DENSE, DENSE)
    for found in (apply(S, A), apply(A, S)):
        assert isinstance(found, ls.SparseTensor)
        same(found, expected)


def test_products_with_scipy_need_no_dense_memory() -> None:
    A = ls.from_coo([[0, 999_999], [5, 7]], [1.0, 2.0], (1_000_000, 1_000_000))
    S = A.to_scipy()
    assert (S @ A).nnz == 0
    assert (S.T @ A).nnz == (S * A).nnz == 2
    A = A.requires_grad_()
    (S.T @ A).sum().backward()
    assert isinstance(A.grad, ls.SparseTensor)


def test_arrays_for_scipy_itself() -> None:
    A = ls.tensor(DENSE)
    assert isinstance(sp.csr_array(A), sp.csr_array)
    np.testing.assert_array_equal(sp.csr_array(DENSE).multiply(A).toarray(), DENSE * DENSE)


@pytest.mark.parametrize("blocks", [(1, 1), (2, 2), (4, 2), (1, 4)])
def test_blocks_stay_blocks(blocks: tuple[int, int]) -> None:
    source = sp.csr_array(DENSE).tobsr(blocks)
    found = ls.from_scipy(source)
    assert found.format == "bsr({},{})".format(*blocks)
    same(found, DENSE)
    assert found.to_scipy().blocksize == blocks
    assert ls.from_scipy(source, format="csr").format == "csr"


def test_blocks_in_any_order_and_twice() -> None:
    blocks = np.arange(12.0).reshape(3, 2, 2)
    source = sp.bsr_array((blocks, [1, 0, 1], [0, 3, 3]), shape=(4, 4))
    expected = np.zeros((4, 4))
    expected[:2, :2], expected[:2, 2:] = blocks[1], blocks[0] + blocks[2]
    same(ls.from_scipy(source), expected)
    np.testing.assert_array_equal(source.indices, [1, 0, 1])  # the user's own


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3), (1, 4), (4, 1)])
def test_diagonals_stay_diagonals(shape: tuple[int, int]) -> None:
    source = sp.dia_array((np.array([[1.0, 2, 3, 4], [0, 6, 0, 8], [9, 10, 11, 12]]), [1, 0, -2]), shape=shape)
    found = ls.from_scipy(source)
    assert found.format == "dia"
    assert found.nnz == source.nnz  # zeros on a diagonal are elements
    same(found, source.toarray())
    same(ls.from_scipy(source, format="csc"), source.toarray())


class Coordinates:
    """What PyData's arrays have in common, without the package."""

    def __init__(self, dense: Any, fill: float) -> None:
        self.fill_value, self.shape, self.ndim = np.float64(fill), dense.shape, dense.ndim
        self.coords = np.stack(np.nonzero(dense != fill))
        self.data = dense[tuple(self.coords)]

    def asformat(self, name: str) -> Coordinates:
        assert name == "coo"
        return self


@pytest.mark.parametrize("fill", [0.0, 2.0, np.inf])
@pytest.mark.parametrize("shape", [(16,), (4, 4), (2, 2, 4)])
def test_pydata(shape: tuple[int, ...], fill: float) -> None:
    dense = DENSE.reshape(shape)
    check_pydata(Coordinates(dense, fill), dense, fill, "s" if len(shape) == 1 else "coo")


@pytest.mark.parametrize("fill", [0.0, 2.0, np.inf])
@pytest.mark.parametrize("name", ["coo", "dok", "gcxs", "csr", "csc"])
def test_pydata_itself(name: str, fill: float) -> None:
    sparse = pytest.importorskip("sparse")
    source = sparse.COO.from_numpy(DENSE, fill_value=fill).asformat(name)
    check_pydata(source, DENSE, fill, None if name == "gcxs" else name.replace("dok", "coo"))
    check_pydata(sparse.COO.from_numpy(DENSE.reshape(2, 2, 4), fill_value=fill), DENSE.reshape(2, 2, 4), fill, "coo")


def check_pydata(source: Any, dense: Any, fill: float, format: str | None) -> None:
    found = ls.tensor(source)
    assert found.fill_value == fill
    assert format is None or found.format == format
    same(found, dense)
    same(ls.tensor(source, format="dense", dtype=torch.float64), dense)
    if fill == 0.0 and dense.ndim == 2:
        same(ls.tensor(dense) @ source, dense @ dense)


class Graph:
    """What graphs of NetworkX have in common, without the package."""

    def __init__(self, nodes: list[Any], edges: list[tuple[Any, Any, Any]], directed: bool, multi: bool) -> None:
        self.nodes, self._edges, self._directed, self._multi = nodes, edges, directed, multi

    def edges(self, data: str) -> list[tuple[Any, Any, Any]]:
        assert data == "weight"
        return self._edges

    def is_directed(self) -> bool:
        return self._directed

    def is_multigraph(self) -> bool:
        return self._multi


def test_graphs() -> None:
    edges = [("a", "b", 2.0), ("b", "c", None), ("c", "c", 0.5)]
    found = ls.tensor(Graph(["c", "a", "b"], edges, directed=True, multi=False))
    assert found.dtype == torch.float32
    same(found, [[0.5, 0, 0], [0, 0, 2], [1, 0, 0]])
    same(ls.tensor(Graph(["c", "a", "b"], edges, directed=False, multi=False)), [[0.5, 0, 1], [0, 0, 2], [1, 2, 0]])
    bare = [(source, target, None) for source, target, _ in edges]
    assert ls.tensor(Graph(["a", "b", "c"], bare, directed=True, multi=False)).dtype == torch.bool
    same(ls.tensor(Graph(["a", "b", "c"], bare * 2, directed=True, multi=True)), [[0, 2, 0], [0, 0, 2], [0, 0, 2]])
    assert ls.tensor(Graph([], [], directed=True, multi=False)).shape == (0, 0)
    with pytest.raises(ls.DtypeError, match="weight"):
        ls.tensor(Graph(["a"], [("a", "a", "heavy")], directed=True, multi=False))


def test_networkx_itself() -> None:
    networkx = pytest.importorskip("networkx")
    weighted = networkx.Graph()
    weighted.add_weighted_edges_from([("x", "y", 2.5), ("y", "z", 1.5), ("z", "z", 3.0)])
    for graph in (
        weighted,
        networkx.karate_club_graph(),
        networkx.DiGraph([(0, 1), (2, 0), (1, 1)]),
        networkx.MultiGraph([(0, 1), (0, 1), (1, 1)]),
        networkx.karate_club_graph().subgraph([3, 1, 2]),
    ):
        same(ls.tensor(graph).float(), networkx.to_numpy_array(graph))
        assert ls.tensor(graph, format="coo", dtype=torch.float64).dtype == torch.float64


def test_dtypes_that_tensors_lack() -> None:
    with pytest.raises(ls.UnsupportedError, match="uint16"):
        ls.tensor(sp.csr_array(DENSE.astype(np.uint16)))
    with pytest.raises(ls.DtypeError, match="longdouble"):
        ls.from_scipy(sp.coo_array(DENSE.astype(np.longdouble)))


UNARY = ["sqrt", "absolute", "negative", "exp", "sign", "rint", "conjugate", "log1p", "isnan", "logical_not"]
BINARY = ["add", "subtract", "multiply", "divide", "matmul", "power", "maximum", "arctan2", "less", "greater_equal"]


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_universal_functions_of_numpy(name: str) -> None:
    """As torch's functions of that name, a tensor in each case."""
    function, square = getattr(np, name), DENSE
    A = ls.tensor(square)
    with np.errstate(all="ignore"):
        if name in UNARY:
            same(function(A), function(square))
        else:
            for first, second in ((A, A), (A, square), (square, A)):
                if name != "divide" or first is not A:  # A / x stays 0 where nothing is stored
                    same(function(first, second), function(square, square))
    assert isinstance(np.sqrt(A), ls.SparseTensor)
    assert np.square(A.requires_grad_()).requires_grad


def test_what_numpy_can_not_do() -> None:
    A = ls.tensor(DENSE)
    for call in (
        lambda: np.cbrt(A),
        lambda: np.add.reduce(A),
        lambda: np.sqrt(A, out=DENSE.copy()),
        lambda: np.transpose(A),
        lambda: operator.iadd(DENSE.copy(), A),
    ):
        with pytest.raises(ls.UnsupportedError, match=r"shape \(4, 4\), format csr.*np.asarray"):
            call()


class OfTorchSparse:
    """What is read of a matrix of torch_sparse, whose columns need not ascend."""

    def __init__(self, values: torch.Tensor | None) -> None:
        self.values = values

    def coo(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        return torch.tensor([0, 0, 2]), torch.tensor([3, 1, 0]), self.values

    def sparse_sizes(self) -> tuple[int, int]:
        return 3, 4

    def fill_cache_(self) -> OfTorchSparse:
        return self


def test_matrices_of_torch_sparse() -> None:
    values = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    A = ls.tensor(OfTorchSparse(values), "csc", torch.float64)
    assert A.format == "csc"
    same(A, [[0, 2, 0, 1], [0] * 4, [3, 0, 0, 0]])
    (A * A).sum().backward()
    assert values.grad is not None
    assert values.grad.tolist() == [2, 4, 6]
    assert ls.tensor(OfTorchSparse(None)).dtype == torch.bool
    assert ls.tensor(OfTorchSparse(torch.ones(3, 2))).shape == (3, 4, 2)
    with pytest.raises(ls.DtypeError, match=r"ls\.tensor takes others"):
        ls.from_torch(OfTorchSparse(values))  # type: ignore[arg-type]


def test_matrices_of_the_package_torch_sparse() -> None:
    torch_sparse = pytest.importorskip("torch_sparse")
    S = torch_sparse.SparseTensor(row=torch.tensor([0, 2]), col=torch.tensor([3, 0]), sparse_sizes=(3, 4))
    assert torch.equal(ls.tensor(S).to_dense().float(), S.to_dense())
