"""A run as a trace that Perfetto (https://ui.perfetto.dev) and chrome://tracing open.

Format: Trace Event Format, JSON object, complete events ("X"); one cycle is shown as one microsecond.
"""

from __future__ import annotations

import json

from gen.timeline import TRACKS, Slice, slices
from golden.config import EngineConfig
from golden.cycles import Cycles
from golden.job import Job

PROCESS = 1


def trace(config: EngineConfig, job: Job, time: Cycles, title: str) -> dict:
    """The trace of a run as an object for JSON: a track each for DMA, MM1, softmax, MM2 and store.

    Args:
        time: golden.cycles.cycles(config, job). title: the name of the group of tracks.
    """
    events = [_name("process_name", 0, title)]
    for thread, track in enumerate(TRACKS, start=1):
        events += [_name("thread_name", thread, track), _event("thread_sort_index", thread, {"sort_index": thread})]
    events += [_slice(part) for part in slices(config, job, time)]
    return {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {"unit": "1 us is 1 cycle", "busy": time.busy, "compute": time.compute, "config": config.name},
    }


def trace_text(config: EngineConfig, job: Job, time: Cycles, title: str) -> str:
    """The trace as JSON text, an event a line; the same run gives the same bytes."""
    record = trace(config, job, time, title)
    events = ",\n".join(json.dumps(event) for event in record.pop("traceEvents"))
    return f'{{"traceEvents": [\n{events}\n], {json.dumps(record)[1:]}\n'


def _event(name: str, thread: int, arguments: dict) -> dict:
    return {"ph": "M", "pid": PROCESS, "tid": thread, "name": name, "args": arguments}


def _name(what: str, thread: int, name: str) -> dict:
    return _event(what, thread, {"name": name})


def _slice(part: Slice) -> dict:
    return {
        "ph": "X",
        "pid": PROCESS,
        "tid": TRACKS.index(part.track) + 1,
        "ts": part.first,
        "dur": part.end - part.first,
        "cat": part.track,
        "name": _title(part),
        "args": _details(part),
    }


def _title(part: Slice) -> str:
    if part.tile is None:
        return "O"
    if part.kind == "q":
        return f"Q block {part.tile.block}"
    tile = f"tile {part.tile.tile}"
    if part.track == "DMA":
        return f"{part.kind.upper()} {tile}"
    return tile if part.chunk is None else f"{tile} chunk {part.chunk}"


def _details(part: Slice) -> dict:
    if part.tile is None:
        return {}
    tile = part.tile
    details = {"phase": tile.phase.name, "kv_head": tile.kv_head, "block": tile.block, "tile": tile.tile}
    return details | {"rows": tile.streamed, "keys": tile.keys}
