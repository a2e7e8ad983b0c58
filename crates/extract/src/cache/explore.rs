//! Test vectors at random, around the blocks where the answers differ.

use diskarm_core::units::{Lbn, Span};

use super::bench::Bench;
use super::moves::Move;
use super::vector::{Area, Vector};
use crate::pairs::Access;

/// Blocks that a vector has touched.
struct Touched {
    first: u64,
    end: u64,
}

/// What vectors are drawn from.
struct Ground {
    area: Area,
    touched: Vec<Touched>,
    ahead: u64,
    segment: u64,
    reads: u64,
}

/// A vector of reads, and of writes if those are allowed, of sizes that matter to what is believed
/// or to one of the `others`.
pub(super) fn vector(bench: &mut Bench<'_, '_>, others: &[Move]) -> Vector {
    let (zone, last) = (bench.below(3) as usize, bench.below(3) == 0);
    let area = bench.area(zone, last);
    let buffer = match others.len() as u64 {
        count if count > 0 && bench.below(2) == 0 => {
            &others[bench.below(count) as usize].spec.buffer
        }
        _ => &bench.believed.buffer,
    };
    let mut ground = Ground {
        area,
        touched: Vec::new(),
        ahead: buffer.read_ahead_max.0,
        segment: buffer.segment.0,
        reads: u64::from(buffer.segments) - u64::from(buffer.dedicated_write_segment),
    };
    let mut vector = Vector::new(area.first);
    let steps = 2 + bench.below(6);
    for _ in 0..steps {
        vector = step(bench, &mut ground, vector);
    }
    vector
}

fn step(bench: &mut Bench<'_, '_>, ground: &mut Ground, vector: Vector) -> Vector {
    let period = bench.period();
    let vector = match bench.below(8) {
        0 | 1 => {
            let share = bench.pairs.uniform();
            vector.rest(Span::from_ns((share * period) as i64))
        }
        2 => {
            let blocks = ground.ahead.min(600);
            vector.rest(bench.reading(ground.area.tracks[0], blocks + 8))
        }
        _ => vector,
    };
    let writes = bench.writes && bench.below(3) == 0;
    match bench.below(12) {
        11 => run(bench, ground, vector),
        10 => chase(bench, ground, vector),
        0 => {
            let claims = [1, ground.reads.saturating_sub(1), ground.reads];
            let count = claims[bench.below(3) as usize].clamp(1, 40);
            let mut vector = vector;
            for _ in 0..count {
                let access = if writes { Access::Write } else { Access::Read };
                vector = vector.anywhere(access, bench.elsewhere());
            }
            vector
        }
        kind => {
            let at = match (kind, ground.touched.last()) {
                (1 | 2, Some(last)) => last.end,
                _ => point(bench, ground),
            };
            let sectors = size(bench, ground);
            let max = bench.pairs.layout.sectors().0 - 1;
            let at = Lbn(at.min(max - sectors));
            ground.touched.push(Touched {
                first: at.0,
                end: at.0 + sectors,
            });
            match writes {
                true => vector.write(at, sectors),
                false => vector.read(at, sectors),
            }
        }
    }
}

/// Reads in sequence, without a rest between them, and perhaps one more where the head is then.
fn run(bench: &mut Bench<'_, '_>, ground: &mut Ground, mut vector: Vector) -> Vector {
    let first = match ground.touched.last() {
        Some(last) if bench.below(2) == 0 => last.end,
        _ => point(bench, ground),
    };
    let sectors = [1, 1, 4, 8][bench.below(4) as usize];
    let reads = 2 + bench.below(2);
    let max = bench.pairs.layout.sectors().0;
    let first = first.min(max - 8 * reads);
    for k in 0..reads {
        vector = vector.read(Lbn(first + k * sectors), sectors);
    }
    let end = first + reads * sectors;
    ground.touched.push(Touched { first, end });
    match bench.below(2) {
        0 => chase(bench, ground, vector),
        _ => vector,
    }
}

/// A read where the head is when it comes, or on the next track: read-ahead is under way.
fn chase(bench: &mut Bench<'_, '_>, ground: &mut Ground, vector: Vector) -> Vector {
    let Some(last) = ground.touched.last() else {
        return vector;
    };
    let rest = bench.pairs.uniform() * 4e6;
    let sector = bench.period() / ground.area.length() as f64;
    // With what a command takes before and after the media, more or less.
    let passed = (rest + bench.pairs.uniform() * 3e6) / sector;
    let mut at = last.end + passed as u64;
    if bench.below(3) == 0 {
        at += ground.area.length();
    }
    let sectors = [1, 1, 2, 4][bench.below(4) as usize];
    let at = at.min(bench.pairs.layout.sectors().0 - 1 - sectors);
    ground.touched.push(Touched {
        first: at,
        end: at + sectors,
    });
    vector
        .rest(Span::from_ns(rest as i64))
        .read(Lbn(at), sectors)
}

fn size(bench: &mut Bench<'_, '_>, ground: &Ground) -> u64 {
    let length = ground.area.length();
    match bench.below(12) {
        0 => length,
        1 => length / 2,
        2 => ground.segment + [0, 0, 2, 8][bench.below(4) as usize],
        3 => ground.segment + 1,
        4 => ground.segment / 2,
        5 => 16 + bench.below(48),
        6 => 2 + bench.below(14),
        _ => 1,
    }
    .clamp(1, 1024)
}

/// A block at which something may end.
fn point(bench: &mut Bench<'_, '_>, ground: &Ground) -> u64 {
    let near = [0, 0, 1, 1, 2, 8][bench.below(6) as usize];
    let back = bench.below(2) == 0;
    let count = ground.touched.len() as u64;
    let at = if count > 0 && bench.below(4) != 0 {
        let touched = &ground.touched[bench.below(count) as usize];
        match bench.below(5) {
            0 => touched.first,
            1 | 2 => touched.end,
            3 => touched.end + ground.ahead,
            _ => touched.end.saturating_sub(ground.segment),
        }
    } else {
        let track = ground.area.tracks[bench.below(4) as usize].0;
        match bench.below(3) {
            0 => track + bench.below(ground.area.length()),
            _ => track,
        }
    };
    if back {
        at.saturating_sub(near)
    } else {
        at + near
    }
}
