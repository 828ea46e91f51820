"""What stands in the place of torch's functions while `ls.enable()` is on, in C and in Python."""

import copy
import functools
import gc
import inspect
import pickle
import sys

import pytest
import torch
import torch.nn.functional as F
from libsparse._torch import overrides
from torch import Tensor

import libsparse as ls

X = torch.randn(4, 4)
CSR = torch.eye(4).to_sparse_csr()


@pytest.fixture(params=["C", "Python"], autouse=True)
def _way(request, monkeypatch):
    overrides._routed.cache_clear()  # stand-ins are made once
    if request.param == "Python":
        monkeypatch.setattr(overrides, "native", None)
    elif overrides.native is None:
        pytest.skip("built without a C compiler, or for Python 3.10")
    with ls.override():
        yield
    overrides._routed.cache_clear()


def test_operands_are_found_wherever_they_are():
    same = torch.testing.assert_close
    same(torch.mm(CSR, X), X)
    same(torch.mm(input=CSR, mat2=X), X)
    same(torch.mm(CSR, mat2=X), X)
    same(CSR.mm(X), X)
    same(CSR.mm(mat2=X), X)
    same(Tensor.mm(CSR, X), X)
    same(X @ CSR, X)
    same(functools.partial(torch.addmm, X)(CSR, X), 2 * X)
    same(torch.addmm(X, CSR, X, beta=0.5), 1.5 * X)
    same(F.linear(X, CSR, bias=X[0]), X + X[0])
    assert torch.cat([CSR, CSR]).shape == (8, 4)
    same(torch.einsum("ij,jk->ik", [CSR, X]), X)
    same(torch.mm(X, X), X @ X)
    same(torch.softmax(X, dim=1), X.exp() / X.exp().sum(1, keepdim=True))


def test_errors_of_torch_are_kept():
    for call in (
        lambda: torch.mm(X, X[0]),
        lambda: torch.mm(X),
        lambda: torch.relu(),
        lambda: torch.mm(CSR, X[:2]),
        lambda: torch.exp(CSR),
        lambda: X.mm(wrong=X),
        lambda: X[9],
    ):
        with ls.override(), pytest.raises((RuntimeError, TypeError, IndexError)) as found:
            call()
        assert "libsparse" not in str(found.value)


def test_they_look_like_functions():
    wanted = {"mm": torch.mm, "relu": torch.relu, "softmax": F.softmax, "_sparse_mm": torch.sparse.mm}
    for name, function in wanted.items():
        assert function.__name__ == name
        assert function.__doc__ == function.__wrapped__.__doc__
        assert inspect.isfunction(function)
        assert callable(function)
        assert copy.copy(function) is function
        assert copy.deepcopy({"key": function})["key"] is function
        assert name in repr(function)
    assert "dim" in inspect.signature(F.softmax).parameters
    assert Tensor.mm.__get__(X)(X).shape == (4, 4)
    assert X.mm.__self__ is X


def test_a_module_that_holds_them_is_pickled():
    assert pickle.loads(pickle.dumps(F.softmax)) is F.softmax
    if overrides.native is not None:
        torch.testing.assert_close(pickle.loads(pickle.dumps([torch.relu, Tensor.mm]))[0](X), X.relu())


@pytest.mark.filterwarnings("ignore")
def test_graphs_of_torch_see_its_own_functions():
    torch._dynamo.reset()
    for function in (
        lambda x: torch.mm(x, x).relu() + x[0],
        lambda x: F.softmax(F.linear(x, x, x[0]), 1),
        lambda x: functools.partial(torch.mm, x)(Tensor.mm(x, x) @ x),
        lambda x: torch.cat(list(map(torch.relu, [x, x]))),
    ):
        compiled = torch.compile(function, fullgraph=True, backend="eager")
        torch.testing.assert_close(compiled(X), function(X))
    traced = torch.fx.symbolic_trace(lambda x: torch.relu(x @ x))
    torch.testing.assert_close(traced(X), torch.relu(X @ X))


def test_nothing_is_left_behind():
    def work():
        with ls.override():
            torch.mm(CSR, X), X.mm(X), torch.relu(input=X), torch.softmax(CSR, 1)
            for call in (lambda: torch.mm(X), lambda: torch.exp(CSR)):
                with pytest.raises((RuntimeError, TypeError)):
                    call()

    def references():
        gc.collect()
        return [sys.getrefcount(thing) for thing in (X, CSR, torch.relu.__wrapped__, torch.mm.__wrapped__)]

    work()
    before = references()
    for _ in range(20):
        work()
    assert references() == before


def scripted(x: Tensor, y: Tensor) -> Tensor:
    """Operators, functions that torch wrote in Python, those with overloads, methods and properties."""
    z = torch.mm(x, y).relu() + torch.softmax(x, 1) + F.softmax(x, dim=1) @ x.t() + F.linear(x, y) + x[0]
    z = z + torch.norm(x) + torch.stack([x, y])[0] + torch.split(x, 2)[0].sum() + torch.einsum("ij,jk->ik", x, y)
    return z + x.T + F.leaky_relu(F.normalize(x)) + torch.where(x > 0, x, y) + torch.cat([x, y])[:4]


@pytest.mark.filterwarnings("ignore")
def test_torch_jit_compiles_functions_that_it_sees_for_the_first_time():
    Y = torch.randn(4, 4)
    compiled, traced = torch.jit.script(scripted), torch.jit.trace(scripted, (X, Y))
    for function in (compiled, traced):
        torch.testing.assert_close(function(X, Y), scripted(X, Y))
    assert str(compiled.graph).count("aten::mm") == 1
