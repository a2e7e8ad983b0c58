use super::*;

/// Every layout on 2 to `most` disks.
fn all(max: usize) -> Vec<Layout> {
    let kinds = |cluster| {
        [
            LayoutKind::Interleaved { cluster },
            LayoutKind::GroupRotate { cluster },
        ]
    };
    let of = |disks: usize| {
        let clusters = (1..=disks).flat_map(kinds);
        let kinds = [LayoutKind::Basic, LayoutKind::Chained]
            .into_iter()
            .chain(clusters);
        kinds.filter_map(move |kind| Layout::new(kind, disks).ok())
    };
    (2..=max).flat_map(of).collect()
}

fn layout(kind: LayoutKind, disks: usize) -> Layout {
    Layout::new(kind, disks).unwrap()
}

/// The four layouts of the thesis' example: 8 disks, clusters of 4.
fn example() -> [Layout; 4] {
    [
        LayoutKind::Basic,
        LayoutKind::Interleaved { cluster: 4 },
        LayoutKind::Chained,
        LayoutKind::GroupRotate { cluster: 4 },
    ]
    .map(|kind| layout(kind, 8))
}

/// By hand, for the prose of section 9.1.2.
#[test]
fn blocks_are_where_the_prose_puts_them() {
    let secondaries = |layout: &Layout, primary: u64| -> Vec<usize> {
        let blocks = (0..4).map(|row| primary + row * 8);
        blocks
            .map(|block| layout.copy_disks(block).secondary)
            .collect()
    };
    let [basic, interleaved, chained, rotate] = example();
    assert_eq!(secondaries(&basic, 0), [1, 1, 1, 1]);
    assert_eq!(secondaries(&basic, 5), [4, 4, 4, 4]);
    assert_eq!(secondaries(&interleaved, 0), [1, 2, 3, 1]);
    assert_eq!(secondaries(&interleaved, 6), [7, 4, 5, 7]);
    assert_eq!(secondaries(&chained, 7), [0, 0, 0, 0]);
    assert_eq!(secondaries(&rotate, 1), [5, 6, 7, 4]);
    assert_eq!(secondaries(&rotate, 6), [2, 3, 0, 1]);
}

#[test]
fn each_disk_has_as_many_copies_as_any_other() {
    for layout in all(12) {
        let mut copies = vec![[0, 0]; layout.disks()];
        for CopyDisks { primary, secondary } in layout.period() {
            assert_ne!(primary, secondary, "{layout:?}");
            copies[primary][0] += 1;
            copies[secondary][1] += 1;
        }
        assert!(copies.iter().all(|of| *of == [layout.rows(); 2]));
        // Places repeat with the rows.
        let period = (layout.rows() * layout.disks()) as u64;
        assert!((0..period).all(|b| layout.copy_disks(b) == layout.copy_disks(b + 3 * period)));
    }
}

/// Clusters of two, rotated clusters of one and a chain of two are mirrored pairs.
#[test]
fn the_smallest_clusters_are_mirrored_pairs() {
    for disks in [2, 6, 12] {
        let basic = layout(LayoutKind::Basic, disks);
        for kind in [
            LayoutKind::Interleaved { cluster: 2 },
            LayoutKind::GroupRotate { cluster: 1 },
        ] {
            let other = layout(kind, disks);
            assert!((0..100).all(|block| other.place(block) == basic.place(block)));
        }
    }
    let (chain, pair) = (layout(LayoutKind::Chained, 2), layout(LayoutKind::Basic, 2));
    assert!((0..10).all(|block| chain.copy_disks(block) == pair.place(block)));
}

#[test]
fn disks_that_do_not_divide_are_one_clear_line() {
    let error = |kind, disks| Layout::new(kind, disks).unwrap_err().to_string();
    let cases = [
        (
            error(LayoutKind::Basic, 1),
            "found 1 as the number of disks, expected 2 to 24",
        ),
        (
            error(LayoutKind::Chained, 25),
            "found 25 as the number of disks, expected 2 to 24",
        ),
        (
            error(LayoutKind::Basic, 7),
            "basic mirroring needs pairs, found 7 disks",
        ),
        (
            error(LayoutKind::Interleaved { cluster: 3 }, 8),
            "clusters of 3 do not divide 8 disks",
        ),
        (
            error(LayoutKind::Interleaved { cluster: 0 }, 8),
            "clusters of 0 do not divide 8 disks",
        ),
        (
            error(LayoutKind::Interleaved { cluster: 1 }, 8),
            "found clusters of 1 disk, expected 2 or more",
        ),
        (
            error(LayoutKind::GroupRotate { cluster: 3 }, 9),
            "group rotate needs pairs of clusters, found 3 clusters of 3 disks",
        ),
        (
            error(LayoutKind::GroupRotate { cluster: 8 }, 8),
            "group rotate needs pairs of clusters, found one cluster of 8 disks",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}
