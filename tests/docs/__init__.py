"""The pages of `docs/` that can be run: their examples and their SQL. A page that is wrong fails here."""
