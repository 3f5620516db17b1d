"""Tests of the gates: what is expected of rows, and who says so."""
