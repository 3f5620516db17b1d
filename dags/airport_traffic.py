"""The Airflow DAG of airport_traffic.yml. The flights end with 2013, so it is triggered and not scheduled."""

from pipelines.orchestration import windowed_dag

dag = windowed_dag("airport_traffic.yml", schedule=None)
