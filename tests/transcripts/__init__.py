"""Stories of windows, batch by batch, as sentences: rows in, watermark, panes expected."""
