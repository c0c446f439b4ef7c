"""Names in generated code: checks names of symbols, and escapes other text for C.

A module's text may give a function any name. A name becomes a symbol only after `checked_symbol`,
every other text is escaped by `c_text`, and names of generated files do not contain it.
"""

from __future__ import annotations

import re

from byoc_lab.errors import BuildError
from byoc_lab.printing import in_the_middle

_IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_OF_C_AND_CPP = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
    class compl const const_cast constexpr continue decltype default delete do double dynamic_cast
    else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast restrict return short signed sizeof static static_assert static_cast struct
    switch template this thread_local throw true try typedef typeid typename union unsigned using
    virtual void volatile wchar_t while xor xor_eq
"""
KEYWORDS = frozenset(_OF_C_AND_CPP.split())  # C11, C++17


def is_symbol(name: object) -> bool:
    """Whether a name is an identifier of C and C++, in ASCII. Relax's names may be long."""
    return (
        isinstance(name, str) and _IDENTIFIER.fullmatch(name) is not None and name not in KEYWORDS
    )


def checked_symbol(name: object) -> str:
    """`name`, the name of an external function, if it can be a symbol of compiled code.

    Raises BuildError otherwise.
    """
    if isinstance(name, str) and is_symbol(name):
        return name
    length = f" ({len(name):,} characters)" if isinstance(name, str) and len(name) > 80 else ""
    raise BuildError(
        f"the external function @{shown(name)}{length} cannot be compiled: its name becomes a "
        f"symbol, which must be an identifier of C (letters, digits and _, no keyword). Rename the "
        f"function, or build(offload=False) to compile its body with TVM"
    )


def shown(name: object) -> str:
    """A name in the form for messages: on one line, shortened in the middle."""
    text = name if isinstance(name, str) else repr(name)
    return c_text(in_the_middle(text, 80, "..."))


def c_text(text: str) -> str:
    r"""Any text in a form that is safe inside a comment or a string literal of C and C++.

    Printable characters are unchanged, except those that could end the comment or the literal or
    continue its line (", \, *, and ?, which begins trigraphs). These and all other characters
    become octal escapes of their UTF-8 bytes. A lone surrogate is written like any other code
    point.
    """
    return "".join(c if c.isprintable() and c not in '"\\*?' else _octal(c) for c in text)


def _octal(character: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogatepass"))
