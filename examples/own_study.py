# %% [markdown]
# # Your own study, on a pool of processes
# What does aging cost? The effect of ASPTF's weight on the mean and the spread of
# responses. The same code runs on a cluster: pass the `get_executor()` of a `dask.distributed`
# client in place of the pool.

# %%
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import diskarm

STUDY = """
title = "What aging costs"
source = "after worthington94, section 5.3"
[cell]
drive = "hp-c2247"
policy = "asptf(w={weight})"
workload = "poisson(rate={rate}/s) uniform size=8KiB reads=67%"
requests = 10_000
warm_up = 500
replications = 3
[[axis]]
name = "weight"
values = [0, 6, 30]
[[axis]]
name = "rate"
unit = "requests/s"
values = [30, 50]
[[claim]]
says = "Aging narrows the spread of responses"
source = "worthington94, section 5.3"
theirs = "the variance drops significantly"
check = "order"
metric = "response_ms_std"
ascending = [{ weight = 30 }, { weight = 0 }]
where = { rate = 50 }
"""

# %%
# New processes import this file again: code that they must not repeat belongs here.
if __name__ == "__main__":
    Path("aging.toml").write_text(STUDY, encoding="utf-8")
    study = diskarm.Study("aging.toml")
    with ProcessPoolExecutor(max_workers=2) as pool:
        done = study.run("aging", executor=pool)
    for claim in done.claims:
        print(f"{claim.verdict}: {claim.says} ({claim.ours})")

    # %%
    means = done.column("response_ms_mean")
    for cell, mean in zip(done.cells, means, strict=True):
        print(cell["at"], f"{mean:.1f} ms")

    # %% [markdown]
    # A row for each cell and metric, for pandas, Polars and Parquet.

    # %%
    import pyarrow.parquet

    pyarrow.parquet.write_table(done.to_arrow(), "aging.parquet")
    print("report:", done.folder / "report.html")
