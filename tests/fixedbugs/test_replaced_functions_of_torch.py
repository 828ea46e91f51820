"""Other libraries may put functions of their own in the places of torch's: `ls.enable()` serves and leaves them."""

import pickle
import subprocess
import sys

import torch

import libsparse as ls


def test_a_replaced_function_takes_sparse_tensors(monkeypatch):
    own = torch.index_select

    def replaced(input, dim, index, out=None):
        return own(input, dim, index)

    monkeypatch.setattr(torch, "index_select", replaced)
    A = torch.eye(4).to_sparse_csr()
    with ls.override():
        found = torch.index_select(A, 0, torch.tensor([2, 0]))
    assert torch.equal(found.to_dense(), torch.eye(4)[[2, 0]])
    assert torch.index_select is replaced


def test_a_function_that_is_replaced_while_enabled_stays(monkeypatch):
    monkeypatch.setattr(torch, "mv", torch.mv)
    with ls.override():
        before = torch.mv
        replaced = lambda *args: before(*args)  # noqa: E731
        torch.mv = replaced
    assert torch.mv is replaced
    assert replaced(torch.eye(2), torch.ones(2)).tolist() == [1.0, 1.0]


def test_replaced_functions_are_pickled_as_torchs_own():
    own = torch.norm, torch.nn.functional.linear, torch.mm, torch.Tensor.mm
    with ls.override():
        stored = pickle.dumps((torch.norm, torch.nn.functional.linear, torch.mm, torch.Tensor.mm))
    assert pickle.loads(stored) == own


def test_a_function_that_was_replaced_before_the_import_takes_sparse_tensors():
    code = (
        "import torch; own, seen = torch.select, [];\n"
        "def replaced(input, dim, index): seen.append(dim); return own(input, dim, index)\n"
        "torch.select = replaced; import libsparse as ls; print(torch.select(ls.eye(3), 0, 1).tolist(), seen)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[0.0, 1.0, 0.0] [0]\n"
