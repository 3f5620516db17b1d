"""The command `sash`: what a person or a scheduler types.

In come words, out go a page on standard output, messages on standard error and an exit code. Promised: an
error is one paragraph that says what to do, and a command that needs no Spark starts none.
"""
