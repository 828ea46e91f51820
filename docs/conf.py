"""How Sphinx builds the site: `make docs`, which puts this folder on the path."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import tables
from libsparse._tensor.dispatch_table import handlers
from sphinx.application import Sphinx

import libsparse

HERE = Path(__file__).parent
ROOT = HERE.parent

project = "libsparse"
author = "libsparse authors"
copyright = "libsparse authors, MIT licence"
version = release = libsparse.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

default_role = "code"
autodoc_member_order = "groupwise"
autodoc_preserve_defaults = True
napoleon_use_rtype = False

html_theme = "furo"
html_title = "libsparse"
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True

# Files of the repository that are pages of the site, too.
INCLUDED = {
    f"{name}.md": f"{name.lower()}.md"
    for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "RATIONALE", "SECURITY", "CHANGELOG")
}
_INCLUDE = re.compile(r"^```\{include\} \.\./(\w+\.md)\n```$", re.MULTILINE)
_LINK = re.compile(r"(!?)\[([^\]\[]+|!\[[^\]]*\]\([^)]*\))\]\(([^)\s:]+)\)")
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def _read(app: Sphinx, name: str, content: list[str]) -> None:
    """Puts files of the repository in the places of includes, makes links lead to pages of the site, writes tables."""
    page = HERE / f"{name}.md"
    found = _INCLUDE.search(content[0])
    folder = ROOT if found else page.parent
    text = (ROOT / found[1]).read_text() if found else content[0]
    parts = _FENCED.split(text)
    parts[::2] = [_LINK.sub(lambda link: _link(link, folder, page.parent), part) for part in parts[::2]]
    content[0] = tables.filled("".join(parts))


def _link(link: re.Match[str], folder: Path, beside: Path) -> str:
    """A link of a file in `folder`, as a page in `beside` has it; one to sources is their name alone."""
    image, title, target = link.groups()
    path, hash_, anchor = target.partition("#")
    if not path:
        return link[0]
    there = Path(os.path.normpath(folder / path))
    if there.parent == ROOT and there.name in INCLUDED:
        there = HERE / INCLUDED[there.name]
    if not there.is_relative_to(HERE):
        return str(title)
    return f"{image}[{title}]({os.path.relpath(there, beside)}{hash_}{anchor})"


def _skip(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leaves methods that torch defines, and those that handle a function of torch, to the page about torch."""
    function = member.fget if isinstance(member, property) else member
    own = str(getattr(function, "__module__", None)).startswith("libsparse") and id(function) not in _TORCH
    return None if own or not callable(function) else True


_TORCH = {id(handler) for handler in handlers.values()}


def setup(app: Sphinx) -> None:
    """Registers what is above."""
    app.connect("source-read", _read)
    app.connect("autodoc-skip-member", _skip)
