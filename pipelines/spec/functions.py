"""The functions of Spark 4.1 that are no expression over the row alone, by the reason why not.

A test goes through all functions that Spark itself lists, and holds that none is forgotten.
"""

from __future__ import annotations

RANDOM = frozenset(
    [
        "aes_encrypt",
        "monotonically_increasing_id",
        "rand",
        "randn",
        "random",
        "randstr",
        "shuffle",
        "spark_partition_id",
        "uniform",
        "uuid",
    ]
)
"""`aes_encrypt` salts what it encrypts; a seed does not help, for it depends on how the rows are cut."""
CLOCK = frozenset(
    [
        "curdate",
        "current_date",
        "current_time",
        "current_timestamp",
        "localtimestamp",
        "now",
        "unix_timestamp",
    ]
)
"""`unix_timestamp` only without arguments."""
CONTEXT = frozenset(
    [
        "current_catalog",
        "current_database",
        "current_schema",
        "current_timezone",
        "current_user",
        "input_file_block_length",
        "input_file_block_start",
        "input_file_name",
        "session_user",
        "user",
        "version",
    ]
)
OUTSIDE = frozenset(
    [
        "from_protobuf",
        "java_method",
        "python_worker_logs",
        "reflect",
        "to_protobuf",
        "try_reflect",
    ]
)
"""Those of Protobuf read the file that describes it."""
WITHOUT_OPTIONS = {"from_avro": 2, "from_xml": 2, "schema_of_avro": 1, "schema_of_xml": 1}
"""Functions that take options after so many arguments, of which one names the file or address of a schema."""
AGGREGATE = frozenset(
    [
        "any",
        "any_value",
        "approx_count_distinct",
        "approx_percentile",
        "approx_top_k",
        "approx_top_k_accumulate",
        "approx_top_k_combine",
        "array_agg",
        "avg",
        "bit_and",
        "bit_or",
        "bit_xor",
        "bitmap_and_agg",
        "bitmap_construct_agg",
        "bitmap_or_agg",
        "bool_and",
        "bool_or",
        "collect_list",
        "collect_set",
        "corr",
        "count",
        "count_if",
        "count_min_sketch",
        "covar_pop",
        "covar_samp",
        "every",
        "first",
        "first_value",
        "grouping",
        "grouping_id",
        "histogram_numeric",
        "hll_sketch_agg",
        "hll_union_agg",
        "kll_merge_agg_bigint",
        "kll_merge_agg_double",
        "kll_merge_agg_float",
        "kll_sketch_agg_bigint",
        "kll_sketch_agg_double",
        "kll_sketch_agg_float",
        "kurtosis",
        "last",
        "last_value",
        "listagg",
        "max",
        "max_by",
        "mean",
        "median",
        "min",
        "min_by",
        "mode",
        "percentile",
        "percentile_approx",
        "percentile_cont",
        "percentile_disc",
        "regr_avgx",
        "regr_avgy",
        "regr_count",
        "regr_intercept",
        "regr_r2",
        "regr_slope",
        "regr_sxx",
        "regr_sxy",
        "regr_syy",
        "schema_of_variant_agg",
        "skewness",
        "some",
        "std",
        "stddev",
        "stddev_pop",
        "stddev_samp",
        "string_agg",
        "sum",
        "theta_intersection_agg",
        "theta_sketch_agg",
        "theta_union_agg",
        "try_avg",
        "try_sum",
        "var_pop",
        "var_samp",
        "variance",
    ]
)
WINDOW = frozenset(
    [
        "cume_dist",
        "dense_rank",
        "lag",
        "lead",
        "nth_value",
        "ntile",
        "percent_rank",
        "rank",
        "row_number",
        "session_window",
        "window",
        "window_time",
    ]
)
ROWS = frozenset(
    [
        "collations",
        "explode",
        "explode_outer",
        "inline",
        "inline_outer",
        "json_tuple",
        "posexplode",
        "posexplode_outer",
        "range",
        "sql_keywords",
        "stack",
        "variant_explode",
        "variant_explode_outer",
    ]
)

ROW_ALONE = "allowed is what depends on the row alone"
WHY: dict[str, str] = {
    **dict.fromkeys(RANDOM | CLOCK | CONTEXT, f"is not the same in a second run; {ROW_ALONE}"),
    **dict.fromkeys(OUTSIDE, f"reaches outside the row; {ROW_ALONE}"),
    **dict.fromkeys(AGGREGATE, f"aggregates several rows; {ROW_ALONE}"),
    **dict.fromkeys(WINDOW, f"looks at other rows; {ROW_ALONE}"),
    **dict.fromkeys(ROWS, f"makes several rows of one; {ROW_ALONE}"),
}
"""Why each of them is refused, and what is allowed."""

WITHOUT_PARENTHESES = frozenset(
    [
        "current_date",
        "current_time",
        "current_timestamp",
        "current_user",
        "localtimestamp",
        "session_user",
        "user",
    ]
)
"""Those that Spark also calls where they stand bare, or in backquotes, and no column is so called."""
LIKE_COLUMNS = frozenset(["session_user", "user"])
"""Those of them that a column is likely called: only beside the columns can they be told apart."""
ONLY_WITHOUT_ARGUMENTS = frozenset(["unix_timestamp"])
