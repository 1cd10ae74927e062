"""Examples in the documents do what they say."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_python_example_of_integrate_runs(capsys):
    text = (ROOT / "docs" / "integrate.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(import numpy.*?)```", text, re.DOTALL)[1]
    exec(compile(code, "docs/integrate.md", "exec"), {})
    first_row, busy = capsys.readouterr().out.rstrip().rsplit(" ", 1)
    assert re.fullmatch(r"\[[-\d ]+\]", first_row) and int(busy) > 0
