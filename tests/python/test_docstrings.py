"""Every public name has a docstring with an example, and the examples print what they show."""

from __future__ import annotations

import doctest
import inspect
from typing import Any

import pytest
import torch

import libsparse as ls

_CLASSES = {"SparseTensor": ls.SparseTensor, "Schedule": ls.Schedule, "Pattern": ls.Pattern, "Format": ls.Format}
_FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE


def _own(owner: type, name: str) -> bool:
    """Whether the class has the attribute itself, not as torch wrote it, and it is no value."""
    found = inspect.getattr_static(owner, name)
    if found is inspect.getattr_static(torch.Tensor, name, None):
        return False
    return callable(found) or isinstance(found, (property, classmethod, staticmethod)) or hasattr(found, "func")


_MODULES = {"dglsp": ls.dglsp, "linalg": ls.linalg, "nn": ls.nn, "sampling": ls.sampling}


def documented() -> dict[str, str]:
    """The docstring of every public name, and of the methods and properties of public classes."""
    found = {name: getattr(ls, name) for name in ls.__all__ if name not in ("__version__", *_MODULES)}
    found["cache"] = type(ls.cache)
    for title, owner in {**_CLASSES, "cache": type(ls.cache)}.items():
        for name in dir(owner):
            if not name.startswith("_") and _own(owner, name):
                found[f"{title}.{name}"] = inspect.getattr_static(owner, name)
    layers = {f"{part}.{name}": getattr(module, name) for part, module in _MODULES.items() for name in module.__all__}
    layers |= {
        f"nn.patterns.{name}": value for name, value in vars(ls.nn.patterns).items() if inspect.isfunction(value)
    }
    layers = {name: value for name, value in layers.items() if "._" not in name}
    found |= {name: value for name, value in layers.items() if not inspect.ismodule(value)}
    for title, owner in layers.items():
        methods = {f"{title}.{name}": value for name, value in vars(owner).items() if not name.startswith("_")}
        found |= {name: value for name, value in methods.items() if "Example:" in (value.__doc__ or "")}
    return {name: inspect.cleandoc(value.__doc__ or "") for name, value in found.items()}


DOCUMENTED = documented()


@pytest.mark.parametrize("name", DOCUMENTED)
def test_example(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.chdir(tmp_path)
    text = DOCUMENTED[name]
    examples = doctest.DocTestParser().get_examples(text)
    assert examples, f"{name} has no example"
    names = {"ls": ls, "torch": torch}
    test = doctest.DocTest(examples, names, name, None, None, text)
    said: list[str] = []
    with torch.random.fork_rng():
        result = doctest.DocTestRunner(optionflags=_FLAGS, verbose=False).run(test, out=said.append)
    assert result.failed == 0, "".join(said)


def test_every_method_of_a_tensor_is_there() -> None:
    assert sum(name.startswith("SparseTensor.") for name in DOCUMENTED) > 400
