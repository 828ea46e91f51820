"""Python files of one version beside the compiler of another, as of an upgrade that stopped: the cache was blamed."""

import subprocess
import sys

PROGRAM = """
from libsparse._compiler import native
native.VERSION = "0.0.0"
import torch, libsparse as ls
try:
    ls.evaluate("y(i) = exp(A(i,j) * 0.37)", A=ls.eye(3))
except ls.InternalError as error:
    print(error)
"""


def test_the_error_names_both(tmp_path, monkeypatch):
    monkeypatch.setenv("LIBSPARSE_CACHE_DIR", str(tmp_path))
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert "the package of 0.0.0; install libsparse again" in ended.stdout, ended.stderr[-2000:]
