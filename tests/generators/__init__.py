"""Generated pipelines, events and batches, close to every boundary that there is.

Out comes a `Case`: a described pipeline, the rows of its input and the batches to run. Promised: `id`
is unique, and all finite numbers are such that their sums are exact in any order.
"""

from tests.generators.aggregates import CATALOGUE, Column, condition_of, expression_of
from tests.generators.cases import Case, cases
from tests.generators.rows import SECOND, events_of

__all__ = ["CATALOGUE", "SECOND", "Case", "Column", "cases", "condition_of", "events_of", "expression_of"]
