# %% [markdown]
# # A drive fitted to a trace
# The first half of a trace with measured responses teaches, the second half judges. This trace is
# synthetic (examples/README.md), made by the model of the hp-c2247; what the fit begins with has
# the right layout and an arm that is guessed. One's own trace goes through the same lines.

# %%
from pathlib import Path

import diskarm

TRACE = Path(__file__).with_name("synthetic-hp-c2247.csv")
ROWS = sum(1 for line in TRACE.open() if line[:1] in "RW")
HALF = ROWS // 2

# %%
guess = diskarm.Drive("hp-c2247").edit(
    {
        "mechanics.seek.short": "3.4 ms",
        "mechanics.seek.long": "8.1 ms",
        "mechanics.write_settle": "0.9 ms",
    },
    name="guess",
)
given = diskarm.validate(guess, TRACE, rows=f"{HALF}..")
print(f"as guessed: demerit {given.demerit_ms:.3f} ms over {ROWS - HALF} requests")

# %% [markdown]
# Fitting takes some seconds for thousands of rows.

# %%
fitted = diskarm.calibrate(guess, TRACE, rows=f"..{HALF}", name="mine")
for warning in fitted.warnings:
    print("warning:", warning)
judged = diskarm.validate(fitted.drive, TRACE, rows=f"{HALF}..")
print(f"fitted: demerit {judged.demerit_ms:.3f} ms")

# %%
Path("mine.toml").write_text(fitted.drive.toml, encoding="utf-8")
print("diskarm drives show mine.toml")
