use diskarm_core::testing::SplitMix64;

use super::*;

const SIZE: Size = Size {
    sectors: SectorCount(5000),
    sector: Bytes(512),
};

fn random_record(seed: u64, sums: bool) -> ScanRecord {
    let mut random = SplitMix64::new(seed);
    let mut record = ScanRecord::new(SIZE, sums);
    for _ in 0..200 {
        let first = Lbn(random.below(SIZE.sectors.0));
        let end = Lbn((first.0 + 1 + random.below(90)).min(SIZE.sectors.0));
        let Some((first, sectors)) = record.remaining().runs_in(first, end).next() else {
            continue;
        };
        match random.below(10) {
            0 => record.add_unreadable(first, sectors),
            byte => record.add_data(first, &vec![byte as u8; sectors.0 as usize * 512]),
        }
    }
    record
}

#[test]
fn records_round_trip() {
    for seed in 0..20 {
        for sums in [false, true] {
            let record = random_record(seed, sums);
            let bytes = record.emit("a disk");
            assert_eq!(ScanRecord::parse(&bytes, "a disk", sums), Ok(record));
        }
    }
}

#[test]
fn damaged_and_foreign_checkpoints_are_refused() {
    let bytes = random_record(1, true).emit("a disk");
    let why = |bytes: &[u8], name, sums| {
        let parsed = ScanRecord::parse(bytes, name, sums);
        parsed.expect_err("unusable").to_string()
    };
    let other = "the checkpoint belongs to a scan of a disk, not of another";
    assert_eq!(why(&bytes, "another", true), other);
    assert!(why(&bytes, "a disk", false).ends_with("a scan with checksums"));
    for length in 0..bytes.len() {
        why(&bytes[..length], "a disk", true);
    }
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x10;
        why(&bytes, "a disk", true);
    }
    // Impossible numbers with a correct checksum.
    let why_with_checksum = |mut bytes: Vec<u8>| {
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        why(&bytes, "a disk", true)
    };
    let fields = |numbers: &[u64]| {
        let mut bytes = [MAGIC, &[6], &b"a disk"[..]].concat();
        numbers.iter().for_each(|number| put(&mut bytes, *number));
        bytes
    };
    let damaged = "the checkpoint is damaged";
    let missing_sum = bytes[..bytes.len() - 8].to_vec();
    assert_eq!(why_with_checksum(missing_sum), damaged);
    for numbers in [
        &[8, 512, 9, 0, 0, 0, 0][..],
        &[8, u64::MAX, 0, 0, 0],
        &[MAX_SECTORS + 1, 512, 0, 0, 0],
    ] {
        assert_eq!(why_with_checksum(fields(numbers)), damaged, "{numbers:?}");
    }
    let possible = why_with_checksum(fields(&[8, 512, 8, 0, 0, 0, 0]));
    assert!(possible.ends_with("a scan without checksums"), "{possible}");
}

#[test]
#[should_panic(expected = "read twice")]
fn no_block_is_read_twice() {
    let mut record = ScanRecord::new(SIZE, false);
    record.add_data(Lbn(7), &[0; 1024]);
    record.add_unreadable(Lbn(8), SectorCount(1));
}

/// Adding pieces in any order gives zlib's checksum of each chunk.
#[test]
fn pieces_may_be_added_in_any_order() {
    let mut random = SplitMix64::new(1);
    let bytes: Vec<u8> = (0..10_000).map(|_| random.below(256) as u8).collect();
    let mut cuts: Vec<usize> = (0..40).map(|_| random.below(10_000) as usize).collect();
    cuts.extend([0, 10_000]);
    cuts.sort_unstable();
    let mut pieces: Vec<(usize, usize)> = cuts.windows(2).map(|w| (w[0], w[1])).collect();
    let mut sums = Checksums::new(10_000, 4096);
    while !pieces.is_empty() {
        let next = random.below(pieces.len() as u64) as usize;
        let (first, end) = pieces.swap_remove(next);
        sums.add(first as u64, &bytes[first..end]);
    }
    let expected = bytes.chunks(4096).map(crc32fast::hash);
    assert!(sums.all().map(|(_, _, sum)| sum).eq(expected));
    let (first, length, _) = sums.all().last().expect("there is a chunk");
    assert_eq!((first, length), (8192, 10_000 - 8192));
}

/// The check value of the algorithm; missing bytes count as zeroes.
#[test]
fn checksums_match_zlib() {
    let mut sums = Checksums::new(9, 9);
    sums.add(0, b"123456789");
    assert_eq!(sums.all().next(), Some((0, 9, 0xcbf4_3926)));
    let without_data = Checksums::new(5, 8).all().next();
    assert_eq!(without_data, Some((0, 5, crc32fast::hash(&[0; 5]))));
}
