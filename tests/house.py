"""Who imports whom: every import of a source tree, found without running any of it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, order=True)
class Import:
    """One module that names another.

    It does not matter where: at the top, within a function, or for the type checker alone. Whoever names a module knows
    of it, and knowledge is what walls are about.
    """

    importer: str
    imported: str
    line: int

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


def walk(root: Path) -> list[Import]:
    """Return every import, within a package, of its own modules."""
    files = {_named(path, root): path for path in sorted(root.rglob("*.py"))}
    found = []
    for module, path in files.items():
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
            for target in dict.fromkeys(_targets(node, package, files)):
                if target != module:
                    found.append(Import(module, target, node.lineno))
    return found


def _named(path: Path, root: Path) -> str:
    parts = (root.name, *path.relative_to(root).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _targets(node: ast.AST, package: str, files: dict[str, Path]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in files)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*above, *([base] if base else [])])
        for alias in node.names:
            inner = f"{base}.{alias.name}"
            if inner in files or base in files:
                yield inner if inner in files else base
    elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "import_module":
        yield from (each.value for each in node.args if isinstance(each, ast.Constant) and each.value in files)


def room(module: str) -> str:
    """Return the package right below the top that a module is in; nothing for a module of the top itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and not parts[1].startswith("_") else ""


def private(found: Import) -> bool:
    """Return whether a private module is imported by others than its own package and the package around that."""
    owner, _, name = found.imported.rpartition(".")
    if not name.startswith("_"):
        return False
    inside = found.importer == owner or found.importer.startswith(f"{owner}.")
    around = owner.rpartition(".")[0]
    return not inside and found.importer != around and found.importer.rpartition(".")[0] != around


def circles(imports: list[Import]) -> list[list[str]]:
    """Return the sets of modules that import each other, in a circle of any length."""
    below: dict[str, set[str]] = {}
    for each in imports:
        below.setdefault(each.importer, set()).add(each.imported)

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for other in below.get(waiting.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return seen

    reach = {module: reached(module) for module in below}
    found = []
    for module in sorted(reach):
        if module in reach[module] and not any(module in circle for circle in found):
            found.append(sorted(other for other in reach[module] if module in reach.get(other, ())))
    return found


def code_lines(path: Path) -> int:
    """Return the number of lines of a module that are neither blank, nor comments, nor docstrings."""
    text = path.read_text(encoding="utf-8")
    docstrings: set[int] = set()
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node):
            first = node.body[0]
            docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines = enumerate(text.splitlines(), start=1)
    return sum(1 for i, line in lines if line.strip() and not line.strip().startswith("#") and i not in docstrings)
