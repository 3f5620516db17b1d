"""Rules about the size and the shape of files, functions and names."""

from __future__ import annotations

import ast

from tests.architecture.module import Complaints, Module

MOST_FILE_LINES = 300
MOST_FUNCTION_LINES = 40
MOST_PARAMETERS = 5
MOST_BY_POSITION = 2
FORBIDDEN_VARIABLES = ("df", "ts")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def file_is_short(module: Module) -> Complaints:
    lines = len(module.text.splitlines())
    if lines > MOST_FILE_LINES:
        yield f"{module.path}: {lines} lines"


def functions_are_short(module: Module) -> Complaints:
    for node in module.nodes(ast.FunctionDef, ast.AsyncFunctionDef):
        lines = node.end_lineno - node.lineno + 1
        if lines > MOST_FUNCTION_LINES:
            yield module.says(node, f"{node.name} has {lines} lines")


def functions_take_few_parameters(module: Module) -> Complaints:
    """At most five; `self` does not count."""
    for node in module.nodes(ast.FunctionDef, ast.AsyncFunctionDef):
        count = len(by_position(node)) + len(node.args.kwonlyargs)
        if count > MOST_PARAMETERS:
            yield module.says(node, f"{node.name} takes {count} parameters")


def parameters_after_the_second_are_named(module: Module) -> Complaints:
    """Who reads a call with three values cannot tell them apart."""
    for node in module.nodes(ast.FunctionDef, ast.AsyncFunctionDef):
        unnamed = by_position(node)[MOST_BY_POSITION:]
        if unnamed:
            yield module.says(node, f"{node.name} takes {', '.join(unnamed)} also by position")


def by_position(function: Function) -> list[str]:
    parameters = (*function.args.posonlyargs, *function.args.args)
    return [parameter.arg for parameter in parameters if parameter.arg not in ("self", "cls")]


def variables_have_names(module: Module) -> Complaints:
    """Neither a data frame nor an instant is named after its type."""
    for node in module.nodes(ast.Name, ast.arg):
        name = node.id if isinstance(node, ast.Name) else node.arg
        if name in FORBIDDEN_VARIABLES:
            yield module.says(node, f"`{name}` says nothing: what is one row, which instant is it?")


def begins_with_a_docstring(module: Module) -> Complaints:
    if module.text.strip() and not ast.get_docstring(module.tree):
        yield f"{module.path}: no docstring"


def asserts_nothing(module: Module) -> Complaints:
    for node in module.nodes(ast.Assert):
        yield module.says(node, "assert")
