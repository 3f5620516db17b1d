"""What a window is: which windows hold an instant, and when each is due and closed.

In come instants or frames as columns of microseconds, out go the bounds of windows; no table is touched.
Promised: floors are true floors, and every instant of a frame lies in the same windows.
"""

from pipelines.windows.lateness import closed_over, closes_us, windows_kept, windows_missed
from pipelines.windows.sliding import Covered, covered_by, starts_of

__all__ = ["Covered", "closed_over", "closes_us", "covered_by", "starts_of", "windows_kept", "windows_missed"]
