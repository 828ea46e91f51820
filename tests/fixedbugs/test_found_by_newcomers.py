"""What somebody who met the package for the first time found."""

import pytest
import torch
from libsparse._compiler import kernel
from libsparse._runtime import dispatch
from libsparse._torch import routed_calls

import libsparse as ls


def test_an_in_place_operation_without_autograd_leaves_a_leaf_a_leaf():
    weight = torch.nn.Parameter(ls.eye(3))
    other = ls.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
    expected = torch.eye(3) + other.to_dense()
    with torch.no_grad():
        weight.add_(other)
    assert weight.requires_grad
    (weight @ torch.ones(3)).sum().backward()
    assert torch.equal(weight.grad.to_dense(), (expected != 0).float())


def test_tensors_without_values_are_copied():
    module = torch.nn.Module()
    module.register_buffer("graph", ls.from_edge_index(torch.tensor([[0, 1], [1, 2]]), num_nodes=3))
    module.load_state_dict(module.state_dict())
    module.graph.clone().copy_(module.graph)
    with pytest.raises(ls.ShapeError):
        module.graph.clone().copy_(ls.eye(3).bool().with_values(None))


def test_a_mask_of_a_sparse_tensor_has_its_true_elements():
    given = torch.tensor([[0.5, -1.0, 0.0], [0.0, 2.0, -3.0]])
    found = ls.from_mask(ls.tensor(given) > 0)
    assert found.indices().tolist() == [[0, 1], [0, 1]]
    assert ls.from_mask(ls.tensor(given) != 0).nnz == 4


def test_many_entries_of_many_modes_are_sorted():
    coords = torch.randint(0, 2, (17, 1 << 14))
    found = ls.from_coo(coords, torch.ones(1 << 14), (2,) * 17, format="coo")
    assert found.nnz == coords.unique(dim=1).shape[1]
    assert found.values().sum() == 1 << 14


def test_functions_are_compiled_again_after_a_gradient():
    dense = torch.tensor([[0.0, 2.0], [1.0, 0.0]])
    weight = torch.nn.Parameter(ls.tensor(dense))
    product = torch.compile(lambda A, x: A @ x, fullgraph=True, backend="aot_eager")
    for columns in (2, 3):
        product(weight, torch.ones(2, columns)).sum().backward()
    assert weight.grad.values().tolist() == [5.0, 5.0]


def test_stored_zeros_are_dropped_by_a_mask():
    given = ls.tensor([[0.5, -1.0, 0.0], [0.0, 2.0, -3.0]])
    kept = given.sparse_mask(ls.from_mask(given.abs() > 0.75))
    assert kept.values().tolist() == [-1.0, 2.0, -3.0]


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state:UserWarning")
def test_torch_computes_where_there_is_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise ls.ToolchainError("no C compiler was found")

    monkeypatch.setattr(dispatch, "build", missing)
    monkeypatch.setattr(kernel, "prepared", {})  # a call like an earlier one on another pattern would need no compiler
    monkeypatch.setattr(routed_calls, "_has_said", False)
    matrix, x = torch.eye(7).to_sparse_csr(), torch.rand(7, 2, requires_grad=True)
    with ls.override():
        with pytest.warns(UserWarning, match="no C compiler"):
            assert torch.equal(torch.sparse.mm(matrix, x.detach()), x)
        (matrix @ x).sum().backward()  # and says so once
        assert (matrix @ matrix).layout is torch.sparse_csr
    assert torch.equal(x.grad, torch.ones(7, 2))


def test_weights_are_drawn_as_those_of_dense_layers():
    """The bounds are those of the shape, not of what is stored."""
    weight = torch.nn.Parameter(ls.random((64, 200), density=0.5))
    for name, gain in (("fan_in", 3 / 200), ("fan_out", 3 / 64)):
        torch.nn.init.kaiming_uniform_(weight, mode=name, nonlinearity="linear")
        largest = weight.detach().values().abs().max()
        assert 0.95 * gain**0.5 < largest <= gain**0.5
    with pytest.raises(ls.UnsupportedError, match="fan_in"):
        torch.nn.init.kaiming_uniform_(weight, mode="fan")


def test_numbers_of_numpy_are_fanouts():
    numpy = pytest.importorskip("numpy")
    nodes, _ = ls.sampling.neighbors(ls.eye(4), [2], list(numpy.array([1])))
    assert nodes.tolist() == [2]


