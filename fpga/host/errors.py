"""What goes wrong between a host and its board."""

from __future__ import annotations


class DeviceError(RuntimeError):
    """A device that cannot be reached, is not what is expected, or did not do its job; one sentence with the remedy."""


class DeviceBusy(DeviceError):
    """A run that has not ended in time."""
