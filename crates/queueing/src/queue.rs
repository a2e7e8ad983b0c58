//! A seeded simulation of a queue: the oracle of the tests.

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Uniform over 0 to 1, never 0.
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / 2f64.powi(53) + 2f64.powi(-54)
    }

    pub fn exponential(&mut self, rate: f64) -> f64 {
        -self.uniform().ln() / rate
    }
}

const WARM_UP: usize = 2_000;
const COUNTED: usize = 40_000;

/// Returns the waits of customers of `servers` in order of arrival, after a warm-up, by Lindley's
/// recursion over the instants at which the servers become free.
pub fn serve(
    random: &mut Random,
    servers: usize,
    mut pause: impl FnMut(&mut Random) -> f64,
    mut service: impl FnMut(&mut Random) -> f64,
) -> Vec<f64> {
    let (mut free, mut now) = (vec![0.0_f64; servers], 0.0);
    let mut waits = Vec::new();
    for _ in 0..WARM_UP + COUNTED {
        now += pause(random);
        free.sort_by(f64::total_cmp);
        let begins = now.max(free[0]);
        free[0] = begins + service(random);
        waits.push(begins - now);
    }
    waits.split_off(WARM_UP)
}

/// The mean over runs, and its standard error.
#[derive(Debug)]
pub struct Mean {
    mean: f64,
    error: f64,
}

impl Mean {
    /// Asserts that `expected` is within four standard errors. With 20 runs, a correct expectation
    /// fails for about one seed in a thousand (Student's t with 19 degrees of freedom).
    pub fn assert_near(&self, expected: f64) {
        let off = (self.mean - expected).abs();
        assert!(off < 4.0 * self.error, "{self:?}, expected {expected}");
        // The oracle is sharp enough to detect an error of 10 %.
        assert!(4.0 * self.error < 0.1 * expected, "{self:?}");
    }
}

/// Returns the means over all runs.
pub fn means<const N: usize>(runs: impl Iterator<Item = [f64; N]>) -> [Mean; N] {
    let runs: Vec<[f64; N]> = runs.collect();
    let count = runs.len() as f64;
    std::array::from_fn(|at| {
        let mean = runs.iter().map(|run| run[at]).sum::<f64>() / count;
        let squares: f64 = runs.iter().map(|run| (run[at] - mean).powi(2)).sum();
        Mean {
            mean,
            error: (squares / (count - 1.0) / count).sqrt(),
        }
    })
}
