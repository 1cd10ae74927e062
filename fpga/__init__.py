"""Boards: one folder each with top, constraints, build and host driver."""
