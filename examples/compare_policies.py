# %% [markdown]
# # Three policies under increasing load
# Mean responses of FCFS, C-LOOK and SPTF on an HP C2247. While the queue is short there is nothing
# to choose from, and all are alike.

# %%
import diskarm
import diskarm.plot

RATES = [15, 20, 25, 30, 35]
POLICIES = ["fcfs", "clook", "sptf"]

runs = {
    rate: diskarm.compare(
        "hp-c2247",
        POLICIES,
        workload=f"poisson(rate={rate}/s) uniform size=8KiB reads=67%",
        requests=20_000,
        warm_up=1_000,
        replications=3,
    )
    for rate in RATES
}

# %%
for rate in RATES:
    means = (f"{run.policy} {run.response_ms.mean:.1f} ms" for run in runs[rate])
    print(f"{rate}/s:", ", ".join(means))

# %% [markdown]
# Seek and rotational wait are half of the service time, and only SPTF shortens
# both.

# %%
axes = diskarm.plot.service(runs[RATES[-1]])
axes.figure.savefig("service.png")
