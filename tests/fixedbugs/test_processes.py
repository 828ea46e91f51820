"""Forked processes and odd environments."""

from __future__ import annotations

import processes
import pytest
from libsparse._compiler import target

FORK = """
import os, torch, libsparse as ls
B, X = ls.random((3000, 3000), 0.02), torch.rand(3000, 64)
with_block = ls.options(num_threads=2)
with_block.__enter__()
B @ X
child = os.fork()
if child == 0:
    try:
        {change}
        print((B @ X).shape, flush=True)
    finally:
        os._exit(0)
os.waitpid(child, 0)
"""


@pytest.mark.parametrize("change", ["ls.options(num_threads=4)", "with_block.__exit__(None, None, None)"])
def test_a_forked_child_opens_no_team(change):
    assert "3000, 64" in processes.run(FORK.format(change=change))


@pytest.mark.parametrize(
    ("given", "compiler"),
    [
        ("ccache gcc", "gcc"),
        ("gcc -O2 -g", "gcc"),
        (" clang ", "clang"),
        ("/usr/bin/ccache /opt/cc -m64", "/opt/cc"),
        ("-x", "-x"),
        ("", ""),
    ],
)
def test_command_lines_as_compilers(monkeypatch, given, compiler):
    monkeypatch.delenv("LIBSPARSE_CC", raising=False)
    monkeypatch.setenv("CC", given)
    assert target.compiler() == compiler
