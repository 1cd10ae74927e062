"""The command `flashtile generate`: what it writes, what it refuses, and the core under FuseSoC."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gen import cli, core_folder
from gen.verilator import verilator_binary
from golden.config import NAMED, EngineConfig


@pytest.fixture
def generate(capsys):
    """Run the command; returns (exit code, stdout, stderr)."""

    def command(*arguments):
        code = cli.main(["generate", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


@pytest.fixture
def refused(generate):
    """Run with bad input; returns the sentence."""

    def command(*arguments):
        code, out, err = generate(*arguments)
        assert (code, out) == (2, "")
        assert err.startswith("flashtile: error: ") and err.count("\n") == 1
        return err.removeprefix("flashtile: error: ").rstrip("\n")

    return command


def test_the_folder_holds_a_core(generate, tmp_path):
    folder = tmp_path / "deep" / "core"
    code, out, err = generate("tiny", "-o", folder, "--vectors", 2)
    assert (code, err) == (0, "")
    assert out.startswith(f"{folder}: ") and "top module engine in engine.v, 2 test vectors from seed 0" in out
    others = {"README.md", "config.json", "filelist.f", "filelist_system.f", "flashtile_tiny.core", "vectors"}
    names = {path.name for path in folder.iterdir()}
    assert others < names and all(name.endswith(".v") for name in names - others)
    assert sorted(os.listdir(folder / "vectors")) == [
        f"00{number}{end}" for number in range(2) for end in (".json", "_after.hex", "_before.hex")
    ]
    assert os.listdir(tmp_path / "deep") == ["core"]


def test_json(generate, tmp_path):
    code, out, _ = generate("tiny", "-o", tmp_path / "core", "--vectors", 1, "--seed", 5, "--json")
    summary = json.loads(out)
    assert code == 0
    assert [summary[key] for key in ("config", "top", "vectors", "seed")] == ["tiny", "engine", 1, 5]
    assert all((tmp_path / "core" / name).is_file() for name in summary["files"])


def test_an_earlier_core_is_replaced_whole(generate, tmp_path):
    assert generate("tiny", "-o", tmp_path / "core", "--vectors", 3)[0] == 0
    assert generate("q88", "-o", tmp_path / "core", "--flat")[0] == 0
    assert generate("q88", "-o", tmp_path / "new", "--flat")[0] == 0
    assert sorted(os.listdir(tmp_path / "core")) == sorted(os.listdir(tmp_path / "new"))


def test_into_the_present_folder(generate, tmp_path, monkeypatch):
    (tmp_path / ".flashtile-abandoned").mkdir()
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert generate("tiny", "-o", ".", "--flat")[0] == 0
        assert Path("engine.v").is_file() and not list(Path().glob(".flashtile-*"))


def test_a_configuration_of_ones_own(generate, tmp_path):
    own = EngineConfig("mine", "int8", 2, 2, 4, 8, 4, 64, 4096)
    (tmp_path / "mine.json").write_text(own.to_json())
    assert generate(tmp_path / "mine.json", "-o", tmp_path / "core")[0] == 0
    assert EngineConfig.from_file(tmp_path / "core" / "config.json") == own
    assert (tmp_path / "core" / "flashtile_mine.core").is_file()


@pytest.mark.parametrize(
    ("name", "content"), [("notes.txt", "mine"), ("vectors/notes.txt", "mine"), ("other.v", "module other; endmodule")]
)
def test_files_of_others_are_not_touched(generate, refused, tmp_path, name, content):
    folder = tmp_path / "core"
    assert generate("tiny", "-o", folder, "--vectors", 1)[0] == 0
    (folder / name).write_text(content)
    before = sorted(path for path in tmp_path.rglob("*"))
    message = f"'{folder}' holds '{name}', which flashtile did not write; give a new or empty folder"
    assert refused("q88", "-o", folder) == message
    assert sorted(path for path in tmp_path.rglob("*")) == before and (folder / name).read_text() == content


def test_refusals(refused, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    assert refused("tiny", "-o", tmp_path / "file") == (
        f"cannot write into '{tmp_path / 'file'}': it is not a directory; give another name"
    )
    assert refused("tiny", "-o", tmp_path / "file" / "core") == (
        f"cannot make '{tmp_path / 'file' / 'core'}': '{tmp_path / 'file'}' is not a directory; give another name"
    )
    core = tmp_path / "core"
    assert "--vectors must be between 0 and 999, not 1000" in refused("tiny", "-o", core, "--vectors", 1000)
    assert "--seed must be between 0 and" in refused("tiny", "-o", core, "--seed", -1)
    assert "'x' is not a whole number" in refused("tiny", "-o", core, "--vectors", "x")
    assert "huge" in refused("huge", "-o", core)
    assert "-o/--output" in refused("tiny")
    assert refused("tiny", "-o", "") == "the name of the folder is empty; give a new or empty folder"
    monkeypatch.setattr("gen.hierarchy.MYHDL", "0.10")
    message = refused("tiny", "-o", core)
    assert re.search(r"generated with MyHDL 0\.10, but .* is installed; pip install myhdl==0\.10", message)
    assert os.listdir(tmp_path) == ["file"]


def test_a_failure_leaves_the_earlier_core(generate, refused, tmp_path, monkeypatch):
    assert generate("tiny", "-o", tmp_path / "core")[0] == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "core").iterdir()}

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(core_folder, "readme", full)
    assert "No space left on device; choose a writable place" in refused("q88", "-o", tmp_path / "core")
    assert "No space" in refused("q88", "-o", tmp_path / "deep" / "core")
    monkeypatch.setattr(core_folder, "readme", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    assert generate("q88", "-o", tmp_path / "core")[0] == 130
    assert {path.name: path.read_bytes() for path in (tmp_path / "core").iterdir()} == before
    assert os.listdir(tmp_path) == ["core"]


def test_fusesoc_lints_the_core(generate, tmp_path, monkeypatch):
    """The real fusesoc finds the core, hands its files to Verilator, and Verilator has nothing to say."""
    assert generate("tiny", "-o", tmp_path / "core")[0] == 0
    binary, root = verilator_binary()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "verilator").symlink_to(binary)
    environment = os.environ | {
        "VERILATOR_ROOT": str(root),
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "XDG_CONFIG_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path),
    }  # fmt: skip
    fusesoc = [str(Path(sys.executable).with_name("fusesoc")), "--cores-root", "core"]
    setup = ["--setup", "--tool", "icarus"]
    for target in (["--target", "lint"], setup, ["--target", "system", *setup]):
        command = [*fusesoc, "run", *target, "flashtile:engine:tiny"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and "%Warning" not in done.stdout + done.stderr, done.stdout + done.stderr
    lists = [path.read_text() for path in (tmp_path / "build").rglob("*.scr")]
    assert any("engine_system.v" in text for text in lists) and any("engine_system.v" not in text for text in lists)


def test_the_readme_names_every_port_and_module(generate, tmp_path):
    assert generate("base", "-o", tmp_path / "core")[0] == 0
    text = (tmp_path / "core" / "README.md").read_text()
    engine = (tmp_path / "core" / "engine.v").read_text()
    ports = re.findall(r"^    (?:input|output) .*?(\w+),?(?: +//.*)?$", engine, re.M)
    assert len(ports) > 40 and all(f"| `{port}` |" in text for port in ports)
    modules = {name.removesuffix(".v") for name in (tmp_path / "core" / "filelist.f").read_text().split()}
    outline = text.split("## Modules")[1].split("## Ports")[0]
    assert modules == set(re.findall(r"^    +(\w+)(?: x \d+)?$", outline, re.M))
    assert NAMED["base"].name in text
