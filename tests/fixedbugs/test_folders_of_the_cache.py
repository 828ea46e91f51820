"""Folders that others write to, remove or fill, and names that stand for none, lost records or made untyped errors."""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from libsparse._compiler import target
from libsparse._runtime import tuned

import libsparse as ls

ABOUT = {"expression": "y(i) = A(i,j) * x(j)", "threads": 1, "class": None}


def save(pattern: str) -> None:
    tuned.save("ab-1", {**ABOUT, "patterns": {pattern: {"schedule": None, "trials": []}}}, pattern)


def test_records_are_kept_while_others_are_removed(tmp_path: Path) -> None:
    done, failed, folder = threading.Event(), [], tmp_path / f"v{ls.__version__}" / "tuned"

    def until_done(work: Any) -> None:
        try:
            while not done.is_set():
                work()
        except BaseException as error:
            failed.append(error)

    def read() -> None:
        for file in folder.glob("*.json"):
            with suppress(FileNotFoundError):
                json.loads(file.read_text())

    works = [lambda: tuned.remove("ab"), read, *(lambda name=name: save(name) for name in "cdef")]
    with ls.options(cache_dir=tmp_path):
        threads = [threading.Thread(target=until_done, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        done.wait(1.5)
        done.set()
        for thread in threads:
            thread.join()
    assert failed == []


def test_records_are_the_first_in_a_folder(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with ls.options(cache_dir=tmp_path / "new"):
            save("c")
            assert [path.stat().st_mode & 0o777 for path in (ls.cache.path, ls.cache.path / "tuned")] == [0o700, 0o700]
    finally:
        os.umask(before)


def test_a_record_that_the_disk_has_no_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(path: Path, text: str) -> int:
        path.write_bytes(text[:5].encode())
        raise OSError(errno.ENOSPC, "No space left on device")

    with ls.options(cache_dir=tmp_path):
        save("c")
        with monkeypatch.context() as full:
            full.setattr(Path, "write_text", fill)
            with pytest.raises(OSError, match="space"):
                save("d")
        assert sorted(path.suffix for path in (ls.cache.path / "tuned").iterdir()) == ["", ".json"]
        save("e")
        assert sorted(tuned.read("ab-1")["patterns"]) == ["c", "e"]


def test_a_file_in_place_of_the_folder_of_records(tmp_path: Path) -> None:
    with ls.options(cache_dir=tmp_path):
        ls.cache.path.mkdir(0o700)
        (ls.cache.path / "tuned").touch()
        assert torch.equal(ls.eye(7) @ torch.ones(7), torch.ones(7))
        assert ls.cache.info().tuned == 0


def test_a_folder_that_is_counted_while_it_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = os.scandir

    def removed(path: Any = ".") -> Any:
        if str(path).endswith("aa"):
            shutil.rmtree(path)
        return scan(path)

    with ls.options(cache_dir=tmp_path):
        for name in ("aa", "ab"):
            entry = ls.cache.path / "kernels" / name / name
            entry.mkdir(parents=True)
            (entry / "kernel.so").write_text("12345")
        monkeypatch.setattr(os, "scandir", removed)
        assert ls.cache.info()[1:3] == (1, 5)


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    with ls.options(cache_dir=tmp_path / ("x" * 300)):
        assert ls.cache.info()[1:3] == (0, 0)


def test_a_user_without_a_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIBSPARSE_CACHE_DIR", "~nobody-of-this-name/kernels")
    with ls.options(cache_dir=None):
        with pytest.raises(ls.ToolchainError, match=r"home folder.*LIBSPARSE_CACHE_DIR"):
            target.cache_dir()
        assert "home folder" in str(ls.doctor())


def test_a_compiler_whose_name_is_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIBSPARSE_CC", "/usr/bin/\udcff")
    with pytest.raises(ls.ToolchainError, match=r"UTF-8.*LIBSPARSE_CC"):
        target.compiler()


def test_relative_name_without_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setenv("LIBSPARSE_CACHE_DIR", "kernels")
    with pytest.raises(ls.ToolchainError, match=r"kernels: the current folder is gone.*LIBSPARSE_CACHE_DIR"):
        target.cache_dir()
    with pytest.raises(ls.ToolchainError, match="others: the current folder is gone"):
        ls.options(cache_dir="others")


@pytest.mark.compiler
@pytest.mark.parametrize(("step", "number"), [("kernel.c.o", 5.375), ("kernel.so", 6.375)])
def test_the_folder_is_removed_while_a_kernel_is_compiled(
    step: str, number: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, compiler, once = tmp_path / "cache", tmp_path / "cc", tmp_path / "once"
    remove = f'case "$*" in *"-o "*/{step}*) [ -e {once} ] || {{ rm -rf {cache}; touch {once}; }} ;; esac'
    compiler.write_text(f'#!/bin/sh\n{remove}\nexec cc "$@"\n')
    compiler.chmod(0o700)
    monkeypatch.setenv("LIBSPARSE_CC", str(compiler))
    with ls.options(cache_dir=cache):
        found = ls.evaluate(f"y(i) = {number} * A(i,j) * sinh(b(j))", A=ls.eye(5), b=torch.ones(5))
    assert torch.allclose(torch.as_tensor(found), torch.full((5,), number).mul(torch.ones(5).sinh()))
    assert once.exists()
