"""How good a network is: one loop over images, counters that it is given, and their formulas."""

from recoseg.evaluate.calibration import Calibration
from recoseg.evaluate.loop import Counter, Metric, count, evaluate
from recoseg.evaluate.scores import BoundaryScores, Scores

METRICS: dict[str, type[Metric]] = {"calibration": Calibration}
"""What is measured besides the scores whenever a run is judged; by its name in files of scores."""

__all__ = ["METRICS", "BoundaryScores", "Calibration", "Counter", "Metric", "Scores", "count", "evaluate"]
