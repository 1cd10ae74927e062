"""Arguments of a block as ports: what they are called in Verilog, and what tells two instances apart."""

from __future__ import annotations

import copy
import inspect

from myhdl import Signal, SignalType


def bound_arguments(function, positional, named) -> dict[str, object]:
    bound = inspect.signature(function).bind(*positional, **named)
    bound.apply_defaults()
    return dict(bound.arguments)


def is_list_of_signals(value) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(item, SignalType) for item in value)


def is_bundle(value) -> bool:
    return not isinstance(value, SignalType) and any(
        isinstance(item, SignalType) for item in getattr(value, "__dict__", {}).values()
    )


def flat_signals(arguments: dict[str, object]) -> dict[str, object]:
    """Signals by the names that conversion gives them: those of a bundle behind its name."""
    flat = {}
    for name, value in arguments.items():
        if isinstance(value, SignalType):
            flat[name] = value
        elif is_bundle(value):
            flat |= {
                f"{name}_{inner}": signal for inner, signal in vars(value).items() if isinstance(signal, SignalType)
            }
    return flat


def _fresh(signal):
    value = signal._init
    return Signal(bool(0)) if isinstance(value, bool) else Signal(copy.deepcopy(value))


def fresh_arguments(arguments):
    fresh = {}
    for name, value in arguments.items():
        if isinstance(value, SignalType):
            value = _fresh(value)
        elif is_bundle(value):
            bundle = copy.copy(value)
            for inner, signal in vars(value).items():
                if isinstance(signal, SignalType):
                    setattr(bundle, inner, _fresh(signal))
            value = bundle
        fresh[name] = value
    return fresh


def _shape(value):
    """What tells one argument from another; a string of it is part of a module's name."""
    if isinstance(value, SignalType):
        kind = "b" if isinstance(value._init, bool) else "s" if value.min is not None and value.min < 0 else "u"
        return f"{kind}{len(value)}"
    if is_bundle(value):
        return type(value).__name__, tuple((name, _shape(signal)) for name, signal in vars(value).items())
    return value


def shape_key(function, arguments) -> tuple:
    return function.__module__, function.__name__, tuple((name, _shape(value)) for name, value in arguments.items())
