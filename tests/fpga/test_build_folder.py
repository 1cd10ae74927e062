"""The folder of a build: all of it or nothing."""

import pytest

from fpga.build_error import BuildError
from fpga.build_folder import REPORT, build_folder


def fill(folder, text, error=None):
    with build_folder(folder) as partial:
        (partial / REPORT).write_text("{}")
        (partial / "a.txt").write_text(text)
        if error:
            raise error


def content(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("a*") if path.is_file()}


def test_a_build_takes_the_place_of_the_one_before(tmp_path):
    fill(tmp_path / "x" / "out", "first")
    (tmp_path / "x" / "out" / "a_folder").mkdir()
    (tmp_path / "x" / "out" / "a_folder" / "old").write_text("old")
    (tmp_path / "x" / "out" / ".flashtile-killed").mkdir()
    fill(tmp_path / "x" / "out", "second")
    assert content(tmp_path / "x" / "out") == {"a.txt": "second"}
    assert {path.name for path in (tmp_path / "x" / "out").iterdir()} == {"a.txt", REPORT}


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("bug")])
def test_an_exception_changes_nothing(tmp_path, error):
    with pytest.raises(type(error)):
        fill(tmp_path / "x" / "out", "first", error)
    assert not (tmp_path / "x").exists()
    fill(tmp_path / "out", "first")
    with pytest.raises(type(error)):
        fill(tmp_path / "out", "second", error)
    assert content(tmp_path / "out") == {"a.txt": "first"}


def test_a_failed_build_is_kept_beside_the_one_before(tmp_path):
    fill(tmp_path / "out", "first")
    for text in ("second", "third"):
        with pytest.raises(BuildError, match="too slow"):
            fill(tmp_path / "out", text, BuildError("too slow"))
    assert content(tmp_path / "out") == {"a.txt": "first", "failed/a.txt": "third"}
    fill(tmp_path / "out", "fourth")
    assert content(tmp_path / "out") == {"a.txt": "fourth"}


def test_what_no_build_has_written_stays(tmp_path):
    (tmp_path / "a.txt").write_text("mine")
    with pytest.raises(BuildError, match=r"holds files that no build has written"):
        fill(tmp_path, "first")
    with pytest.raises(BuildError, match="not a directory"):
        fill(tmp_path / "a.txt", "first")
    with pytest.raises(BuildError, match="cannot build into"):
        fill(tmp_path / "a.txt" / "out", "first")
    assert content(tmp_path) == {"a.txt": "mine"}
