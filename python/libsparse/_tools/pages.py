"""Accounts as HTML, for notebooks: blocks of text, sections that fold, and C with colours."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

# Text and background are the notebook's own, dark or light. Of its colours for code those of Jupyter are known by name;
# elsewhere there are some that can be read on both. Selectors outdo Jupyter's own for output.
_STYLE = (
    "<style>"
    "div.libsparse summary{cursor:pointer;font-weight:bold}"
    "div.libsparse.libsparse pre{margin:0 0 .5em .3em;padding:0 0 0 .6em;border:0;"
    "border-left:2px solid rgba(128,128,128,.6);color:inherit;background:transparent;"
    "white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere}"
    "div.libsparse.libsparse div.c pre{white-space:pre;overflow-x:auto}"
    "div.libsparse .c-keyword{color:var(--jp-mirror-editor-keyword-color,#2c8a4b);font-weight:bold}"
    "div.libsparse .c-comment{color:var(--jp-mirror-editor-comment-color,#7d7d7d);font-style:italic}"
    "div.libsparse .c-number{color:var(--jp-mirror-editor-number-color,#b86e2a)}"
    "div.libsparse .c-meta{color:#a063c4}"
    "</style>"
)
_KEYWORDS = (
    "break case char const continue default do double else float for goto if inline int int8_t int16_t int32_t int64_t "
    "long restrict return short signed sizeof static struct switch typedef uint8_t uint16_t uint32_t uint64_t unsigned "
    "void while"
)
_C = re.compile(
    r"(?P<comment>/\*.*?\*/|//[^\n]*)"
    r"|(?P<meta>^[ \t]*\#[^\n]*)"
    rf"|(?P<keyword>\b(?:{_KEYWORDS.replace(' ', '|')})\b)"
    r"|(?P<number>\b\d[\w.]*)",
    re.MULTILINE | re.DOTALL,
)


def page(parts: Iterable[str]) -> str:
    """Blocks and sections as one output."""
    return f'{_STYLE}<div class="libsparse">{"".join(parts)}</div>'


def block(text: str) -> str:
    """Text as it is; C, which begins with a comment, in colours and in lines that don't break."""
    text = text.strip("\n")
    if text.startswith("/*"):
        return f'<div class="c"><pre>{_coloured(text)}</pre></div>'
    return f"<pre>{html.escape(text)}</pre>"


def section(name: str, text: str, *, opened: bool) -> str:
    """A block under a title, which folds it."""
    return f"<details{' open' if opened else ''}><summary>{html.escape(name)}</summary>{block(text)}</details>"


def _coloured(text: str) -> str:
    parts, end = [], 0
    for found in _C.finditer(text):
        parts.append(html.escape(text[end : found.start()]))
        parts.append(f'<span class="c-{found.lastgroup}">{html.escape(found.group())}</span>')
        end = found.end()
    return "".join([*parts, html.escape(text[end:])])
