//! The options that make a unit more like a real drive.

use diskarm_core::request::Op;
use diskarm_core::units::{Instant, Span};
use diskarm_emulate::{Places, Realism, Recalibration, Response, Status, WarmUp};
use diskarm_wire::command::{AddressFormat, Values};
use diskarm_wire::defect::{Address, Translate};
use diskarm_wire::mode::{Disconnect, FormatDevice, Notch};
use diskarm_wire::report::Capacity10;
use diskarm_wire::{Command, Sense};

use crate::bench::{Bench, catalogue_spec, transfer};
use crate::blocks::TRANSLATE_ADDRESS;

/// Returns whether address translation, notches and READ CAPACITY per cylinder work.
fn supported_methods(places: Places) -> [bool; 3] {
    let spec = catalogue_spec("hp-c2247");
    let realism = Realism {
        places,
        ..Realism::default()
    };
    let mut bench = Bench::with_realism(&spec, realism);
    let query = Translate {
        address: Address::ShortBlock(5),
        wanted: AddressFormat::PhysicalSector,
    };
    let translates = bench.run(&TRANSLATE_ADDRESS, &query.emit()).status == Status::Good;
    let sense = Command::ModeSense {
        size: diskarm_wire::command::Size::Six,
        page: Notch::CODE,
        subpage: 0,
        values: Values::Current,
        no_block_descriptors: true,
        long_addresses: false,
        length: 255,
    };
    let notched = bench.run(&sense, &[]).status == Status::Good;
    let partial = Command::ReadCapacity10 {
        at: 0,
        partial: true,
    };
    let last = Capacity10::parse(&bench.data(&partial, &[])).unwrap().last;
    let by_cylinder = u64::from(last) + 1 < spec.geometry.sectors.0;
    [translates, notched, by_cylinder]
}

#[test]
fn locations_are_reported_in_three_ways() {
    assert_eq!(supported_methods(Places::Translated), [true; 3]);
    assert_eq!(supported_methods(Places::Notches), [false, true, true]);
    assert_eq!(supported_methods(Places::Hidden), [false; 3]);
}

#[test]
fn nominal_pages_hide_zones() {
    let spec = catalogue_spec("hp-c2247");
    let realism = Realism {
        nominal: true,
        ..Realism::default()
    };
    let mut bench = Bench::with_realism(&spec, realism);
    let page = FormatDevice::parse(&bench.page(FormatDevice::CODE, Values::Current)).unwrap();
    let tracks = spec.geometry.surfaces * spec.geometry.cylinders;
    let mean = spec.geometry.sectors.0 / u64::from(tracks);
    assert_eq!(u64::from(page.sectors_per_track), mean);
}

/// Reads single blocks far apart, each `pause` after the previous one has ended.
fn reads(realism: Realism, pause: Span, count: u64) -> Vec<(Instant, Response)> {
    let spec = catalogue_spec("hp-c2247");
    let mut bench = Bench::with_realism(&spec, realism);
    let far = |n: u64| n * 700_001 % spec.geometry.sectors.0;
    let read = |n| {
        bench.now += pause;
        let response = bench.run(&transfer(Op::Read, far(n), 1), &[]);
        (bench.now, response)
    };
    (0..count).map(read).collect()
}

/// Mean and standard deviation, by their definitions.
#[test]
fn noise_is_normal_and_does_not_affect_the_drive() {
    let quiet = reads(Realism::default(), Span::ZERO, 2_000);
    let noise = Realism {
        noise: Span::from_us(100.0),
        seed: 3,
        ..Realism::default()
    };
    let noisy = reads(noise, Span::ZERO, 2_000);
    let late: Vec<f64> = noisy
        .iter()
        .zip(&quiet)
        .map(|((at, response), (expected, _))| {
            assert_eq!(at, expected);
            response.at.after(*expected).as_ms()
        })
        .collect();
    let mean = late.iter().sum::<f64>() / 2_000.0;
    let variance = late.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 2_000.0;
    // Four standard errors: 0.1 / sqrt(2000), and 0.1 / sqrt(4000).
    assert!(mean.abs() < 0.009, "{mean}");
    assert!((variance.sqrt() - 0.1).abs() < 0.0064, "{variance}");
}

#[test]
fn recalibrations_take_their_time() {
    let every = Span::from_s(1.0);
    let lasts = Span::from_ms(300.0);
    let recalibrating = Realism {
        recalibration: Some(Recalibration { every, lasts }),
        ..Realism::default()
    };
    let (now, usual) = (
        reads(recalibrating, Span::ZERO, 400),
        reads(Realism::default(), Span::ZERO, 400),
    );
    let seconds = now.last().unwrap().0.as_s().floor();
    // Each adds its duration, to within a revolution and a seek.
    let extra = (now.last().unwrap().0 - usual.last().unwrap().0).as_s();
    assert!(
        (extra - 0.3 * seconds).abs() < 0.03 * seconds,
        "{extra} {seconds}"
    );
}

#[test]
fn commands_after_an_idle_time_take_longer() {
    let warm_up = WarmUp {
        idle: Span::from_s(1.0),
        commands: 1,
        extra: Span::from_ms(25.0),
    };
    let cold = Realism {
        warm_up: Some(warm_up),
        ..Realism::default()
    };
    let time = |realism, pause| {
        let ends = reads(realism, pause, 50);
        (ends.last().unwrap().0.after(Instant::START) - pause * 50).as_ms()
    };
    let (short, long) = (Span::from_ms(10.0), Span::from_ms(1_500.0));
    assert_eq!(time(cold, short), time(Realism::default(), short));
    // Within half a revolution, since the read starts at another angle.
    let extra = time(cold, long) - time(Realism::default(), long);
    assert!((extra / 50.0 - 25.0).abs() < 2.0, "{extra}");
}

/// The transfer of a whole track starts when the bus will not have to wait.
#[test]
fn adaptive_ratios_send_when_the_bus_need_not_wait() {
    let spec = catalogue_spec("dec-rz26");
    let adaptive = Realism {
        adaptive_ratios: true,
        ..Realism::default()
    };
    let mut bench = Bench::with_realism(&spec, adaptive);
    let page = Disconnect::parse(&bench.page(Disconnect::CODE, Values::Current)).unwrap();
    assert_eq!(page.buffer_full_ratio, 0);
    bench.data(&transfer(Op::Read, 100_000, 8), &[]);
    let rules = |bench: &Bench| {
        let spec = diskarm_emulate::Backing::spec(bench.unit.device()).unwrap();
        spec.buffer.read_watermark
    };
    let chosen = rules(&bench);
    let layout = diskarm_core::geometry::Layout::new(&spec.geometry).unwrap();
    let cylinder = layout.pba(diskarm_core::units::Lbn(100_000)).cylinder;
    let track = layout.track_sectors(cylinder).unwrap() as f64;
    let media = spec.mechanics.period_ns / track;
    let bus = spec.bus.read_sector.as_ns() as f64;
    assert!((chosen - (1.0 - bus / media)).abs() < 1e-12);
    // A nonzero ratio is kept.
    let fixed = Disconnect {
        buffer_full_ratio: 64,
        ..page
    };
    let response = bench.select(Disconnect::CODE, &fixed.emit());
    assert_eq!(
        response.status,
        Status::Good,
        "{:?}",
        Sense::parse(&response.sense)
    );
    bench.data(&transfer(Op::Read, 1, 8), &[]);
    assert_eq!(rules(&bench), 0.25);
}
