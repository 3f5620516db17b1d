"""The Airflow DAG that keeps the tables of all pipelines in this folder small. It has no schedule yet."""

from pipelines.orchestration import upkeep_dag

dag = upkeep_dag(schedule=None)
