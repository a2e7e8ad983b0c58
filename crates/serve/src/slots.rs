//! Things with small numbers.

/// Holds things under numbers that are used again when they are free.
pub(crate) struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slots<T> {
    /// Adds a thing and returns its number.
    pub fn insert(&mut self, thing: T) -> usize {
        match self.free.pop() {
            Some(number) => {
                self.slots[number] = Some(thing);
                number
            }
            None => {
                self.slots.push(Some(thing));
                self.slots.len() - 1
            }
        }
    }

    /// Takes out the thing with this number.
    pub fn remove(&mut self, number: usize) -> Option<T> {
        let thing = self.slots.get_mut(number)?.take()?;
        self.free.push(number);
        Some(thing)
    }

    /// The thing with this number.
    pub fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        self.slots.get_mut(number)?.as_mut()
    }

    /// All things with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(number, slot)| Some((number, slot.as_ref()?)))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().flatten()
    }

    /// How many things there are.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
