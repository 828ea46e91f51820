"""Clearing the kernel cache made compilations of others fail, and faults of its folder were reported as bugs.

Records whose schedule is refused stopped `ls.explain`, and bitwise tuning took schedules whose bits differ.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from libsparse._compiler import kernel, native, target
from libsparse._runtime import tally
from libsparse._tools.background import candidates, messages, sites

import libsparse as ls


def _compiles(number: float) -> None:
    A = ls.eye(5)
    found = ls.evaluate(f"y(i) = {number} * A(i,j) * b(j)", A=A, b=torch.ones(5))
    assert torch.equal(torch.as_tensor(found), torch.full((5,), number))


def test_kernels_are_compiled_while_another_thread_clears(tmp_path: Path) -> None:
    done = threading.Event()

    def clear() -> None:
        while not done.wait(0.01):
            ls.cache.clear()

    with ls.options(cache_dir=tmp_path):
        thread = threading.Thread(target=clear)
        thread.start()
        try:
            for number in range(5):
                _compiles(number + 0.25)
        finally:
            done.set()
            thread.join()


def test_what_is_being_made_stays(tmp_path: Path) -> None:
    with ls.options(cache_dir=tmp_path):
        _compiles(0.5)
        root = ls.cache.path
        being, left = root / "tmp" / "key.1", root / "tmp" / "key.2"
        for folder in (being, left):
            folder.mkdir()
            (folder / "kernel.c").write_text("")
        os.utime(left, (0, 0))
        locks = list(root.glob("locks/*"))
        ls.cache.clear()
        assert ls.cache.info()[1:3] == (0, 0)
        assert locks == list(root.glob("locks/*"))
        assert list(root.glob("tmp/*")) == [being]
        assert not list(root.glob("requests/*"))


def test_a_kernel_that_is_gone_before_it_is_loaded_is_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, real = [], native.compile_request

    def compile_and_clear(request: dict) -> dict:
        answer = real(request)
        asked.append(answer)
        if len(asked) < wanted:
            ls.cache.clear()
        return answer

    monkeypatch.setattr(native, "compile_request", compile_and_clear)
    with ls.options(cache_dir=tmp_path):
        wanted = 3
        _compiles(0.75)
        assert len(asked) == 3
        wanted = 100
        with pytest.raises(ls.ToolchainError, match="cleared again and again"):
            _compiles(1.75)


def test_explain_ignores_a_record_whose_schedule_is_refused(tmp_path: Path) -> None:
    with ls.options(cache_dir=tmp_path, num_threads=1):
        A, x = ls.random((300, 200), 0.05), torch.rand(200, 8)
        ls.tune("ij,jk->ik", A, x, budget=1)
        (file,) = (ls.cache.path / "tuned").glob("*.json")
        record = json.loads(file.read_text())
        record["class"] = "nonsense(i)"
        for pattern in record["patterns"].values():
            pattern["schedule"] = "nonsense(i)"
        file.write_text(json.dumps(record))
        kernel.forget()
        assert "nonsense" not in ls.explain("ij,jk->ik", ls.random((300, 200), 0.05), x)
        assert "nonsense" not in ls.explain("ij,jk->ik", A, x, stage="concrete")


def test_a_cache_of_any_size_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIBSPARSE_CACHE_MIB", "9999999999999")
    assert target.cache_bytes() == 2**63 - 1
    with ls.options(cache_dir=tmp_path):
        _compiles(2.5)


def test_a_folder_that_may_not_hold_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> int:
        raise OSError(f"{path}: failed to map segment from shared object: {reason}")

    monkeypatch.setattr(kernel, "_open", refuse)
    with ls.options(cache_dir=tmp_path):
        reason = "Operation not permitted"
        with pytest.raises(ls.ToolchainError, match=r"may not hold code.*LIBSPARSE_CACHE_DIR or ls\.options"):
            _compiles(3.5)
        reason = "Cannot allocate memory"
        with pytest.raises(ls.InternalError, match="can't be used"):
            _compiles(3.5)


def test_a_folder_whose_name_is_no_text(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/x\xff"
    with pytest.raises(ls.FormatError, match="UTF-8"):
        ls.options(cache_dir=os.fsdecode(folder))
    script = """
import torch, libsparse as ls
try:
    ls.eye(3) @ torch.ones(3)
except ls.ToolchainError as error:
    print("UTF-8; name another by LIBSPARSE_CACHE_DIR" in str(error))
"""
    environment = {**os.environb, b"LIBSPARSE_CACHE_DIR": folder}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True)
    assert done.stdout == b"True\n"
    assert not list(tmp_path.iterdir())


def _subject(operation, dtype: torch.dtype) -> candidates.Paced:
    A = ls.random((1200, 1200), 0.01, generator=torch.Generator().manual_seed(0)).to(dtype)
    dense = torch.rand(1200, 8).to(dtype)
    with ls.options(num_threads=1, tune_bitwise=True):
        tally.watch(True)
        try:
            for _ in range(2):
                operation(A, dense)
            found = sites.Sites()
            found.look()
        finally:
            tally.watch(False)
        own = [s for s in found.every.values() if any(o.pattern is A.pattern for o in s.operands())]  # not other tests'
        site = next(s for s in own if s.call() is not None and len(s.operands()) == 2)
        job = site.job(True, 40, 1 << 30)
        operands = [o.with_data(messages.filled(o.data.dtype, o.data.shape, o.data.stride())) for o in job.operands]
        return candidates.Paced(job._replace(share=1.0, operands=operands))


UNROLLED = "reorder(i, j, k); bound(k, 8); precompute(all, w, at=1, tile); unroll(j, 4); vectorize(k)"


@pytest.mark.parametrize("reduce", ["max", "min"])
def test_extrema_whose_zeros_have_other_signs_are_refused(reduce: str) -> None:
    subject = _subject(lambda A, x: ls.matmul(A, x, reduce=reduce), torch.float32)
    with pytest.raises(ls.UnsupportedError, match="order"):
        subject.variant(UNROLLED)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_other_orders_of_sums_are_refused_in_half_precision(dtype: torch.dtype) -> None:
    subject = _subject(lambda A, x: A @ x, dtype)
    with pytest.raises(ls.UnsupportedError, match="order"):
        subject.variant("split(j, j0, j1, 4); reorder(j1, i, j0, k)")
    subject.variant("reorder(i, j, k); bound(k, 8); precompute(all, w, at=1, tile); vectorize(k)")
