"""Where an operand ends, against the sum without any width."""

import random

import pytest

from hw.extent import extent
from hw.signals import bit, unsigned
from tests.hw.harness import BACKENDS, run


def check(sums, memory_words, product_bits, backend):
    """sums: (address, words, [(product, far), ...]), one addition a cycle, with idle cycles in between."""
    address_bits = (memory_words - 1).bit_length()
    columns = {name: [] for name in ("load", "add", "address", "words", "product", "too_far")}
    expected = []

    def cycle(**values):
        for name, column in columns.items():
            column.append(values.get(name, 1 if name in ("address", "words", "product", "too_far") else 0))

    for address, words, products in sums:
        cycle(load=1, add=1, address=address, words=words, product=3)
        total, gone = address + words, False
        for product, far in products:
            cycle(add=1, product=product, too_far=far)
            total, gone = total + product, gone or bool(far)
            cycle()
        cycle()
        expected.append((len(columns["load"]), total, gone or total > memory_words))
    ports = {
        "load": bit(), "address": unsigned(address_bits), "words": unsigned(5), "add": bit(),
        "product": unsigned(product_bits), "too_far": bit(), "after": unsigned(address_bits + 1), "outside": bit(),
    }  # fmt: skip
    parameters = {"memory_words": memory_words, "fixed_words": 0}
    trace = run(extent, ports, columns, ["after", "outside"], backend, parameters, after=1)
    for cycle_, total, outside in expected:
        assert trace["outside"][cycle_] == outside, (cycle_, total)
        if not outside:
            assert trace["after"][cycle_] == total


@BACKENDS
def test_around_the_end_of_memory(backend):
    """By the words alone, and by one product or two."""
    sums = []
    for over in (-2, -1, 0, 1, 2):
        for address, words in ((255, 1 + over), (250, 6 + over), (0, 20)):
            left = 256 + over - address - words
            if words >= 0 and left >= 0:
                sums += [(address, words, [(left, 0)]), (address, words, [(left // 2, 0), (left - left // 2, 0)])]
        if 1 + over >= 0:
            sums.append((255, 1 + over, []))
    check(sums, 256, 20, backend)


@BACKENDS
def test_what_is_beyond_stays_there(backend):
    """However large: no sum wraps around into the memory again."""
    top = (1 << 20) - 1
    sums = [(0, 1, [(product, 0), (0, 0)]) for product in (256, 511, 512, 513, 1023, 1024, 1 << 19, top, top - 511)]
    sums += [(200, 31, [(512 - 231, 0), (512, 0)]), (3, 2, [(255, 0), (255, 0), (255, 0)])]
    sums += [(0, 1, [(top, 0), (top, 0)]), (255, 31, [(top, 0), (1, 0)]), (0, 1, [(500, 0), (20, 0), (0, 0)])]
    check(sums, 256, 20, backend)


@BACKENDS
def test_factors_that_are_too_large(backend):
    check([(0, 1, [(0, 1)]), (0, 1, [(0, 0)]), (0, 1, [(0, 1), (0, 0)]), (0, 1, [(5, 0), (0, 1)])], 256, 20, backend)


@BACKENDS
@pytest.mark.parametrize("memory_words", [128, 4096])
def test_random_sums(memory_words, backend):
    rng = random.Random(memory_words)
    sums = []
    for _ in range(150):
        products = [(rng.randrange(rng.choice((5, 64, memory_words, 1 << 20))), int(rng.random() < 0.05)) for _ in "ab"]
        sums.append((rng.randrange(memory_words), rng.randrange(32), products))
    check(sums, memory_words, 20, backend)
