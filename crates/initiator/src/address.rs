//! Where a disk is.

use diskarm_wire::iscsi::PORT;

/// Where a disk is: `iscsi://HOST[:PORT]/TARGET/LUN`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Name or address of the host; one of version 6 without brackets.
    pub host: String,
    /// The TCP port.
    pub port: u16,
    /// The name of the target; empty if it was left out.
    pub target: String,
    /// The number of the logical unit, below 16,384.
    pub lun: u16,
}

impl Address {
    /// What [`Self::parse`] expects.
    pub const EXPECTED: &str = "iscsi://HOST[:PORT]/TARGET/LUN";

    /// Reads what follows `iscsi:`. Without a LUN it is 0, without a target it has no name.
    pub fn parse(url: &str) -> Option<Self> {
        let rest = url.strip_prefix("//")?;
        let (portal, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = match portal.strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => portal
                .find(':')
                .map_or((portal, ""), |at| portal.split_at(at)),
        };
        let port = match port {
            "" => PORT,
            port => port.strip_prefix(':')?.parse().ok()?,
        };
        let (target, lun) = match path.rsplit_once('/') {
            Some((target, lun)) => (target, lun.parse().ok()?),
            None => (path, 0),
        };
        // Names and secrets for CHAP do not belong into a URL.
        let is_sound =
            !host.is_empty() && !host.contains('@') && !target.contains('/') && lun < 1 << 14;
        is_sound.then(|| Self {
            host: host.to_owned(),
            port,
            target: target.to_owned(),
            lun,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let parsed = |url| {
            let found = Address::parse(url)?;
            Some((found.host, found.port, found.target, found.lun))
        };
        let address = |host: &str, port, target: &str, lun| {
            Some((host.to_owned(), port, target.to_owned(), lun))
        };
        assert_eq!(
            parsed("//127.0.0.1:3261/iqn.a:disk/3"),
            address("127.0.0.1", 3261, "iqn.a:disk", 3)
        );
        assert_eq!(parsed("//host/iqn.a"), address("host", 3260, "iqn.a", 0));
        assert_eq!(parsed("//[::1]:1/t/0"), address("::1", 1, "t", 0));
        assert_eq!(parsed("//[::1]"), address("::1", 3260, "", 0));
        for wrong in [
            "host/t/0",
            "//",
            "///t/0",
            "//host:0x1/t/0",
            "//host/t/x",
            "//host/a/t/0",
            "//host/t/16384",
            "//host:99999/t/0",
            "//[::1/t/0",
            "//me@host/t/0",
        ] {
            assert_eq!(Address::parse(wrong), None, "{wrong}");
        }
    }
}
