"""Windows of a definition that has another shape now: what was published of the old one is taken back."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.finalise.publication import Publication
from pipelines.finalise.results import RESULT_BOUNDS
from pipelines.finalise.retractions import as_panes, as_taken_back
from pipelines.finalise.sessions import renamed, same_place
from pipelines.finalise.triggers import is_published
from pipelines.spec import Pipeline

BROUGHT = "_brought_"


def taken_back(last: DataFrame, *, pipeline: Pipeline, publication: Publication) -> DataFrame:
    """The retract rows of all that stands of the old shapes, in the shape of panes."""
    stands = last.where(F.col("window").isin(list(publication.reshaped)) & is_published())
    retracted = as_taken_back(stands, pipeline.windows, pipeline=pipeline, publication=publication)
    return as_panes(retracted, pipeline, restated=True)


def as_brought(gone: DataFrame, there: DataFrame, *, pipeline: Pipeline) -> DataFrame:
    """The retract rows `gone`, with the timing of the pane that is `there` under the same bounds, if any."""
    place = (*pipeline.key, *RESULT_BOUNDS)
    brings = renamed(there.where("kind = 'insert'"), BROUGHT, pipeline=pipeline, beside=("timing",))
    beside = gone.join(brings, on=same_place(BROUGHT, place), how="left")
    return beside.withColumn("timing", F.coalesce(f"{BROUGHT}timing", "timing")).select(*gone.columns)


def as_if_taken_back(last: DataFrame, *, publication: Publication) -> DataFrame:
    """What was last published, where nothing of the old shapes stands any more."""
    is_old = F.col("window").isin(list(publication.reshaped))
    kind = F.when(is_old, F.lit("retract")).otherwise(F.col("_last.kind"))
    return last.withColumn("_last", F.col("_last").withField("kind", kind))
