"""The tests mirror `pipelines`; `tests.oracle` tells what is right, `tests.walk` holds all of it to that."""
