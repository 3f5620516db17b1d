"""Tests of the room that knows Airflow."""
