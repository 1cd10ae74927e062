"""The subcommand `flashtile minilm`: a whole model, whose attention runs on the engine."""

from __future__ import annotations

import argparse
import io
import json
import sys

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gen.bench import Bench
from gen.engine_attention import EngineAttention
from gen.inputs import InputError, quantise_head
from gen.simulate import SIMULATORS, default_simulator, play
from gen.terminal import check_standard_output, emit, notice, progress
from golden.config import NAMED, EngineConfig, load_config
from golden.heads import MODEL
from golden.job import MAX_LATENCY
from golden.minilm import MAX_TOKENS, Encoder, ModelMissing, SentenceError, float_attention, load_encoder

NOT_EXACT = 1
SHOWN = 50  # characters of a sentence in the report and in errors
OPERANDS = ("q_bytes", "k_bytes", "v_bytes")


def add_minilm(commands, whole) -> None:
    """Add the subcommand to the parser; whole: type of arguments that are whole numbers."""
    parser = commands.add_parser(
        "minilm",
        allow_abbrev=False,
        help="run sentences through a real model, with all of its attention on the simulated engine",
        description=f"Embed sentences with {MODEL}: every attention head of every layer runs on the simulated engine, "
        "is compared with the golden model, and feeds the rest of the model, which is NumPy. Prints how similar the "
        "sentences are, and how near the embeddings are to those of the float model. Exit code 0 if all heads are "
        "bit-exact, 1 if not, 2 for bad input.",
    )
    parser.set_defaults(command=_minilm)
    parser.add_argument("sentences", metavar="SENTENCE", nargs="+", help=f"at most {MAX_TOKENS} tokens each")
    parser.add_argument(
        "--config", metavar="NAME", default="base", help=f"{', '.join(NAMED)}, or a .json file (default: %(default)s)"
    )
    parser.add_argument(
        "--latency",
        metavar="L",
        type=whole,
        default=10,
        help=f"first-word latency of the memory in cycles, 0 to {MAX_LATENCY} (default: %(default)s)",
    )
    parser.add_argument(
        "--simulator", choices=SIMULATORS, help="(default: the first of these that can be used on this machine)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the report")


def _minilm(arguments: argparse.Namespace) -> int:
    check_standard_output()
    config = load_config(arguments.config)
    encoder, ids = _prepare(config, arguments.sentences, arguments.latency)
    simulator = arguments.simulator or default_simulator()
    heads = len(ids) * encoder.layers * encoder.heads
    with progress("simulating", "heads") as advance:

        def script(bench: Bench):
            bench.restart()
            tell = advance and (lambda done: advance(done, heads))
            attention = EngineAttention(config, bench, arguments.latency, tell)
            return attention, [attention.embed(encoder, part) for part in ids]

        attention, embeddings = play(config, script, simulator, notice=notice)
    summary = _summary(arguments, config, simulator, encoder, ids, attention, np.stack(embeddings))
    emit(json.dumps(summary, allow_nan=False) if arguments.json else _text(summary, config, sys.stdout.isatty()))
    return 0 if summary["bit_exact"] else NOT_EXACT


def _prepare(config: EngineConfig, sentences: list[str], latency: int) -> tuple[Encoder, list[list[int]]]:
    """The model, and the tokens of every sentence; InputError or JobError for what cannot be run."""
    for number, sentence in enumerate(sentences, 1):
        if not sentence.strip():
            raise InputError(f"sentence {number} is {sentence!r}, which is empty; give at least one word")
    try:
        encoder = load_encoder()
    except ModelMissing as error:
        raise InputError(str(error)) from None
    dim = encoder.head_dim
    if dim > config.max_dim:
        enough = ", ".join(name for name, named in NAMED.items() if named.max_dim >= dim)
        raise InputError(
            f"the heads of {MODEL} have dimension {dim}, more than the {config.max_dim} of {config.name} (max_dim); "
            f"use one of {enough}"
        )
    ids = []
    for number, sentence in enumerate(sentences, 1):
        try:
            ids.append(encoder.tokens(sentence))
        except SentenceError as error:
            raise InputError(f"sentence {number}, {_short(sentence)!r}, {error}") from None
        if len(ids[-1]) > config.max_keys:
            raise InputError(
                f"sentence {number}, {_short(sentence)!r}, has {len(ids[-1])} tokens, more than the {config.max_keys} "
                f"of {config.name} (max_keys); shorten it or use a configuration with more keys"
            )
        # Memory and latency: better now than after the sentences before.
        quantise_head(config, np.zeros((3, len(ids[-1]), dim)), latency=latency)
    return encoder, ids


