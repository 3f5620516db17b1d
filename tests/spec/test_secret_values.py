"""What a spec keeps secret is found by the names of options and in addresses, and hidden in any text."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.spec import hide, load, secrets_of
from tests.spec.conftest import Refused

SPEC = """
name: orders
source:
  format: jdbc
  event_time: at
  options:
    url: "jdbc:postgresql://shop:in-the-url@db/orders?ssl=true"
    dbtable: orders
    user: shop
    password: in-an-option
    fs.s3a.secret.key: a-key
    sasl: told
key: [shop]
aggregates: {orders: count}
windows: {hourly: {tumbling: 1 hour}}
"""


def test_secrets_are_found_and_hidden(tmp_path: Path) -> None:
    path = tmp_path / "orders.yml"
    path.write_text(SPEC)
    pipeline = load(path)
    secrets = secrets_of(pipeline)
    assert set(secrets) == {"in-the-url", "in-an-option", "a-key"}
    said = "cannot reach jdbc:postgresql://shop:in-the-url@db/orders as shop, in-an-option"
    assert hide(said, secrets) == "cannot reach jdbc:postgresql://shop:***@db/orders as shop, ***"
    assert "in-an-option" not in repr(pipeline)


@pytest.mark.parametrize(
    "name",
    [
        "es.net.http.auth.pass",
        "kafka.ssl.keystore.key",
        "encryptionKey",
        "masterKey",
        "kafka.basic.auth.user.info",
        "redis.auth",
        "auth",
        "db_pass",
        "userPwd",
        "jwt",
        "decryptionKey",
        "OAuthPvtKey",
        "passcode",
    ],
)
def test_options_of_many_readers_are_known_for_secrets(tmp_path: Path, name: str) -> None:
    path = tmp_path / "orders.yml"
    path.write_text(SPEC.replace("password:", f"{name}:"))
    assert "in-an-option" in secrets_of(load(path))


@pytest.mark.parametrize(
    ("address", "hidden"),
    [
        ("jdbc:postgresql://u:pa&s;s@db/orders", "jdbc:postgresql://u:***@db/orders"),
        ("jdbc:oracle:thin:scott/tiger@db:1521", "jdbc:oracle:thin:scott/***@db:1521"),
        ("jdbc:oracle:thin:scott/ti@ger@//db:1521/x", "jdbc:oracle:thin:scott/***@//db:1521/x"),
        ("jdbc:oracle:oci:scott/tiger@db", "jdbc:oracle:oci:scott/***@db"),
        ("mongodb://u:p@ss@db/orders", "mongodb://u:***@db/orders"),
        ("jdbc:postgresql://db/x?user=u&password=P@ssw0rd", "jdbc:postgresql://db/x?user=u&password=***"),
        ("jdbc:sqlsrver://db:1433;user=sa;password=P@ssw0rd", "jdbc:sqlsrver://db:1433;user=sa;password=***"),
        ("sc://spark:15002/;token=abc==", "sc://spark:15002/;token=***"),
        ("Endpoint=sb://bus;SharedAccessKey=Ab+C/d=", "Endpoint=sb://bus;SharedAccessKey=***"),
        ('required username="u" password="pa;ss";', 'required username="u" password=***;'),
        ("required username='u' password='two words';", "required username='u' password=***;"),
        ("hdfs://namenode:8020/data/flights", "hdfs://namenode:8020/data/flights"),
        ("http://namenode:8020/data/a@b", "http://namenode:8020/data/a@b"),
        ("s3a://AKIA:se/cr+et@events/2013", "s3a://AKIA:***@events/2013"),
        ("jdbc:sqlserver://db;password={a;b};encrypt=true", "jdbc:sqlserver://db;password=***;encrypt=true"),
        (
            "jdbc:sqlserver://db;password={pa}}ss;word};encrypt=1",
            "jdbc:sqlserver://db;password=***;encrypt=1",
        ),
        (r'required username="u" password="pa\"ss";', 'required username="u" password=***;'),
        ("jdbc:sqlserver://db; user = sa; Password = P@ss", "jdbc:sqlserver://db; user = sa; Password = ***"),
        ("jdbc:spark://db;AuthMech=11;OAuthPvtKey=k/e+y", "jdbc:spark://db;AuthMech=11;OAuthPvtKey=***"),
        ("jdbc:snowflake://db/?user=u&passcode=123456", "jdbc:snowflake://db/?user=u&passcode=***"),
        (
            "https://storage/x?X-Goog-Expires=9&X-Goog-Signature=5c",
            "https://storage/x?X-Goog-Expires=9&X-Goog-Signature=***",
        ),
        ("where: no_pass = 'x' and token = other", "where: no_pass = 'x' and token = other"),
        (
            "https://a.blob.core.windows.net/c?sv=2&sig=Ab%2B&se=3",
            "https://a.blob.core.windows.net/c?sv=2&sig=***&se=3",
        ),
    ],
)
def test_what_looks_like_a_secret_in_an_address_is_hidden_without_a_spec(address: str, hidden: str) -> None:
    assert hide(address, ()) == hidden


def test_a_password_in_an_address_where_a_mapping_belongs_is_not_told(refused: Refused) -> None:
    problems = refused(("key: [city]", "key: 'jdbc:postgresql://u:hunter2@h/db'"))
    assert any("jdbc:postgresql://u:***@h/db" in it for it in problems), problems
    assert not any("hunter2" in it for it in problems)


def test_a_password_behind_a_forgotten_blank_is_not_told(refused: Refused) -> None:
    problems = refused(
        ("event_time: at", "event_time: at, token:zzzz9, options: {user: me, password:hunter2}")
    )
    assert any("unknown key `token:…`" in it for it in problems), problems
    assert any("source.options.password:…: found nothing" in it for it in problems), problems
    assert not any("hunter2" in it or "zzzz9" in it for it in problems)


@pytest.mark.parametrize("forgotten", ["password hunter2", "passwd=hunter2"])
def test_a_password_behind_a_forgotten_colon_is_not_told(refused: Refused, forgotten: str) -> None:
    (problem,) = refused(("event_time: at", f"event_time: at, options: {{user: me, {forgotten}}}"))
    assert "hunter2" not in problem and "found nothing" in problem


def test_a_quoted_password_is_hidden_without_its_quotes_too(tmp_path: Path) -> None:
    path = tmp_path / "orders.yml"
    path.write_text(SPEC.replace("sasl: told", 'sasl: \'required username="u" password = "p@ss";\''))
    assert hide("no such user: p@ss", secrets_of(load(path))) == "no such user: ***"


def test_a_password_of_several_words_is_hidden_where_an_option_has_it(tmp_path: Path) -> None:
    path = tmp_path / "orders.yml"
    address = "jdbc:sqlserver://db;user=sa;Password = correct horse battery;encrypt=true"
    path.write_text(SPEC.replace("sasl: told", f"url2: '{address}'"))
    said = hide(f"no such database: {address}; mend it", secrets_of(load(path)))
    assert said == "no such database: jdbc:sqlserver://db;user=sa;Password = ***;encrypt=true; mend it"


def test_a_flag_is_no_secret_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "orders.yml"
    path.write_text(SPEC.replace("sasl: told", "useToken: true"))
    assert "true" not in secrets_of(load(path))
