//! Random numbers for the tests of this and other crates.
//!
//! The sequence of each generator is fixed, so that a seed identifies the same case everywhere.
//! This module is only compiled with the `testing` feature.

use rand_core::{Rng, SeedableRng};

use crate::random::{self, Generator};

/// Random numbers and choices, from the generator that simulations use.
#[derive(Clone, Debug)]
pub struct Random(pub Generator);

impl Random {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self(Generator::seed_from_u64(seed))
    }

    /// Returns the next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a uniform number below `end`, from the high bits of a random number.
    pub fn below(&mut self, end: u64) -> u64 {
        random::below(&mut self.0, end)
    }

    /// Returns a random number modulo `end`.
    pub fn modulo(&mut self, end: u64) -> u64 {
        self.next_u64() % end
    }

    /// Returns a uniform number from `min` to `max`.
    pub fn between(&mut self, min: u64, max: u64) -> u64 {
        min + self.below(max - min + 1)
    }

    /// Returns a random element of `all`.
    pub fn choose<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// Returns true with probability `1 / count`.
    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA
/// 2014): a generator whose state is a counter.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a random number modulo `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next_u64() % end
    }

    /// Returns a uniform number in `[0, 1)`, a multiple of `2^-53`.
    pub fn uniform_fraction(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * 2f64.powi(-53)
    }
}

/// Xorshift (Marsaglia, "Xorshift RNGs", 2003).
#[derive(Clone, Debug)]
pub struct XorShift(u64);

impl XorShift {
    /// Creates a generator from a seed, which must not be zero.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a random number modulo `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}