def _summary(arguments, config, simulator, encoder, ids, attention, embeddings) -> dict:
    """The report as an object for JSON.

    similarity: dot product of every two embeddings from the engine. cosine: of each with that of the float model.
    cycles, bytes: sums over all heads. mismatch: null, or what differs first from golden.
    """
    floats = np.stack([encoder.embed(part, float_attention) for part in ids])
    engine, predicted = attention.engine, attention.predicted
    return {
        "bit_exact": attention.mismatch is None,
        "mismatch": attention.mismatch,
        "simulator": simulator,
        "config": config.name,
        "model": MODEL,
        "latency": arguments.latency,
        "sentences": arguments.sentences,
        "tokens": [len(part) for part in ids],
        "heads": attention.heads,
        "similarity": (embeddings @ embeddings.T).tolist(),
        "cosine": (embeddings * floats).sum(axis=1).tolist(),
        "cycles": {
            "busy": engine["busy"],
            "compute": engine["compute"],
            "predicted": predicted["busy"],
            "predicted_compute": predicted["compute"],
        },
        "bytes": {
            "read": sum(engine[name] for name in OPERANDS),
            "written": engine["o_bytes"],
            "predicted": sum(predicted[name] for name in (*OPERANDS, "o_bytes")),
        },
        "clipped": attention.clipped,
        "saturated": bool(engine["saturations"]),
    }


def _text(summary: dict, config: EngineConfig, terminal: bool) -> str:
    """A summary as text for people: coloured for a terminal, else plain and at least 80 columns wide."""
    count = len(summary["sentences"])
    width = None if terminal else max(80, 12 + 7 * count)
    console = Console(
        file=io.StringIO(), force_terminal=terminal, width=width, highlight=False, markup=False, emoji=False
    )
    if summary["bit_exact"]:
        verdict = Text("yes: output, m, l and all counters equal the golden model", style="bold green")
    else:
        verdict = Text(f"NO: {summary['mismatch']}", style="bold red")
    arrays = f"two {config.array_depth}x{config.array_keys} arrays, {config.word_bytes}-byte memory port"
    heading = _grid("<<")
    for row in (
        ("model", f"{summary['model']}, its attention on the engine, the rest in NumPy"),
        ("engine", f"{config.name}: {config.element}, {arrays}"),
        ("run", f"{summary['heads']} heads, latency {summary['latency']}"),
        ("simulator", summary["simulator"]),
        ("bit-exact", verdict),
    ):
        heading.add_row(*row)
    table = _grid(">>><")
    table.add_row("", "tokens", "cosine", "with the embedding of the float model")
    for number, row in enumerate(zip(summary["tokens"], summary["cosine"], summary["sentences"], strict=True), 1):
        table.add_row(str(number), str(row[0]), f"{row[1]:.6f}", _short(row[2]))
    matrix = _grid("<" + ">" * count)
    matrix.add_row("similarity", *(str(number + 1) for number in range(count)))
    for number, row in enumerate(summary["similarity"], 1):
        matrix.add_row(f"{number:>10}", *(f"{value:.3f}" for value in row))
    cycles, moved = summary["cycles"], summary["bytes"]
    total = moved["read"] + moved["written"]
    costs = _grid("<><")
    costs.add_row("cycles", f"{cycles['busy']:,}", f"cycle model {cycles['predicted']:,}")
    parts = f"{moved['read']:,} read, {moved['written']:,} written"
    costs.add_row("bytes", f"{total:,}", f"model {moved['predicted']:,}; {parts}")
    for part in (heading, table, matrix, costs):
        console.print(part)
        console.print()
    if summary["clipped"]:
        console.print(Text(f"{summary['clipped']:,} values were out of range and clipped", style="yellow"))
    if summary["saturated"]:
        console.print(Text("scores left the range of the datapath and were saturated", style="yellow"))
    return "\n".join(line.rstrip() for line in console.file.getvalue().rstrip().splitlines())


def _grid(columns: str) -> Table:
    """An empty grid; columns: the alignment of each, < or >."""
    grid = Table.grid(padding=(0, 2))
    for column in columns:
        grid.add_column(justify="right" if column == ">" else "left", no_wrap=column == ">", overflow="fold")
    return grid


def _short(sentence: str) -> str:
    """The start of a sentence, on one line, in characters that the standard output has."""
    text = "".join(letter if letter.isprintable() else " " for letter in " ".join(sentence.split()))
    text = text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
