//! Login.

use super::{Serial, Tag};
use crate::layout::FieldPosition;

/// Numbers of the stages of a login.
pub mod stage {
    /// `SecurityNegotiation`.
    pub const SECURITY: u8 = 0;
    /// `LoginOperationalNegotiation`.
    pub const OPERATIONAL: u8 = 1;
    /// `FullFeaturePhase`.
    pub const FULL_FEATURE: u8 = 3;
}

layout! {
    /// A step of the login: text in the data.
    pub struct LoginRequest: 48 {
        /// The initiator wants to continue to the next stage.
        transit: bool = FieldPosition::flag(1, 7);
        /// The text continues in the next request.
        continues: bool = FieldPosition::flag(1, 6);
        /// The current stage, a number of [`stage`].
        current: u8 = FieldPosition::bits(1, 3, 2);
        next: u8 = FieldPosition::bits(1, 1, 0);
        /// The highest version of the protocol that the initiator knows.
        version_max: u8 = FieldPosition::bytes(2, 1);
        /// The lowest.
        version_min: u8 = FieldPosition::bytes(3, 1);
        /// The initiator's part of the name of the session.
        isid: [u8; 6] = FieldPosition::bytes(8, 6);
        /// The target's part; 0 for a new session.
        tsih: u16 = FieldPosition::bytes(14, 2);
        /// Equal in all requests of a login.
        tag: Tag = FieldPosition::bytes(16, 4);
        /// Name of the connection.
        connection: u16 = FieldPosition::bytes(20, 2);
        /// The number of the next command.
        command: Serial = FieldPosition::bytes(24, 4);
        /// The number of the next response that is expected.
        expected_status: Serial = FieldPosition::bytes(28, 4);
    }
}

layout! {
    /// The answer to a step of the login: text in the data.
    pub struct LoginResponse: 48 {
        /// The target agrees to continue to the next stage.
        transit: bool = FieldPosition::flag(1, 7);
        /// The text continues in the next response.
        continues: bool = FieldPosition::flag(1, 6);
        /// The current stage, a number of [`stage`].
        current: u8 = FieldPosition::bits(1, 3, 2);
        next: u8 = FieldPosition::bits(1, 1, 0);
        /// The highest version of the protocol that the target knows.
        version_max: u8 = FieldPosition::bytes(2, 1);
        /// The version in use.
        version_active: u8 = FieldPosition::bytes(3, 1);
        /// The initiator's part of the name of the session.
        isid: [u8; 6] = FieldPosition::bytes(8, 6);
        /// The target's part, in the last response.
        tsih: u16 = FieldPosition::bytes(14, 2);
        tag: Tag = FieldPosition::bytes(16, 4);
        /// The number of this response.
        status: Serial = FieldPosition::bytes(24, 4);
        /// The number of the next command that is expected.
        expected_command: Serial = FieldPosition::bytes(28, 4);
        /// The largest number of a command that is taken now.
        max_command: Serial = FieldPosition::bytes(32, 4);
        /// Class and detail, a number of [`login_status`].
        result: u16 = FieldPosition::bytes(36, 2);
    }
}

/// Results of a login: class in the first byte, detail in the second.
pub mod login_status {
    /// The login continues, or has succeeded.
    pub const SUCCESS: u16 = 0x0000;
    /// The initiator made an error.
    pub const INITIATOR_ERROR: u16 = 0x0200;
    /// The initiator is not who it says.
    pub const AUTHENTICATION_FAILURE: u16 = 0x0201;
    /// The initiator may not use this target.
    pub const AUTHORIZATION_FAILURE: u16 = 0x0202;
    /// There is no such target.
    pub const NOT_FOUND: u16 = 0x0203;
    /// The version of the protocol is not supported.
    pub const UNSUPPORTED_VERSION: u16 = 0x0205;
    /// The session has its maximum number of connections.
    pub const TOO_MANY_CONNECTIONS: u16 = 0x0206;
    /// A key is missing, such as the initiator's name.
    pub const MISSING_PARAMETER: u16 = 0x0207;
    /// The connection cannot join this session.
    pub const CANNOT_INCLUDE: u16 = 0x0208;
    /// Sessions of this type are not supported.
    pub const UNSUPPORTED_SESSION: u16 = 0x0209;
    /// There is no such session.
    pub const NO_SESSION: u16 = 0x020a;
    /// The request is invalid in a login, or at this point of it.
    pub const INVALID_REQUEST: u16 = 0x020b;
    /// The target made an error.
    pub const TARGET_ERROR: u16 = 0x0300;
    /// The target is not available now.
    pub const UNAVAILABLE: u16 = 0x0301;
    /// The target has no room for another session or connection.
    pub const OUT_OF_RESOURCES: u16 = 0x0302;
}
