"""Reads value change dumps, as strictly as their grammar."""

from dataclasses import dataclass, field


@dataclass
class Waveform:
    """What a VCD file says: scopes as dotted paths, variables (path, bits) by code, last values and numbers of known
    values by code, last time."""

    scopes: list[str] = field(default_factory=list)
    variables: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    changes: dict[str, int] = field(default_factory=dict)
    time: int = -1

    def code(self, path: str) -> str:
        """The code of the variable of a path."""
        return next(code for code, names in self.variables.items() if path in dict(names))


def read_vcd(path) -> Waveform:
    """Parse a file; AssertionError or ValueError for anything that is no whole VCD."""
    text = path.read_text()
    assert text.endswith("\n")
    header, body = text.split("$enddefinitions $end", 1)
    wave, scope = Waveform(), []
    for command in header.split("$end"):
        words = command.split()
        if not words:
            continue
        if words[0] == "$scope":
            scope.append(words[2])
            wave.scopes.append(".".join(scope))
        elif words[0] == "$upscope":
            scope.pop()
        elif words[0] == "$var":
            wave.variables.setdefault(words[3], []).append((".".join([*scope, words[4]]), int(words[2])))
        else:
            assert words[0] in ("$date", "$version", "$timescale", "$comment"), words
    assert not scope
    for line in body.splitlines():
        if not line or line.startswith("$"):
            continue
        if line[0] == "#":
            assert int(line[1:]) >= wave.time
            wave.time = int(line[1:])
            continue
        value, code = line[1:].split() if line[0] in "bs" else (line[0], line[1:])
        if line[0] != "s":
            assert set(value) <= set("01xz") and len(value) <= wave.variables[code][0][1], line
        wave.values[code] = value
        wave.changes[code] = wave.changes.get(code, 0) + ("x" not in value)
    return wave
