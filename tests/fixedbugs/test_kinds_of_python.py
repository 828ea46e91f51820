"""Kinds of Python that the package doesn't support are named."""

from __future__ import annotations

import sysconfig

import pytest
from libsparse._tools import doctor


def test_the_doctor_names_a_free_threaded_python(monkeypatch: pytest.MonkeyPatch) -> None:
    known = sysconfig.get_config_var
    assert doctor._python()[0]
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: name == "Py_GIL_DISABLED" or known(name))
    ok, found, advice = doctor._python()
    assert not ok
    assert "free-threaded" in found
    assert "free-threaded" in advice
