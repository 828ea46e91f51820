"""Reading a Matrix Market file from a named pipe waited for good: it was opened again where C could not read it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import libsparse as ls


def test_pipes(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.mtx"
    os.mkfifo(pipe)
    text = "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 3\n"
    found: list[ls.SparseTensor] = []
    threading.Thread(target=pipe.write_text, args=(text,), daemon=True).start()
    reader = threading.Thread(target=lambda: found.append(ls.read(pipe)), daemon=True)
    reader.start()
    reader.join(20)
    assert [A.to_dense().tolist() for A in found] == [[[0, 3], [0, 0]]]
