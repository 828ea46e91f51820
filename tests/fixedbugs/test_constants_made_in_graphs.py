"""What a first call in a graph leaves behind serves later calls outside of it."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import torch
import libsparse as ls

sines = torch.compile(
    lambda A, x: ls.evaluate("y(i) = sin(A(i,j) * x(j))", A=A, x=x), backend="aot_eager", fullgraph=True
)
sines(ls.random((5, 5), density=0.5), torch.randn(5, requires_grad=True)).sum().backward()
x, z = (torch.randn(5, dtype=torch.complex128, requires_grad=True) for _ in range(2))
found = torch.autograd.grad(ls.evaluate("y(i) = imag(x(i) / z(i))", x=x, z=z).sum(), (x, z))
for mine, theirs in zip(found, torch.autograd.grad((x / z).imag.sum(), (x, z))):
    torch.testing.assert_close(mine, theirs)
"""


def test_gradients_of_complex_expressions() -> None:
    """The number i was a tensor of the compiler of graphs, if the module was loaded by one."""
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
