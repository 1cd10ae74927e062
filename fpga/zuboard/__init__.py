"""Avnet ZUBoard 1CG: a Zynq UltraScale+ XCZU1CG-1SBVA484E."""
