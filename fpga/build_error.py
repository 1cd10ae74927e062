"""The error of board builds."""


class BuildError(RuntimeError):
    """A build that cannot be done, or that failed; one sentence."""
