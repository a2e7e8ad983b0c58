//! Data of fixed layouts: exactly the bits of fields survive a round trip; and bytes laid out by
//! hand.

use diskarm_wire::mode::{
    Caching, Control, Disconnect, ErrorRecovery, Exceptions, FlexibleDisk, FormatDevice, Geometry,
    Header6, Header10, LongDescriptor, Notch, Page, ShortDescriptor,
};
use diskarm_wire::nbd::{self, message, option};
use diskarm_wire::report::{self, BlockLimits, Characteristics, Designator};
use diskarm_wire::report::{Capacity10, Capacity16};
use diskarm_wire::report::{Inquiry, padded};
use proptest::prelude::*;

/// Parsing and emitting random bytes gives those bytes masked by all fields, so fields are read and
/// written at the same positions. `mask` asserts that no two of them overlap.
macro_rules! round_trip_tests {
    ($($test:ident: $layout:ty;)+) => {
        proptest! {$(
            #[test]
            fn $test(data in any::<[u8; <$layout>::LENGTH]>()) {
                let value = <$layout>::parse(&data).unwrap();
                let mask = <$layout>::mask();
                let pairs = data.iter().zip(mask);
                let masked: Vec<u8> = pairs.map(|(byte, mask)| byte & mask).collect();
                let emitted = value.emit();
                prop_assert_eq!(&emitted[..], &masked[..]);
                prop_assert_eq!(<$layout>::parse(&emitted), Ok(value));
                prop_assert!(<$layout>::parse(&data[1..]).is_err());
            }
        )+}
    };
}

round_trip_tests! {
    capacity_10: Capacity10;
    capacity_16: Capacity16;
    inquiry: Inquiry;
    header_6: Header6;
    header_10: Header10;
    short_descriptor: ShortDescriptor;
    long_descriptor: LongDescriptor;
    error_recovery: ErrorRecovery;
    disconnect: Disconnect;
    format_device: FormatDevice;
    geometry: Geometry;
    flexible_disk: FlexibleDisk;
    caching: Caching;
    control: Control;
    notch: Notch;
    exceptions: Exceptions;
    block_limits: BlockLimits;
    characteristics: Characteristics;
    transmission_flags: nbd::TransmissionFlags;
    command_flags: nbd::CommandFlags;
    extent_flags: nbd::ExtentFlags;
    greeting: nbd::Greeting;
    client_flags: nbd::ClientFlags;
    export_reply: nbd::ExportReply;
    option_header: option::OptionHeader;
    answer_header: option::AnswerHeader;
    export_info: option::ExportInfo;
    block_sizes: option::BlockSizes;
    simple_reply: message::Simple;
    extent: message::Extent;
    long_extent: message::LongExtent;
}

/// worthington96 table 2: bytes of pages 0x02, 0x03, 0x04, 0x08 and 0x0C, counted from the header.
#[test]
fn field_positions_match_the_paper() {
    let page = |content: &[u8]| [&[0, 0], content].concat();
    let disconnect = Disconnect::parse(&[9, 8, 0, 1, 0, 2, 0, 3, 0, 4, 3, 0, 0, 0]).unwrap();
    let found = page(&disconnect.emit());
    assert_eq!(
        (found[2], found[3]),
        (disconnect.buffer_full_ratio, disconnect.buffer_empty_ratio)
    );
    assert_eq!(
        (disconnect.buffer_full_ratio, disconnect.maximum_burst),
        (9, 4)
    );
    let mut format = [0; 22];
    format[10 - 2..12 - 2].copy_from_slice(&[0, 108]);
    format[16 - 2..20 - 2].copy_from_slice(&[0, 37, 0, 19]);
    let format = FormatDevice::parse(&format).unwrap();
    let skews = (format.track_skew, format.cylinder_skew);
    assert_eq!((format.sectors_per_track, skews), (108, (37, 19)));
    let mut geometry = [0; 22];
    geometry[5 - 2] = 13;
    geometry[20 - 2..].copy_from_slice(&[0x15, 0x18, 0, 0]);
    let geometry = Geometry::parse(&geometry).unwrap();
    assert_eq!((geometry.heads, geometry.rotation_rate), (13, 5400));
    let caching = Caching::parse(&[
        0x05, 0, 0xff, 0xff, 0, 1, 0, 2, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0,
    ]);
    let caching = caching.unwrap();
    assert!(caching.write_cache && caching.read_cache_disabled && !caching.multiplied);
    let limits = (
        caching.minimum_prefetch,
        caching.maximum_prefetch,
        caching.prefetch_ceiling,
    );
    assert_eq!(limits, (1, 2, 3));
    let mut notch = [0; 22];
    notch[0] = 0x40;
    notch[6 - 2..8 - 2].copy_from_slice(&[0, 3]);
    notch[8 - 2..16 - 2].copy_from_slice(&[0, 0, 1, 2, 0, 0, 9, 12]);
    let notch = Notch::parse(&notch).unwrap();
    assert!(notch.logical && !notch.notched);
    assert_eq!(
        (notch.active, notch.starting_boundary, notch.ending_boundary),
        (3, 258, 2316)
    );
}

#[test]
fn text_is_padded_and_made_graphic() {
    assert_eq!(&padded::<8>("HP"), b"HP      ");
    assert_eq!(&padded::<4>("1.0.17"), b"1.0.");
    assert_eq!(&padded::<4>("a\u{e9}\n"), b"a?? ");
}

proptest! {
    #[test]
    fn mode_pages_round_trip(
        saveable: bool,
        code in 0u8..0x40,
        subpage: Option<u8>,
        content in prop::collection::vec(any::<u8>(), 0..255),
        after in prop::collection::vec(any::<u8>(), 0..9),
    ) {
        let page = Page { saveable, code, subpage, content: &content };
        let emitted = page.emit();
        let data = [&emitted[..], &after].concat();
        prop_assert_eq!(Page::parse(&data), Ok((page, &after[..])));
        prop_assert!(Page::parse(&emitted[..emitted.len() - 1]).is_err());
    }

    #[test]
    fn vital_pages_round_trip(
        qualifier in 0u8..8,
        device_type in 0u8..32,
        code: u8,
        content in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let page = report::VitalPage { qualifier, device_type, code, content: &content };
        let data = page.emit();
        prop_assert_eq!(report::VitalPage::parse(&data), Ok(page));
    }

    #[test]
    fn designators_round_trip(
        names in prop::collection::vec(
            (0u8..16, 0u8..4, 0u8..16, prop::collection::vec(any::<u8>(), 0..40)), 0..6)
    ) {
        let designators = names.iter().map(|(code_set, association, kind, name)| Designator {
            code_set: *code_set,
            association: *association,
            kind: *kind,
            name,
        });
        let data: Vec<u8> = designators.clone().flat_map(|designator| designator.emit()).collect();
        let found: Vec<_> = report::designators(&data).collect();
        prop_assert_eq!(found, designators.collect::<Vec<_>>());
    }

    #[test]
    fn any_bytes_are_parsed_as_pages_or_refused(data in prop::collection::vec(any::<u8>(), 0..80)) {
        let mut rest = &data[..];
        while let Ok((_, next)) = Page::parse(rest) {
            rest = next;
        }
        if let Ok(page) = report::VitalPage::parse(&data) {
            prop_assert!(report::designators(page.content).count() <= data.len());
        }
    }
}
