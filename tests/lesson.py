"""Run the notebook for a class, and store what its cells show: ``PYTHONPATH=src:tests python -m lesson``."""

import ast
import base64
import contextlib
import io
import json

import matplotlib
from pages import ROOT

NOTEBOOK = ROOT / "docs" / "readers" / "lesson.ipynb"


def code_cells(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run_all(notebook):
    """Run the cells as a notebook does; return the names they made, and what each of them showed."""
    matplotlib.use("Agg")
    names, shown = {}, []
    for cell in code_cells(notebook):
        body = ast.parse("".join(cell["source"])).body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        printed, value = io.StringIO(), None
        with contextlib.redirect_stdout(printed):
            exec(compile(ast.Module(body, []), "lesson", "exec"), names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), "lesson", "eval"), names)
        shown.append((printed.getvalue(), value, _picture()))
    return names, shown


def _picture():
    import matplotlib.pyplot as plt

    if not plt.get_fignums():
        return None
    found = io.BytesIO()
    plt.gcf().savefig(found, dpi=80, metadata={"Software": None})
    plt.close("all")
    return found.getvalue()


def _outputs(printed, value, picture):
    if printed:
        yield {"output_type": "stream", "name": "stdout", "text": printed.splitlines(keepends=True)}
    if picture is not None:
        data = {"image/png": base64.b64encode(picture).decode(), "text/plain": ["<Figure>"]}
        yield {"output_type": "display_data", "metadata": {}, "data": data}
    elif value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        yield {"output_type": "execute_result", "metadata": {}, "execution_count": None, "data": data}


def main():
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    _, shown = run_all(notebook)
    for number, (cell, each) in enumerate(zip(code_cells(notebook), shown, strict=True), 1):
        cell["outputs"], cell["execution_count"] = list(_outputs(*each)), number
        for output in cell["outputs"]:
            if "execution_count" in output:
                output["execution_count"] = number
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
