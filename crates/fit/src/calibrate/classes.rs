//! Classes of requests, and what a fitted drive leaves unexplained of them.

use crate::validate::Relation;
use diskarm_core::device::Outcome;
use diskarm_core::request::Op;

/// Requests of one direction, with one relation to the request before and one predicted outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Their direction.
    pub op: Op,
    /// Where they begin.
    pub relation: Relation,
    /// What the buffer of the fitted drive made of them.
    pub outcome: Outcome,
    /// How many there are.
    pub count: u64,
    /// How many of them the drive explains.
    pub explained: u64,
}

/// A class stands out with at least this many unexplained requests.
const MIN: u64 = 10;

/// They must also be at least this share of the class.
const SHARE: f64 = 0.1;

impl Class {
    /// How many of its requests the drive does not explain.
    pub fn unexplained(&self) -> u64 {
        self.count - self.explained
    }

    /// Whether the drive fails to explain many of its requests: some behaviour of the real drive is
    /// then likely to be missing from the model.
    pub fn stands_out(&self) -> bool {
        let left = self.unexplained();
        left >= MIN && left as f64 >= SHARE * self.count as f64
    }
}

/// Those that stand out, the most unexplained requests first.
pub fn standing_out(mut classes: Vec<Class>) -> Vec<Class> {
    classes.retain(Class::stands_out);
    classes.sort_by_key(|class| std::cmp::Reverse(class.unexplained()));
    classes
}

/// The share of all requests that are explained.
pub fn explained_fraction(classes: &[Class]) -> f64 {
    let sum = |of: fn(&Class) -> u64| classes.iter().map(of).sum::<u64>() as f64;
    sum(|class| class.explained) / sum(|class| class.count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(count: u64, explained: u64) -> Class {
        Class {
            op: Op::Read,
            relation: Relation::Far,
            outcome: Outcome::Miss,
            count,
            explained,
        }
    }

    #[test]
    fn a_class_stands_out_by_number_and_by_share() {
        assert!(class(100, 90).stands_out());
        assert!(!class(101, 91).stands_out());
        assert!(!class(9, 0).stands_out());
        assert!(class(10, 0).stands_out());
    }

    #[test]
    fn shares_are_of_all_requests() {
        assert_eq!(explained_fraction(&[class(30, 27), class(10, 3)]), 0.75);
    }
}
