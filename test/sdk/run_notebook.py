"""Runs the code of a notebook, and prints the notebook with the outputs: python3 run_notebook.py FILE."""

import ast
import io
import json
import sys

import matplotlib

matplotlib.use("svg")
# The same picture each time.
matplotlib.rcParams.update({"svg.hashsalt": "bookreel", "svg.fonttype": "none"})

from matplotlib import pyplot

names = {}
notebook = json.load(open(sys.argv[1], encoding="utf-8"))
count = 0
for cell in notebook["cells"]:
    if cell["cell_type"] != "code":
        continue
    count += 1
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    cell["execution_count"], cell["outputs"] = count, []
    if pyplot.get_fignums():
        picture = io.StringIO()
        pyplot.gcf().savefig(picture, format="svg", metadata={"Date": None})
        pyplot.close("all")
        data = {"image/svg+xml": picture.getvalue().splitlines(keepends=True)}
        cell["outputs"].append({"output_type": "display_data", "metadata": {}, "data": data})
    elif value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        cell["outputs"].append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data})
notebook["metadata"]["made_with"] = {"matplotlib": matplotlib.__version__}
print(json.dumps(notebook, indent=1, ensure_ascii=False))
