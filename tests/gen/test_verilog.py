"""The sources of both tops, and the fingerprint that tells them apart."""

import re

from gen.verilog import core, cosimulation_harness, fingerprint, system_sources
from golden.config import EngineConfig

SMALL = EngineConfig("small", "int8", 1, 2, 2, 2, 2, 16, 256)
OTHER = EngineConfig("other", "q8.8", 2, 1, 4, 2, 2, 16, 256)


def test_the_engine_comes_without_its_memory_and_the_system_with_it():
    made = core(SMALL)
    assert made.engine[-1] == "engine.v" and made.system[-1] == "engine_system.v"
    assert set(made.engine) < set(made.system) == set(made.files)
    assert "memory.v" in made.system and "memory.v" not in made.engine
    assert "read_data_valid" in made.files["engine.v"] and "host_write" not in made.files["engine.v"]


def test_leaves_come_first():
    made = core(SMALL)
    seen = set()
    for name in made.system:
        used = set(re.findall(r"^    (\w+) \w+ \($", made.files[name], re.M))
        assert {f"{module}.v" for module in used} <= seen
        seen.add(name)


def test_system_sources_are_files(tmp_path):
    paths = system_sources(SMALL, tmp_path)
    made = core(SMALL)
    assert [path.name for path in paths] == made.system
    assert all(path.read_text() == made.files[path.name] for path in paths)


def test_the_harness_connects_every_port():
    text = cosimulation_harness(SMALL)
    ports = re.findall(r"^    (?:reg|wire) (?:\[\d+:0\] )?(\w+);", text, re.M)
    top = core(SMALL).files["engine_system.v"]
    directions = {name: kind for kind, name in re.findall(r"^    (input|output)\b.*?(\w+),?(?: +//.*)?$", top, re.M)}
    assert set(ports) == set(directions)
    for name, kind in directions.items():
        assert re.search(rf"\b{'reg' if kind == 'input' else 'wire'} (\[\d+:0\] )?{name};", text), name


def test_the_fingerprint_tells_configurations_apart():
    assert fingerprint(SMALL) == fingerprint(SMALL) != fingerprint(OTHER)
