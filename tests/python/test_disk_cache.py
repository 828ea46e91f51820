"""The disk cache in one process: what is kept, dropped, rebuilt, and under which name."""

from __future__ import annotations

import os
import stat
import time

import pytest
import torch
from libsparse._compiler import kernel, native
from libsparse._compiler.request import OutputInfo, Request
from libsparse._compiler.request import key as request_key

import libsparse as ls


def spmm(columns=16):
    """A fresh tensor and product, so that nothing prepared is reused."""
    kernel.forget()
    a = ls.tensor(torch.eye(50) + torch.eye(50).roll(1, 0))
    x = torch.arange(50.0 * columns).reshape(50, columns)
    torch.testing.assert_close(a @ x, a.to_dense() @ x)


@pytest.fixture
def compiled(monkeypatch):
    """Counts how often the compiler is asked."""
    asked = []
    real = native.compile_request
    monkeypatch.setattr(native, "compile_request", lambda request: asked.append(request) or real(request))
    return asked


@pytest.mark.compiler
def test_cache_is_private_and_can_be_cleared(tmp_path, compiled):
    cache = tmp_path / "cache"
    with ls.options(cache_dir=cache):
        spmm()
        assert stat.S_IMODE(cache.stat().st_mode) == 0o700
        info = ls.cache.info()
        assert info.kernels == 1
        assert info.bytes > 0
        assert info.path == ls.cache.path
        spmm()
        assert len(compiled) == 1
        ls.cache.clear()
        assert ls.cache.info().kernels == 0
        spmm()
        assert len(compiled) == 2


@pytest.mark.compiler
def test_requests_with_the_same_code_share_a_kernel(tmp_path, compiled):
    kernel.forget()
    a, x, y = ls.tensor(torch.eye(50)), torch.rand(50, 16), torch.rand(16, 50)
    with ls.options(cache_dir=tmp_path / "cache"):
        as_it_is = ls.einsum("ij,ik,kj->ij", a, x, y)
        transposed = ls.einsum("ij,ik,jk->ij", a, x, y.T)  # read in the same order
        assert torch.equal(as_it_is.values(), transposed.values())
        assert len(compiled) == 2
        assert ls.cache.info().kernels == 1


@pytest.mark.compiler
def test_cache_drops_what_was_not_used_for_longest(tmp_path, monkeypatch):
    old = tmp_path / f"v{ls.__version__}" / "kernels" / "00" / ("0" * 64)
    old.mkdir(parents=True, mode=0o700)
    (old / "kernel.so").write_bytes(bytes(2 << 20))
    day = time.time() - 2 * 86400
    os.utime(old / "kernel.so", (day, day))
    monkeypatch.setenv("LIBSPARSE_CACHE_MIB", "1")
    with ls.options(cache_dir=tmp_path):
        spmm()
        assert old.exists()  # the size is first looked at when the folder is a day old
        (checked,) = tmp_path.rglob("trim.lock")
        os.utime(checked, (day, day))
        spmm(columns=3)
        assert not old.exists()
        assert ls.cache.info().kernels == 2


def test_cache_size_must_be_a_number(tmp_path, monkeypatch):
    monkeypatch.setenv("LIBSPARSE_CACHE_MIB", "much")
    with ls.options(cache_dir=tmp_path), pytest.raises(ls.LibsparseError, match="positive number of MiB"):
        spmm()


@pytest.mark.compiler
@pytest.mark.parametrize(
    "damage", ["truncate object", "alter object", "delete object", "alter request", "truncate request", "empty request"]
)
def test_damaged_entries_are_rebuilt(tmp_path, compiled, damage):
    with ls.options(cache_dir=tmp_path):
        spmm()
        (obj,), (req,) = tmp_path.rglob("kernel.so"), tmp_path.rglob("requests/*.json")
        good, target = obj.read_bytes(), obj if "object" in damage else req
        data = target.read_bytes()
        bad = data[:-200] + bytes(200) if target is obj else data.replace(b'"index":"i"', b'"index":"k"')
        target.unlink()  # not written in place: this process has the object mapped
        if "delete" not in damage:
            target.write_bytes(bad if "alter" in damage else data[: len(data) // 2] if "truncate" in damage else b"")
        spmm()
        assert len(compiled) == 2
        assert obj.stat().st_size == len(good)
        assert target is obj or req.read_bytes() == data
        spmm()
        assert len(compiled) == 2


def test_answers_are_filed_under_the_compiler(monkeypatch):
    described = Request("ij,j->i", False, (), OutputInfo())
    names = set()
    for compiler in ("", "gcc", "clang"):
        monkeypatch.setenv("LIBSPARSE_CC", compiler)
        monkeypatch.delenv("CC", raising=False)
        names.add(request_key(described, "build"))
    assert len(names) == 3
