"""The Airflow DAG of airport_traffic.yml. The flights end with 2013, and so does its schedule."""

from datetime import UTC, datetime

from pipelines.orchestration import windowed_dag

dag = windowed_dag("airport_traffic.yml", end_date=datetime(2014, 1, 1, tzinfo=UTC))
