"""The build cache: an entry appears whole or not at all."""

import threading

import pytest

from gen.cache import cache_folder, cached


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "flashtile"


def write(folder):
    (folder / "file").write_text("built")


def test_an_entry_is_built_once():
    first = cached("key", write, "file")
    assert first.read_text() == "built"
    assert cached("key", lambda folder: pytest.fail("built again"), "file") == first == cache_folder() / "key" / "file"


def test_a_build_that_fails_leaves_nothing(folder):
    def fail(folder):
        write(folder)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached("key", fail, "file")
    assert list(folder.iterdir()) == []
    assert cached("key", write, "file").read_text() == "built"


def test_two_builds_at_once_agree(folder):
    both = threading.Barrier(2)
    places = []

    def build(folder):
        both.wait(10)  # neither has finished when the other starts
        write(folder)

    threads = [threading.Thread(target=lambda: places.append(cached("key", build, "file"))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert places == [folder / "key" / "file"] * 2
    assert [entry.name for entry in folder.iterdir()] == ["key"]


def test_a_damaged_entry_is_built_again():
    cached("key", write, "file").unlink()
    assert cached("key", write, "file").read_text() == "built"
