//! The outstanding requests that a wrapper has submitted to the devices it wraps.

use std::ops::{Index, IndexMut};

/// A slab of the child requests that a wrapper has submitted to the devices it wraps, each with the
/// state of its parent. Ids are slot numbers that are reused, so they stay small, and insertion and
/// removal take constant time.
#[derive(Clone, Debug)]
pub struct Children<P> {
    slots: Vec<Slot<P>>,
    /// The first free slot, or one past the last slot if none is free.
    free: u64,
    outstanding: usize,
}

#[derive(Clone, Debug)]
enum Slot<P> {
    Taken(P),
    /// Contains the number of the next free slot.
    Free(u64),
}

impl<P> Default for Children<P> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: 0,
            outstanding: 0,
        }
    }
}

impl<P> Children<P> {
    /// Returns true if no child is outstanding.
    pub fn is_empty(&self) -> bool {
        self.outstanding == 0
    }

    /// Returns the number of children that are outstanding.
    pub fn len(&self) -> usize {
        self.outstanding
    }

    /// Inserts `parent` and returns the id of its child.
    #[inline(always)]
    pub fn insert(&mut self, parent: P) -> u64 {
        let id = self.free;
        self.outstanding += 1;
        if let Some(slot) = self.slots.get_mut(id as usize) {
            let Slot::Free(next) = *slot else {
                panic!("slot {id} is taken, but in the free list");
            };
            self.free = next;
            *slot = Slot::Taken(parent);
        } else {
            self.slots.push(Slot::Taken(parent));
            self.free = self.slots.len() as u64;
        }
        id
    }

    /// Removes the child `id` and returns its parent.
    ///
    /// # Panics
    /// If the child is not outstanding, because it completed twice or was never submitted.
    #[inline]
    pub fn remove(&mut self, id: u64) -> P {
        let slot = self.slots.get_mut(id as usize);
        let freed = slot.map(|slot| std::mem::replace(slot, Slot::Free(self.free)));
        let Some(Slot::Taken(parent)) = freed else {
            panic!("child {id} completed, but is not outstanding");
        };
        self.free = id;
        self.outstanding -= 1;
        parent
    }

    /// Removes the child `id` and drops its parent in place, because large parents are expensive to
    /// move. Panics like [`remove`](Self::remove).
    #[inline]
    pub fn discard(&mut self, id: u64) {
        assert!(
            self.get(id).is_some(),
            "child {id} completed, but is not outstanding"
        );
        self.slots[id as usize] = Slot::Free(self.free);
        self.free = id;
        self.outstanding -= 1;
    }

    /// Returns the parent of the child `id` if it is outstanding.
    #[inline]
    pub fn get(&self, id: u64) -> Option<&P> {
        match self.slots.get(id as usize)? {
            Slot::Taken(parent) => Some(parent),
            Slot::Free(_) => None,
        }
    }

    /// Returns the outstanding children with their parents, by id.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &P)> {
        (0..self.slots.len() as u64).filter_map(|id| Some((id, self.get(id)?)))
    }

    /// Finds, in linear time, an outstanding child whose parent satisfies `is_wanted`.
    pub fn find(&self, is_wanted: impl Fn(&P) -> bool) -> Option<u64> {
        let mut children = self.iter();
        children
            .find(|(_, parent)| is_wanted(parent))
            .map(|(id, _)| id)
    }
}

/// The parent of an outstanding child.
impl<P> Index<u64> for Children<P> {
    type Output = P;

    #[inline]
    fn index(&self, id: u64) -> &P {
        match &self.slots[id as usize] {
            Slot::Taken(parent) => parent,
            Slot::Free(_) => panic!("child {id} is not outstanding"),
        }
    }
}

impl<P> IndexMut<u64> for Children<P> {
    #[inline]
    fn index_mut(&mut self, id: u64) -> &mut P {
        match &mut self.slots[id as usize] {
            Slot::Taken(parent) => parent,
            Slot::Free(_) => panic!("child {id} is not outstanding"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_while_outstanding_and_are_reused() {
        let mut children = Children::default();
        let ids = ["a", "b", "c"].map(|parent| children.insert(parent));
        assert_eq!(ids, [0, 1, 2]);
        assert_eq!(children.find(|parent| *parent == "b"), Some(1));
        assert_eq!(children.remove(1), "b");
        assert_eq!(children.find(|parent| *parent == "b"), None);
        assert_eq!(children.iter().collect::<Vec<_>>(), [(0, &"a"), (2, &"c")]);
        assert_eq!(children.get(1), None);
        assert_eq!(children.insert("d"), 1);
        children.discard(1);
        assert_eq!((children.len(), children.get(1)), (2, None));
        assert_eq!(children.insert("d"), 1);
        assert_eq!((children.get(1), children[1]), (Some(&"d"), "d"));
        for (id, parent) in [(0, "a"), (1, "d"), (2, "c")] {
            assert!(!children.is_empty());
            assert_eq!(children.remove(id), parent);
        }
        assert!(children.is_empty());
    }

    #[test]
    #[should_panic(expected = "child 0 completed, but is not outstanding")]
    fn a_second_completion_panics() {
        let mut children = Children::default();
        let id = children.insert(());
        children.remove(id);
        children.remove(id);
    }

    #[test]
    #[should_panic(expected = "child 0 completed, but is not outstanding")]
    fn a_second_discard_panics() {
        let mut children = Children::default();
        let id = children.insert(());
        children.discard(id);
        children.discard(id);
    }
}
