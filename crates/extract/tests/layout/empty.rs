//! Empty cylinders between the zones of random drives.

use diskarm_core::geometry::Layout;
use diskarm_core::spec::Geometry;
use diskarm_core::units::{Lbn, SectorCount};
use diskarm_extract::layout::empty;
use diskarm_extract::{Disk, Effort, Setup, SimulatedDrive};
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::random::{Random, drive};
use super::{HOST, catalogued};

/// Drives whose seek times the random layouts use: one curve has dips, others are nearly flat.
const SEEKS: [&str; 6] = [
    "hp-c2247",
    "hp-c3323a",
    "ibm-18es",
    "quantum-atlas-10k",
    "seagate-cheetah-st34501n",
    "seagate-cheetah-st34501n-calibrated",
];

/// Returns the layout that reads show, without empty cylinders between zones.
fn without_empty_cylinders(geometry: &Geometry) -> Geometry {
    let mut without_empty_cylinders = geometry.clone();
    let mut end = 0;
    for zone in &mut without_empty_cylinders.zones {
        let cylinders = zone.end_cylinder - zone.first_cylinder;
        zone.first_cylinder = end;
        zone.end_cylinder = end + cylinders;
        end += cylinders;
    }
    without_empty_cylinders.cylinders = end;
    without_empty_cylinders
}

/// Seeks across zone boundaries show the number of empty cylinders, from 0 to 60. Where completions
/// scatter, several numbers may remain, which are reported.
#[test]
fn empty_cylinders_are_counted() {
    let (mut counted, mut right) = (0, 0);
    for seed in 0..40 {
        let mut random = Random(Pcg64Mcg::seed_from_u64(1000 + seed));
        let mut spec = drive(seed);
        spec.mechanics = catalogued(SEEKS[seed as usize % SEEKS.len()]).mechanics;
        let g = &mut spec.geometry;
        let mut gaps = vec![0];
        for _ in 1..g.zones.len() {
            let max = random.choose(&[0, 3, 60]);
            gaps.push(random.between(0, max) as u32);
        }
        *g = without_empty_cylinders(g);
        let found = g.clone();
        let mut before = 0;
        for (zone, gaps) in g.zones.iter_mut().zip(&gaps) {
            before += gaps;
            zone.first_cylinder += before;
            zone.end_cylinder += before;
        }
        g.cylinders += before;

        let mut simulated = SimulatedDrive::new(&spec, HOST, seed).unwrap();
        let mut disk = Disk::new(&mut simulated).unwrap();
        let layout = Layout::new(&found).unwrap();
        let setup = Setup::measure(&mut disk, &layout, Effort::Normal, seed).unwrap();
        let empty = empty::measure(&mut disk, &setup, &found.zones).unwrap();
        counted += gaps.len() - 1;
        let same = empty.cylinders.iter().zip(&gaps[1..]);
        let same = same.filter(|(found, gaps)| found == gaps).count();
        right += same;
        if same + 1 < gaps.len() {
            println!("{}: {:?}, expected {:?}", spec.name, empty, &gaps[1..]);
            assert!(
                same + empty.assumed.len() + 1 >= gaps.len(),
                "{}",
                spec.name
            );
            continue;
        }
        let mut completed = found.clone();
        empty.insert(&mut completed);
        let (completed, truth) = (
            Layout::new(&completed).unwrap(),
            Layout::new(&spec.geometry).unwrap(),
        );
        let mut at = Lbn(0);
        while at.0 < truth.sectors().0 {
            let (one, other) = (completed.extent(at), truth.extent(at));
            assert_eq!(one.cylinder, other.cylinder, "{}: {at:?}", spec.name);
            at = at + one.sectors.min(other.sectors).max(SectorCount(1));
        }
    }
    println!("{right} of {counted}");
    assert!(counted > 40 && right + 1 >= counted, "{right} of {counted}");
}
