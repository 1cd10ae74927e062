"""The write side: chunks of output rows into memory words."""

import random
from dataclasses import dataclass

import pytest

from golden.formats import OUTPUT_BITS
from hw.ports import WritePort
from hw.signals import bit, unsigned
from hw.writer import writer
from tests.hw.flow import CONFIGS, FLOWS, cycles_of, either
from tests.hw.harness import BACKENDS, pack, run, unpack

OUTPUTS = ("write_valid", "write_address", "write_data", "write_strobe", "pop", "done", "o_bytes")


@dataclass
class Chunk:
    """One chunk with its flags, and the words (address, elements by lane) that it has to become."""

    elements: list
    last_final: int
    last_chunk: int
    last_tile: int
    words: list


def chunks_of_run(config, value_dim, tiles, address, stride, rng):
    """Chunks in the order of P.V: the final rows of each tile for chunk 0, the same rows for chunk 1, and so on."""
    depth, lanes = config.array_depth, config.word_bytes // 2
    row, made = 0, []
    for tile, finals in enumerate(tiles):
        for chunk in range(config.chunks(value_dim)):
            for final in range(finals):
                elements = [rng.getrandbits(OUTPUT_BITS) for _ in range(depth)]
                words = {}
                for index in range(chunk * depth, min(value_dim, (chunk + 1) * depth)):
                    at = (address + (row + final) * stride + index // lanes) % config.memory_words
                    words.setdefault(at, {})[index % lanes] = elements[index - chunk * depth]
                made.append(
                    Chunk(
                        elements, int(final + 1 == finals), int(chunk + 1 == config.chunks(value_dim)),
                        int(tile + 1 == len(tiles)), list(words.items()),
                    )
                )  # fmt: skip
        row += finals
    return made


class Bench:
    """Runs one after the other on one writer; what is pushed waits in a queue of `depth` chunks."""

    def __init__(self, config, depth=16, seed=0):
        self.config, self.depth, self.rng = config, depth, random.Random(seed)
        self.runs, self.taken, self.pushes = [], [], []

    def add(self, value_dim, tiles, address=0, stride=None):
        stride = self.config.output_words(value_dim) if stride is None else stride
        made = chunks_of_run(self.config, value_dim, tiles, address, stride, self.rng)
        self.runs.append((value_dim, address, stride, made))

    def stimulus(self, idle, stalls, fill):
        cycle = 0
        yield {"reset": 1}
        for value_dim, address, stride, made in self.runs:
            yield {
                "reset": 0, "begin_run": 1, "o_address": address, "o_stride": stride,
                "tail_elements": (value_dim - 1) % self.config.array_depth + 1,
            }  # fmt: skip
            cycle, left, queued, words = 0, list(made), 0, []
            filling = fill
            while left or queued:
                filling = filling and bool(left) and queued < self.depth
                push = bool(left) and queued < self.depth and (filling or either(self.rng, idle, 0.3))
                ready = int(not filling and either(self.rng, stalls, 0.4))
                inputs = {"begin_run": 0, "push": int(push), "write_ready": ready}
                if push:
                    chunk = left.pop(0)
                    queued += 1
                    inputs |= {"normalised": pack(chunk.elements, OUTPUT_BITS), "last_final": chunk.last_final}
                    inputs |= {"last_chunk": chunk.last_chunk, "last_tile": chunk.last_tile}
                    self.pushes.append(cycle)
                seen = yield inputs
                if seen["write_valid"] and ready:
                    lanes = unpack(seen["write_data"], OUTPUT_BITS, self.config.word_bytes // 2)
                    strobe = seen["write_strobe"]
                    word = {lane: value for lane, value in enumerate(lanes) if strobe >> lane & 1}
                    words.append((seen["write_address"], word, seen["pop"], seen["done"]))
                else:
                    assert not seen["pop"] and not seen["done"]
                queued -= seen["pop"]
                cycle += 1
                assert cycle < 40 * len(made) * self.config.row_words + 100, "words are missing"
            seen = yield {"push": 0, "write_ready": 1}
            assert not seen["write_valid"]
            self.taken.append((words, seen["o_bytes"]))

    def check(self, backend, idle=False, stalls=False, fill=False):
        config = self.config
        bits = ("reset", "begin_run", "push", "last_final", "last_chunk", "last_tile", "pop", "done")
        write = WritePort(config)
        signals = {name: bit() for name in bits} | {
            "normalised": unsigned(config.array_depth * OUTPUT_BITS), "o_address": unsigned(len(write.address)),
            "o_stride": unsigned(len(write.address)), "tail_elements": unsigned(config.array_depth.bit_length()),
            "write": write, "o_bytes": unsigned(32),
        }  # fmt: skip
        parameters = {"config": config, "depth": self.depth}
        trace = run(writer, signals, lambda: self.stimulus(idle, stalls, fill), OUTPUTS, backend, parameters)
        for (value_dim, _, _, made), (words, o_bytes) in zip(self.runs, self.taken, strict=True):
            expected = []
            for chunk in made:
                expected += [(address, lanes, 0, 0) for address, lanes in chunk.words]
                expected[-1] = (*chunk.words[-1], 1, int(chunk is made[-1]))
            assert words == expected, f"value dimension {value_dim}"
            assert o_bytes == sum(2 * len(lanes) for _, lanes, _, _ in expected)
        return trace


@FLOWS
@pytest.mark.parametrize("name", ["tiny", "q88", "lanes16"])
def test_every_value_dimension(name, idle, stalls, backend):
    """Addresses, strobes, data, pops, done and bytes of runs of one tile and of several; tiles without final rows."""
    bench = Bench(CONFIGS[name])
    for value_dim in range(1, bench.config.max_dim + 1):
        bench.add(value_dim, bench.rng.choice(([1], [2, 1], [1, 3])), address=bench.rng.randrange(2000))
    bench.check(backend, idle, stalls)


@BACKENDS
@pytest.mark.parametrize("name, dims", [("base", (1, 7, 8, 9, 64)), ("wide", (5, 33, 128)), ("banks16", (3, 16)),
                                        ("parts16", (1, 3, 8, 9, 32)), ("smallest", (1,))])  # fmt: skip
def test_other_word_widths(name, dims, backend):
    bench = Bench(CONFIGS[name])
    for value_dim in dims:
        bench.add(value_dim, [3, 2])
    bench.check(backend, idle=True, stalls=True)


@BACKENDS
@pytest.mark.parametrize("value_dim", [4, 16, 13])
def test_a_full_queue(value_dim, backend):
    """As many chunks as fit before the memory takes the first; rows far apart, and addresses that wrap."""
    bench = Bench(CONFIGS["tiny"], depth=8)
    for address in (0, bench.config.memory_words - 20):
        bench.add(value_dim, [6, 11], address, stride=37)
    bench.check(backend, fill=True)


@BACKENDS
@pytest.mark.parametrize("name, value_dim", [("tiny", 16), ("lanes16", 16), ("base", 64)])
def test_a_word_a_cycle(name, value_dim, backend):
    """From 3 cycles after the first push on, without a gap."""
    bench = Bench(CONFIGS[name])
    bench.add(value_dim, [8])
    trace = bench.check(backend)
    valid = cycles_of(trace["write_valid"][2:])
    words = sum(len(chunk.words) for chunk in bench.runs[0][3])
    assert valid == list(range(3, 3 + words))


@BACKENDS
@pytest.mark.parametrize("wait", [0, 1, 2, 3, 4, 9])
def test_reset_with_chunks_in_the_queue(wait, backend):
    """Nothing of a run that reset has cut off is written, and the next run is whole."""
    bench = Bench(CONFIGS["tiny"])
    bench.add(7, [2, 2])
    whole = bench.stimulus

    def cut_off(*flow):
        yield {"reset": 1}
        yield {"reset": 0, "begin_run": 1, "o_address": 9, "o_stride": 3, "tail_elements": 2, "write_ready": 1}
        for _ in range(wait + 3):
            yield {"begin_run": 0, "push": 1, "normalised": 77, "last_final": 0, "last_chunk": 1}
        yield {"push": 0, "reset": 1, "write_ready": 0}
        yield from whole(*flow)

    bench.stimulus = cut_off
    bench.check(backend)
