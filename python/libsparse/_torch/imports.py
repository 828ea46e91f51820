"""What is to happen when a library that a program may import, or not, has been imported."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _Watch(MetaPathFinder):
    """Finds no module, but notices that of one name, whose loader it makes call a function in the end.

    Python asks it for each module that is imported, so it compares names and does nothing else.
    """

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name, self._then = name, then

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        """None, but for the module that is watched for, which the other finders find."""
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        loader: Any = None if spec is None else spec.loader
        if loader is None:
            return spec
        execute = loader.exec_module

        def execute_and_tell(module: ModuleType) -> None:
            loader.exec_module = execute
            execute(module)
            self._then()

        loader.exec_module = execute_and_tell
        return spec


def when_imported(name: str, then: Callable[[], None]) -> None:
    """Calls a function after a module has been imported: at once if it has been."""
    if name in sys.modules:
        then()
    else:
        sys.meta_path.insert(0, _Watch(name, then))
