"""Which Spark the tasks of a run use: one that an Airflow connection or `SASH_SPARK` names, or else the
run's own.

An address may hold a token, so it is looked up in every task and never handed on between them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Protocol
from urllib.parse import quote

from pipelines.errors import CorrectTheCall

CONNECTION = "sash_spark"
"""The connection that is used where it exists, without being named."""


MASTER = re.compile(r"local(\[.*\])?|yarn")
"""A Spark master that is no address."""


class Connection(Protocol):
    """What we read of an Airflow connection."""

    conn_id: str
    conn_type: str
    host: str | None
    port: int | None
    login: str | None
    password: str | None

    @property
    def extra_dejson(self) -> Mapping[str, object]: ...


def configured_address(conn_id: str | None) -> str | None:
    """The address of the Spark that is configured, or `None` for the embedded one.

    Raises `CorrectTheCall` when `conn_id` names no connection, or one to something else.
    """
    connection = _find(conn_id or CONNECTION)
    if connection is not None:
        return address_of(connection)
    if conn_id is not None:
        raise CorrectTheCall(
            f"Airflow has no connection `{conn_id}`, which `spark_conn_id` names; make one of type "
            "spark_connect or spark, or leave `spark_conn_id` out to use an embedded Spark"
        )
    return os.environ.get("SASH_SPARK") or None


def address_of(connection: Connection) -> str:
    """`sc://host:port/;…` of a Spark Connect connection, or the master of a Spark one."""
    scheme = {"spark_connect": "sc", "spark": "spark"}.get(connection.conn_type)
    if scheme is None or not connection.host:
        found = f"type {connection.conn_type}" if scheme is None else "no host"
        raise CorrectTheCall(
            f"connection `{connection.conn_id}` has {found}; wanted is one of type spark_connect (host "
            "and port of a Spark Connect server) or spark (the master's host and port, or a master like "
            "local[4])"
        )
    host = connection.host
    if "://" not in host and not (scheme == "spark" and MASTER.fullmatch(host)):
        host = f"{scheme}://{host}"
    address = f"{host}:{connection.port}" if connection.port else host
    return address + _credentials(connection) if scheme == "sc" else address


def _credentials(connection: Connection) -> str:
    extra = connection.extra_dejson
    known = {"user_id": connection.login, "token": connection.password, "use_ssl": extra.get("use_ssl")}
    given = [
        f"{name}={quote(str(value), safe='')}" for name, value in known.items() if value not in (None, "")
    ]
    return "/;" + ";".join(given) if given else ""


def _find(conn_id: str) -> Connection | None:
    from airflow.sdk import (
        Connection as Connections,
    )  # in a task Airflow is there; the rest of the file needs it not
    from airflow.sdk.exceptions import AirflowNotFoundException

    try:
        found: Connection = Connections.get(conn_id)
    except AirflowNotFoundException:
        return None
    return found
