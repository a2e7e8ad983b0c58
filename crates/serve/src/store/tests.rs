//! Compares each store with a plain array of bytes.

use diskarm_core::testing::XorShift;
use tempfile::TempDir;

use super::*;

/// Four whole chunks of the sparse store and a partial one.
const BYTES: u64 = (4 << 16) + 512;

/// Returns the path of a file that does not exist yet, in a temporary folder.
fn temporary_path(folder: &TempDir) -> String {
    let path = folder.path().join("store");
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// Applies random operations to the store and to a copy of its bytes, and compares the two.
fn check_operations(store: &mut dyn Store, mut bytes: Vec<u8>, seed: u64) {
    let mut numbers = XorShift::new(seed);
    for step in 0..400_u64 {
        let offset = numbers.below(BYTES);
        let random_length = 1 + numbers.below(BYTES - offset).min(1 << numbers.below(18));
        let length = random_length.min(BYTES - offset);
        let range = offset as usize..(offset + length) as usize;
        match numbers.below(4) {
            0 => {
                let data: Vec<u8> = (0..length).map(|at| (at * 7 + step) as u8 | 1).collect();
                store.write(offset, &data).expect("written");
                bytes[range].copy_from_slice(&data);
            }
            1 => {
                let may_free = numbers.below(2) == 0;
                store.zero(offset, length, may_free).expect("zeroed");
                bytes[range].fill(0);
            }
            2 => {
                let mut data = vec![0xaa; length as usize];
                store.read(offset, &mut data).expect("read");
                assert!(data == bytes[range], "seed {seed}, step {step}");
            }
            _ => {
                let found = store.extent(offset, length).expect("an extent");
                assert!(
                    (1..=length).contains(&found.length),
                    "seed {seed}, step {step}"
                );
                let known = &bytes[range][..found.length as usize];
                assert!(!found.is_hole || known.iter().all(|byte| *byte == 0));
            }
        }
    }
    let mut data = vec![0; bytes.len()];
    store.read(0, &mut data).expect("read");
    assert!(data == bytes, "seed {seed}");
}

#[test]
fn a_memory_store_returns_written_data() {
    for seed in 1..20 {
        check_operations(
            &mut SparseStore::empty(BYTES),
            vec![0; BYTES as usize],
            seed,
        );
    }
}

#[test]
fn a_file_store_returns_written_data() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = temporary_path(&folder);
    for seed in 1..5 {
        let mut store = FileStore::open(&path, BYTES, false).expect("a file");
        check_operations(&mut store, vec![0; BYTES as usize], seed);
        drop(store);
        std::fs::remove_file(&path).expect("the file made above");
    }
}

#[test]
fn a_snapshot_does_not_change_its_file() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = temporary_path(&folder);
    let mut bytes: Vec<u8> = (0..BYTES).map(|at| (at / 100) as u8).collect();
    bytes[70_000..200_000].fill(0);
    std::fs::write(&path, &bytes).expect("a file");
    for seed in 1..10 {
        let mut store = SparseStore::over(&path, BYTES).expect("a file");
        check_operations(&mut store, bytes.clone(), seed);
    }
    // Zeroes also hide whole chunks of the file.
    let mut store = SparseStore::over(&path, BYTES).expect("a file");
    store.zero(100, BYTES - 100, true).expect("zeroed");
    let mut data = vec![0xaa; BYTES as usize];
    store.read(0, &mut data).expect("read");
    assert!(data[..100] == bytes[..100] && data[100..].iter().all(|byte| *byte == 0));
    assert!(std::fs::read(&path).expect("a file") == bytes);
}

#[test]
fn an_empty_file_is_a_hole_until_written() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = temporary_path(&folder);
    let mut store = FileStore::open(&path, BYTES, false).expect("a file");
    let hole = Extent {
        length: BYTES,
        is_hole: true,
    };
    assert_eq!(store.extent(0, BYTES).expect("an extent"), hole);
    store.write(0, &[1; 512]).expect("written");
    assert!(!store.extent(0, BYTES).expect("an extent").is_hole);
    let mut memory = SparseStore::empty(BYTES);
    assert_eq!(memory.extent(0, BYTES).expect("an extent"), hole);
    memory.write(IN_SECOND_CHUNK, &[1; 512]).expect("written");
    let before = memory.extent(0, BYTES).expect("an extent");
    assert_eq!((before.length, before.is_hole), (1 << 16, true));
}

/// An offset in the second chunk of the sparse store.
const IN_SECOND_CHUNK: u64 = (1 << 16) + 4096;

#[test]
fn a_file_must_match_the_size_and_cannot_be_served_twice() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = temporary_path(&folder);
    let store = FileStore::open(&path, BYTES, false).expect("a file");
    let error_text = |opened: io::Result<FileStore>| opened.err().map(|error| error.to_string());
    let again = FileStore::open(&path, BYTES, false);
    let expected = "the file is locked by another program";
    assert_eq!(error_text(again).as_deref(), Some(expected));
    drop(store);
    let other = FileStore::open(&path, BYTES - 512, false);
    let expected = "found a file of 262656 bytes, expected 262144";
    assert_eq!(error_text(other).as_deref(), Some(expected));
}

#[test]
fn store_specifications_are_parsed() {
    for text in ["memory", "file:a", "snapshot:/a:b"] {
        let parsed = StoreSpec::parse(text).expect("a store");
        assert_eq!(parsed.to_string(), text);
    }
    for wrong in ["", "file", "file:", "memory:", "disk:a"] {
        assert_eq!(StoreSpec::parse(wrong), None, "{wrong}");
    }
}
