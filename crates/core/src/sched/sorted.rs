//! Pending requests in ascending order of a key: the data structure for policies that look for
//! neighbours.
//!
//! Keys are in one array and requests in another, so that an insertion or removal moves a few bytes
//! per pending request and a search touches only keys. A balanced tree, which moves nothing, is
//! slower up to some ten thousand pending requests.

/// Entries of `T` in ascending order of `K`; of equal keys the earlier arrival comes first.
#[derive(Clone, Debug)]
pub(super) struct Sorted<K, T> {
    keys: Vec<(K, u32)>,
    entries: Vec<T>,
    /// Unused slots in `entries`.
    free: Vec<u32>,
}

impl<K, T> Default for Sorted<K, T> {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            entries: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<K: Ord + Copy, T: Copy> Sorted<K, T> {
    #[inline]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Adds an entry after those with equal keys.
    #[inline]
    pub fn insert(&mut self, key: K, entry: T) {
        let place = match self.free.pop() {
            Some(place) => {
                self.entries[place as usize] = entry;
                place
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        };
        let index = self.keys.partition_point(|&(k, _)| k <= key);
        self.keys.insert(index, (key, place));
    }

    /// The key at `index`.
    #[inline]
    pub fn key(&self, index: usize) -> K {
        self.keys[index].0
    }

    /// The entry at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> &T {
        &self.entries[self.keys[index].1 as usize]
    }

    /// The index of the first key for which `enough` holds, as it does for all later keys; the
    /// number of entries if there is none.
    #[inline]
    pub fn first_where(&self, enough: impl Fn(K) -> bool) -> usize {
        self.keys.partition_point(|&(k, _)| !enough(k))
    }

    /// Number of entries with keys below `key`.
    #[inline]
    pub fn before(&self, key: K) -> usize {
        self.keys.partition_point(|&(k, _)| k < key)
    }

    /// The index of the first entry for which `is_it` holds.
    pub fn find(&self, is_it: impl Fn(&T) -> bool) -> Option<usize> {
        let entries = self
            .keys
            .iter()
            .map(|&(_, place)| &self.entries[place as usize]);
        entries.into_iter().position(is_it)
    }

    /// Removes the entry at `index`.
    #[inline]
    pub fn remove(&mut self, index: usize) -> T {
        let (_, place) = self.keys.remove(index);
        self.free.push(place);
        self.entries[place as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_in_order_of_key_then_of_arrival() {
        let mut sorted = Sorted::default();
        for (key, name) in [(5, 'a'), (3, 'b'), (5, 'c'), (1, 'd'), (3, 'e')] {
            sorted.insert(key, name);
        }
        assert_eq!(sorted.remove(0), 'd');
        // The slot of `d` is reused.
        sorted.insert(4, 'f');
        assert_eq!(sorted.key(2), 4);
        let order: String = (0..sorted.len()).map(|_| sorted.remove(0)).collect();
        assert_eq!(order, "befac");
    }
}