def test_no_index_has_no_dtype():
    """As for `torch.sparse_coo_tensor`."""
    assert ls.from_coo(torch.empty(2, 0), [], (3, 4)).nnz == 0
    assert ls.from_csr(torch.zeros(4, dtype=torch.int64), torch.empty(0), [], (3, 4)).nnz == 0


@pytest.mark.parametrize(
    ("name", "hint"), [("zeros", "from_coo"), ("cat", "torch.cat takes"), ("from_networkx", "tensor")]
)
def test_names_of_other_packages_lead_to_ours(name, hint):
    with pytest.raises(AttributeError, match=hint):
        getattr(ls, name)


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_tensors_are_made_of_torchs_sparse_ones(layout):
    """As of SciPy's; `ls.from_torch` was the only way."""
    source = torch.tensor([[0.0, 2.0], [3.0, 0.0]], requires_grad=True)
    found = ls.tensor(getattr(source, f"to_sparse_{layout}")(), dtype=torch.float64)
    assert str(found.format) == layout
    assert found.dtype == torch.float64
    found.sum().backward()
    assert torch.equal(source.grad, (source.detach() != 0).float())


def test_linear_algebra_takes_arrays_of_other_libraries():
    numpy, sparse = pytest.importorskip("numpy"), pytest.importorskip("scipy.sparse")
    dense = torch.tensor([[4.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 1.0]])
    A, b = ls.tensor(dense), torch.tensor([1.0, 2.0, 3.0])
    expected = torch.linalg.solve(dense, b)
    for method in ("cg", "gmres", "bicgstab", "direct"):
        for matrix in (A, sparse.csr_array(dense.numpy())):
            torch.testing.assert_close(ls.linalg.solve(matrix, b.numpy(), method, x0=b.numpy()), expected)
    inverses = (numpy.eye(3, dtype=numpy.float32), sparse.eye_array(3, format="csr"))
    for inverse in inverses:
        torch.testing.assert_close(ls.linalg.solve(A, b.numpy(), M=inverse), expected)
    largest = torch.linalg.eigvalsh(dense)[-1]
    matrix = sparse.csr_array(dense.numpy())
    torch.testing.assert_close(ls.linalg.eigsh(matrix, 1)[0][0], largest)
    torch.testing.assert_close(ls.linalg.svds(matrix, 1)[1][0], largest)
    value = ls.linalg.power_iteration(matrix, b.numpy())[0]
    torch.testing.assert_close(value, largest, atol=1e-3, rtol=1e-3)
    with pytest.raises(ls.DtypeError, match=r"solve: b is"):
        ls.linalg.solve(A, matrix)


def test_attention_takes_arrays_of_numpy():
    mask = ls.tensor([[True, False], [True, True]])
    q, k, v = (torch.rand(2, 4) for _ in range(3))
    found = ls.attention(q.numpy(), k.numpy(), v.numpy(), mask)
    torch.testing.assert_close(found, ls.attention(q, k, v, mask))
    with pytest.raises(ls.DtypeError, match="attention: q is a csr_array"):
        ls.attention(pytest.importorskip("scipy.sparse").csr_array(q.numpy()), k, v, mask)


def test_a_pair_of_numbers_of_nodes_points_to_coordinates():
    with pytest.raises(ls.ShapeError, match=r"ls\.from_coo\(edge_index, edge_weight, shape=\(3, 4\)\)"):
        ls.from_edge_index([[0, 1], [1, 3]], num_nodes=(3, 4))


def test_errors_say_what_to_do():
    A, q = ls.eye(3), torch.rand(1, 2, 3, 4)
    with pytest.raises(ls.FormatError, match=r"no function 'foo'.*'floor'.*ls\.register"):
        ls.evaluate("y(i) = foo(A(i,j))", A=A)
    with pytest.raises(ls.DtypeError, match=r"Conv2d; expected a torch\.nn\.Linear"):
        ls.nn.SparseLinear.from_dense(torch.nn.Conv2d(3, 3, 3), density=0.1)
    with pytest.raises(ls.UnsupportedError, match=r"attn_mask\.tril\(\)"):
        torch.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=A, is_causal=True)
    with pytest.raises(ls.FormatError, match=r"eye\(1099511627776, 1099511627776\).* GiB"):
        ls.eye(1 << 40)


def test_patterns_count_beside_numbers():
    edges = ls.from_edge_index([[0, 0, 1, 2], [1, 2, 3, 3]], num_nodes=4)
    assert (edges.float() @ edges).to_dense()[0, 3] == 2
    assert (edges @ edges).to_dense()[0, 3].item() is True
