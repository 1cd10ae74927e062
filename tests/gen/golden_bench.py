"""Stands in for the testbench of a simulated engine."""

from gen.simulate import EngineResult
from golden.predict import predict


class GoldenBench:
    """Drives an engine that does what golden predicts, but for one counter that is 1 too high.

    wrong: number of the run and name of the counter, or None.
    """

    def __init__(self, config, wrong=None):
        self.config, self.wrong, self.runs = config, wrong, 0

    def restart(self):
        self.runs = 0

    def run(self, run, limit):
        prediction = predict(self.config, run.job, run.q, run.k, run.v)
        result, counters = prediction.result, dict(prediction.counters)
        if self.wrong and self.wrong[0] == self.runs:
            counters[self.wrong[1]] += 1
        self.runs += 1
        assert limit > counters["busy"]
        return EngineResult(result.output, result.maximum, result.total, None, counters)
