"""Compilers that are scripts around others: some take `-march=native` away, and with it the names of instructions.

Some start a server that outlives them, and holds what they print to open.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.compiler

WRAPPER = """#!/bin/sh
for argument do
    shift
    [ "$argument" = -march=native ] || set -- "$@" "$argument"
done
exec {compiler} "$@"
"""

PRODUCTS = """
import torch, libsparse as ls
A, X = ls.random((300, 300), 0.1), torch.randn(300, 64)
D = A.to_dense()
for _ in range(5):
    torch.testing.assert_close(A @ X[:, 0], D @ X[:, 0])
    torch.testing.assert_close(A @ X, D @ X)
    torch.testing.assert_close((A.half() @ X.half()).float(), D @ X, rtol=1e-2, atol=5e-2)
torch.testing.assert_close((A @ A).to_dense(), D @ D)
torch.testing.assert_close(torch.softmax(A, 1).to_dense(), D.masked_fill(D == 0, -torch.inf).softmax(1))
torch.testing.assert_close(torch.tanh(A).to_dense(), D.tanh())
powers = ls.evaluate("y(i) = tanh(A(i,j)) * pow(A(i,j), 2.5)", A=A.abs())
torch.testing.assert_close(powers, (D.abs().tanh() * D.abs() ** 2.5).sum(1))
print("equal")
"""


def run(text: str, program: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """A program with this text for a compiler."""
    wrapper = tmp_path / "gcc"
    wrapper.write_text(text.format(compiler=shutil.which("gcc") or shutil.which("cc")), encoding="utf-8")
    wrapper.chmod(0o755)
    environment = {**os.environ, "CC": str(wrapper), "LIBSPARSE_CACHE_DIR": str(tmp_path / "cache")}
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)


def test_a_compiler_that_is_kept_from_the_instructions_of_the_processor(tmp_path: Path) -> None:
    done = run(WRAPPER, PRODUCTS, tmp_path)
    assert done.stdout == "equal\n", done.stderr


def test_a_compiler_that_leaves_a_server_behind(tmp_path: Path) -> None:
    program = "import torch, libsparse as ls; print((ls.eye(3) @ torch.ones(3)).tolist())"
    done = run('#!/bin/sh\nsleep 5 &\nexec {compiler} "$@"\n', program, tmp_path)
    assert done.stdout == "[1.0, 1.0, 1.0]\n", done.stderr
