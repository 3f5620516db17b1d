"""What Sash costs, measured as ratios within one run: machines are shared and noisy."""
