"""The specification: number formats, bit-true attention, traffic and cycle models. Imports no hardware."""
