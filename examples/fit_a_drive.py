# %% [markdown]
# # A drive fitted to a trace
# The first half of a trace with measured responses teaches, the second half judges. This trace is
# synthetic (examples/README.md), made by the model itself: there is hardly anything to be learnt,
# and the fit comes out no nearer. One's own trace goes through the same lines.

# %%
from pathlib import Path

import diskarm

TRACE = Path(__file__).with_name("synthetic-hp-c2247.csv")
ROWS = sum(1 for line in TRACE.open() if line[:1] in "RW")
HALF = ROWS // 2

# %%
given = diskarm.validate("hp-c2247", TRACE, rows=f"{HALF}..")
print(f"as given: demerit {given.demerit_ms:.3f} ms over {ROWS - HALF} requests")

# %% [markdown]
# Fitting takes some seconds for thousands of rows.

# %%
fitted = diskarm.calibrate("hp-c2247", TRACE, rows=f"..{HALF}", name="mine")
for warning in fitted.warnings:
    print("warning:", warning)
judged = diskarm.validate(fitted.drive, TRACE, rows=f"{HALF}..")
print(f"fitted: demerit {judged.demerit_ms:.3f} ms")

# %%
Path("mine.toml").write_text(fitted.drive.toml, encoding="utf-8")
print("diskarm drives show mine.toml")
