"""What the package shows, what importing it costs, and that a wheel has all of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import libsparse as ls

CONTRACT = """
DenseResultWarning DivisionByZeroError DtypeError Format FormatError IndexBoundsError InternalError LibsparseError
Pattern Schedule ShapeError SparseTensor ToolchainError UnsupportedError attention cache compile dglsp diag disable
doctor einsum enable evaluate explain eye from_bsr from_coo from_csc from_csr from_edge_index from_levels from_mask
from_scipy from_topk from_torch linalg matmul mm mttkrp mv nn options override random read register sampling schedule
sddmm spgemm spmm spmv tensor tune unregister write
"""


def test_names_are_those_of_the_contract():
    assert {name for name in dir(ls) if not name.startswith("__")} == set(CONTRACT.split())
    assert all(hasattr(ls, name) for name in dir(ls))
    assert {name for name in vars(ls) if not name.startswith("_")} - {"demo"} == set(CONTRACT.split())
    assert {name for name in dir(ls.cache) if not name.startswith("_")} == {"clear", "info", "path"}


def test_no_public_module_but_demo_and_layers():
    names = {path.stem for path in Path(ls.__file__).parent.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert {name for name in names if not name.startswith("_")} <= {"demo", "dglsp", "linalg", "nn", "sampling"}


@pytest.mark.parametrize("function", [ls.einsum, ls.evaluate, ls.matmul, ls.tensor, ls.SparseTensor.sum])
def test_public_functions_are_documented(function):
    assert function.__doc__


def run(code: str) -> object:
    """What a new process prints, as JSON."""
    return json.loads(subprocess.check_output([sys.executable, "-W", "ignore", "-c", code], text=True))


def test_import_loads_few_modules_and_reads_few_files():
    found = run(
        "import json, sys, torch; opened, before = [], set(sys.modules);"
        "sys.addaudithook(lambda event, args: event == 'open' and opened.append(str(args[0])));"
        "import libsparse; print(json.dumps([sorted(set(sys.modules) - before), opened]))"
    )
    assert isinstance(found, list)
    beyond, opened = found
    own = [name for name in beyond if name.partition(".")[0] == "libsparse"]
    assert len(own) <= 104
    assert not [name for name in own if name.startswith("libsparse.demo")]
    assert set(beyond) - set(own) <= {"resource"}  # torch has loaded everything else that is used
    package = os.fspath(Path(ls.__file__).parent)
    others = [name for name in opened if not name.startswith(package) and not name.endswith((".py", ".pyc", ".so"))]
    assert len([name for name in others if "/__pycache__/" not in name]) <= 4, others  # the CPU and its caches


def test_functions_of_torch_load_with_the_first_tensor():
    found = run(
        "import json, sys, numpy, torch, libsparse as ls; x = numpy.eye(2);"
        "found = ['libsparse._torch.functions' in sys.modules]; A = ls.eye(2);"
        "found += [int((A != x).sum()), (A * x).nnz, (x * A).nnz]; print(json.dumps(found))"
    )
    assert found == [False, 0, 2, 2]


FIRST_CALLS = """
import json, sys, torch, libsparse as ls
A, X = ls.eye(3), torch.ones(3, 2)
A[1:], A[torch.tensor([0, 2])], A[torch.tensor([True, False, True])]
A == A, A + torch.ones(3, 3), A * X[:, 0], torch.where(A > 0, A, 0)
torch.softmax(A, 1) @ X, torch.bmm(torch.stack([A, A]), torch.stack([X, X])), torch.nn.functional.linear(X.T, A)
ls.sddmm(A, X, X.T), torch.sparse.sampled_addmm(A, X, X.T), ls.einsum("ij,jk->ik", A, X), ls.random((4, 4), 0.5)
torch.nn.functional.cosine_similarity(A, A), torch.broadcast_tensors(A, A)
(ls.sddmm(A, X.requires_grad_(), X.T) @ X).sum().backward()
print(json.dumps(sorted(sys.modules)))
"""


def test_first_calls_load_little_of_torch():
    loaded = run(FIRST_CALLS)
    assert isinstance(loaded, list)
    assert not {"sympy", "torch._dynamo", "torch._inductor"} & set(loaded)  # sympy takes 0.4 s
