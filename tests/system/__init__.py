"""Tests that start real services."""
