"""Kernels that come with the package, for processes that find no C compiler."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

import processes
import pytest
import torch
from libsparse._compiler import native, target

import libsparse as ls

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    not native.EXECUTABLE.exists() or not target.level(), reason="needs the compiler and x86-64"
)

# what the script below computes, and copies of its matrices
TEXTS = ("ij,jk->ik", "ij,ik->jk", "ij,ik,jk->ij", "C(a,b) = A(a,b) + B(a,b)", "ab->ab")
SCRIPT = """
import os, torch, libsparse as ls
from libsparse._compiler import target
target.PACK = os.environ["FOLDER"]
A, B = (torch.rand(40, 40).where(torch.rand(40, 40) < 0.2, torch.zeros(())) for _ in range(2))
S, T = ls.from_torch(A.to_sparse_csr()).requires_grad_(), ls.from_torch(B.to_sparse_csr())
same = torch.testing.assert_close
"""
CALLS = """
x = torch.rand(40, 64, requires_grad=True)
same(S @ x, A @ x)
(S @ x).sum().backward()
same(x.grad, A.T @ torch.ones(40, 64))
same(S.grad.to_dense(), (torch.ones(40, 64) @ x.detach().T) * (A != 0))
same((S + T).to_dense(), A + B)
same((S @ T).to_dense(), A @ B)
large = ls.random((70_000, 50), density=0.001)
for width in (12, 64, 70, 200):
    wide = torch.rand(50, width)
    same(large @ wide, large.to_torch() @ wide)
print(ls.cache.info().packed > 0, "kernel pack" in str(ls.doctor()), ls.cache.info().kernels)
try:
    ls.einsum("ij,ik,il->jkl", S, T, torch.rand(40, 5))
except ls.ToolchainError as error:
    print("/nonexistent" in str(error))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack of few kernels, for the smallest level."""
    found: Path = tmp_path_factory.mktemp("pack")
    with gzip.open(ROOT / "pack" / "requests.jsonl.gz", "rt") as file:
        requests = [line for line in file if _is_used(json.loads(line))]
    command = [native.EXECUTABLE, "pack", found, native.BUILD, "x86-64"]
    subprocess.run(command, input="".join(requests), text=True, check=True)
    (found / "build.txt").write_text(native.BUILD)
    return found


def _is_used(described: dict[str, object]) -> bool:
    """Whether a request is like the script's: of float32 or places, CSR, and of few widths."""
    operands = described["operands"]
    assert isinstance(operands, list)
    dense = [o["shape"][-1] in (9, 64, 65) for o in operands if o["format"] == "dd"]
    if described.get("spec", described.get("expr")) not in TEXTS:
        return False
    return all(o["dtype"] in ("f32", "i32", "bool") and o["format"] in ("ds", "dd") for o in operands) and all(dense)


def run(folder: Path, cache: Path, code: str) -> str:
    """What a process without a C compiler prints, whose cache is empty."""
    return processes.run(SCRIPT + code, cache, LIBSPARSE_CC="/nonexistent", FOLDER=str(folder))


def test_calls_without_a_compiler(folder, tmp_path):
    assert run(folder, tmp_path, CALLS) == "True True 0\nTrue"


def test_a_pack_of_another_build_is_not_used(folder, tmp_path):
    printed = run(
        folder,
        tmp_path,
        "from libsparse._compiler import native\nnative.BUILD = 'another'\n"
        "try:\n    S @ torch.rand(40, 64)\nexcept ls.ToolchainError:\n    print(ls.cache.info().packed)",
    )
    assert printed == "0"


def test_the_level_is_one_that_the_processor_has():
    named = target.level()
    assert named in ("x86-64", "x86-64-v3", "x86-64-v4")
    assert (named == "x86-64-v4") == (torch.backends.cpu.get_cpu_capability() == "AVX512")


@pytest.mark.parametrize(("format", "width"), [("csr", 16), ("csr", 7), ("csc", 16), ("coo", 16), ("coo", 7)])
def test_requests_that_the_library_makes_are_in_the_pack(format, width):
    """The list was made by an older version of the library where this fails: pack/record.py makes it anew."""
    from libsparse._compiler import kernel, request

    with gzip.open(ROOT / "pack" / "requests.jsonl.gz", "rt") as file:
        known = {json.loads(line)["request_key"] for line in file}
    A, B = (ls.random((300, 200), density=0.1, format=format) for _ in range(2))
    kernel.forget()
    x = torch.rand(200, width, requires_grad=True)
    (A.requires_grad_() @ x).sum().backward()
    A + B
    made = [wanted for wanted, _ in kernel.known()]
    assert made
    assert [wanted for wanted in made if request.text(request.widened(wanted)) not in known] == []
