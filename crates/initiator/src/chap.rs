//! CHAP: proof of a secret that does not tell it (RFC 1994, with MD5).

use md5::{Digest, Md5};

/// Who logs in, and by which secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The name that goes with `secret` (key CHAP_N).
    pub user: String,
    /// What proves to the target who logs in.
    pub secret: Vec<u8>,
    /// What the target must prove; `None` if it need not.
    pub target_secret: Option<Vec<u8>>,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// The algorithm MD5 (key CHAP_A), the only one that all targets know.
pub const ALGORITHM: &str = "5";

/// The longest challenge and response, in bytes (section "Challenge Handshake Authentication
/// Protocol (CHAP)").
pub const MAX: usize = 1024;

/// The proof that the secret is known, for this challenge with its identifier.
pub fn response(identifier: u8, secret: &[u8], challenge: &[u8]) -> [u8; 16] {
    let mut hash = Md5::new();
    hash.update([identifier]);
    hash.update(secret);
    hash.update(challenge);
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1321: the digest of "abc", here in its three parts.
    #[test]
    fn the_response_is_a_digest_of_all_three() {
        let expected = 0x9001_5098_3cd2_4fb0_d696_3f7d_28e1_7f72_u128;
        assert_eq!(response(b'a', b"b", b"c"), expected.to_be_bytes());
    }

    #[test]
    fn secrets_are_not_printed() {
        let credentials = Credentials {
            user: "me".to_owned(),
            secret: b"hidden".to_vec(),
            target_secret: None,
        };
        assert_eq!(
            format!("{credentials:?}"),
            "Credentials { user: \"me\", .. }"
        );
    }
}
