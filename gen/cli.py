"""The command `flashtile`. Exit codes: 0 done, 1 not bit-exact, 2 bad input, 130 interrupted."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence

import numpy as np

from gen import report
from gen.cli_bench import add_bench
from gen.cli_generate import add_generate
from gen.cli_minilm import add_minilm
from gen.cli_numerics import add_numerics
from gen.core_folder import FolderError
from gen.hierarchy import GenerationError
from gen.inputs import InputError, load_inputs, quantise_head
from gen.outputs import OutputError, check_output, replacing
from gen.simulate import SIMULATORS, EngineFault, Run, SimulatorError, default_simulator, simulate
from gen.terminal import check_standard_output, complain, emit, notice, progress
from golden.config import NAMED, ConfigError, EngineConfig, load_config
from golden.heads import DEFAULT_HEAD, head_names
from golden.job import MAX_LATENCY, JobError
from golden.predict import predict
from golden.presets import preset_names
from golden.quantise import dequantise_output

NOT_EXACT = 1
BAD_INPUT = 2
INTERRUPTED = 130


ERRORS = (ConfigError, JobError, InputError, OutputError, SimulatorError, FolderError, GenerationError)


def main(
    argv: list[str] | None = None,
    more: Sequence[Callable] = (),
    errors: tuple[type[Exception], ...] = (),
) -> int:
    """Run the command line; returns the exit code. Errors are one line on standard error.

    Args:
        more: functions that add a subcommand each, as those of gen do. errors: what is bad input to them.
    """
    try:
        arguments = _parser(more).parse_args(argv)
        return arguments.command(arguments)
    except (*ERRORS, *errors) as error:
        complain(str(error))
        return BAD_INPUT
    except EngineFault as error:
        complain(str(error))
        return NOT_EXACT
    except MemoryError:
        complain("the machine's memory is too small for this run; give a shorter sequence or fewer heads")
        return BAD_INPUT
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED


class _Parser(argparse.ArgumentParser):
    """argparse whose errors are one sentence, without the usage."""

    def error(self, message):
        raise InputError(f"{message}; see {self.prog} --help")


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def _parser(more: Sequence[Callable]) -> argparse.ArgumentParser:
    parser = _Parser(prog="flashtile", description="FlashAttention tile engines for FPGAs.", allow_abbrev=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_run(commands)
    add_bench(commands, _whole)
    add_generate(commands, _whole)
    add_minilm(commands, _whole)
    add_numerics(commands, _whole)
    for add in more:
        add(commands, _whole)
    return parser


def _add_run(commands) -> None:
    parser = commands.add_parser(
        "run",
        allow_abbrev=False,
        help="simulate attention heads on the engine and compare them with the golden model",
        description="Quantise attention heads, run them on the simulated engine, and compare every bit, byte and cycle "
        "with the golden model. Exit code 0 if all are equal, 1 if not, 2 for bad input.",
    )
    parser.set_defaults(command=_run)
    data = parser.add_argument_group("data", f"at most one of these; the head {DEFAULT_HEAD} without")
    data.add_argument("--input", metavar="FILE.npz", help="arrays q, k and v, each [n, d] or each [heads, n, d]")
    data.add_argument("--preset", metavar="NAME", help=", ".join(preset_names()))
    data.add_argument("--head", metavar="NAME", help=f"of a real model: {', '.join(head_names())}")
    data.add_argument("--random", metavar=("N", "D"), nargs=2, type=_whole, help="normal data, N tokens of dimension D")
    data.add_argument("--seed", metavar="S", type=_whole, default=0, help="of --random (default: %(default)s)")
    parser.add_argument(
        "--config", metavar="NAME", default="base", help=f"{', '.join(NAMED)}, or a .json file (default: %(default)s)"
    )
    parser.add_argument("--causal", action="store_true", help="query i sees keys up to i + n_kv - n_q")
    parser.add_argument(
        "--q-rows", metavar="R", type=_whole, help="query rows per block (default: as many as the engine holds)"
    )
    parser.add_argument(
        "--window", metavar="W", type=_whole, help="a query sees the last W keys up to its position (default: all)"
    )
    parser.add_argument(
        "--schedule", choices=("flash", "naive"), default="flash",
        help="scores stay on chip, or visit memory (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--no-overlap", action="store_true", help="do not load the next tile during the present one")
    parser.add_argument(
        "--latency",
        metavar="L",
        type=_whole,
        default=10,
        help=f"first-word latency of the memory in cycles, 0 to {MAX_LATENCY} (default: %(default)s)",
    )
    parser.add_argument(
        "--simulator", choices=SIMULATORS, help="(default: the first of these that can be used on this machine)"
    )
    parser.add_argument("--trace", metavar="FILE.vcd", help="write the waveform of all signals")
    parser.add_argument(
        "--output", metavar="FILE.npz", help="write the engine's output, dequantised, as array o, if it is bit-exact"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the report")


def _run(arguments: argparse.Namespace) -> int:
    check_standard_output()
    config = load_config(arguments.config)
    inputs = load_inputs(config, arguments.input, arguments.preset, arguments.head, arguments.random, arguments.seed)
    _check_files(arguments)
    simulator = arguments.simulator or default_simulator()
    causal = arguments.causal or inputs.causal
    heads = [
        quantise_head(
            config, head, causal, arguments.q_rows, not arguments.no_overlap, arguments.latency, arguments.window,
            arguments.schedule == "naive",
        )
        for head in inputs.heads
    ]
    predictions = [predict(config, head.job, *head.raw) for head in heads]
    results = _simulate(arguments, config, [Run(head.job, *head.raw) for head in heads], simulator)
    runs = [report.HeadRun(*parts) for parts in zip(heads, predictions, results, strict=True)]
    summary = report.build(config, simulator, inputs, runs, arguments.seed)
    if arguments.output is not None and summary["bit_exact"]:
        outputs = [dequantise_output(run.result.output, run.head.steps[2], config) for run in runs]
        with replacing(arguments.output) as partial, open(partial, "xb") as file:
            np.savez(file, o=np.stack(outputs) if inputs.batched else outputs[0])
    if arguments.json:
        emit(json.dumps(summary, allow_nan=False))
    else:
        emit(report.text(summary, config, sys.stdout.isatty()))
    return 0 if summary["bit_exact"] else NOT_EXACT


def _check_files(arguments: argparse.Namespace) -> None:
    """Raise OutputError for an --output or --trace that cannot be written."""
    if arguments.output is not None:
        check_output("--output", arguments.output, "an .npz file", {"the input file": arguments.input})
    if arguments.trace is not None:
        others = {"the input file": arguments.input, "the --output file": arguments.output}
        check_output("--trace", arguments.trace, "a .vcd file", others)
        if not arguments.trace.lower().endswith(".vcd"):
            raise OutputError(f"--trace writes the format VCD, not {arguments.trace!r}; give the name of a .vcd file")


def _simulate(arguments: argparse.Namespace, config: EngineConfig, runs: list[Run], simulator: str):
    with progress("simulating", "cycles") as advance:
        if arguments.trace is None:
            return simulate(config, runs, simulator, advance, notice)
        with replacing(arguments.trace, keep=(EngineFault,)) as partial:
            results = simulate(config, runs, simulator, advance, notice, partial)
            with open(partial, "ab") as file:  # vvp is silent about a full disk
                file.write(b"$comment end of the run $end\n")
            return results


if __name__ == "__main__":
    sys.exit(main())
