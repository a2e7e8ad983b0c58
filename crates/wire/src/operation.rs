//! The operations of a disk: their codes, lengths and reserved bits.

/// An operation, as REPORT SUPPORTED OPERATION CODES describes it (SPC-4).
#[derive(Debug, PartialEq, Eq)]
pub struct Operation {
    pub name: &'static str,
    pub code: u8,
    /// The service action of operations with the same code: bits 4 to 0 of byte 1.
    pub service_action: Option<u8>,
    /// The CDB usage data: as long as the command block, with a one for every bit that may be set.
    /// Byte 0 is the operation code, and byte 1 contains the service action, if any.
    pub usage: &'static [u8],
}

/// The reason for refusing a command block (SPC-4, sense key ILLEGAL REQUEST).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// The operation is unknown, or the block is empty: INVALID COMMAND OPERATION CODE.
    Operation,
    /// A reserved bit is set, a service action is unknown, or a field has a value that the standard
    /// reserves: INVALID FIELD IN CDB.
    Field {
        /// Offset of the field, in bytes from the start of the command block.
        byte: u16,
        /// Its most significant bit in that byte, 7 to 0; `None` for fields of whole bytes.
        bit: Option<u8>,
    },
    /// The command block has the wrong length for the operation. There is no sense data for this
    /// error in a transport that preserves lengths.
    Length {
        /// The correct length, in bytes.
        expected: usize,
    },
}

macro_rules! operations {
    ($($name:literal: [$code:literal $(/ $action:literal)?, $($usage:literal),*];)+) => {
        /// All operations, in the order of codes and service actions.
        pub static OPERATIONS: &[Operation] = &[$(Operation {
            name: $name,
            code: $code,
            service_action: operations!(@action $($action)?),
            usage: &[$code, $($usage),*],
        }),+];
    };
    (@action) => { None };
    (@action $action:literal) => { Some($action) };
}

operations! {
    "TEST UNIT READY": [0x00, 0, 0, 0, 0, 0];
    "REQUEST SENSE": [0x03, 0x01, 0, 0, 0xff, 0];
    "FORMAT UNIT": [0x04, 0x3f, 0, 0xff, 0xff, 0];
    "REASSIGN BLOCKS": [0x07, 0x03, 0, 0, 0, 0];
    "READ(6)": [0x08, 0x1f, 0xff, 0xff, 0xff, 0];
    "WRITE(6)": [0x0a, 0x1f, 0xff, 0xff, 0xff, 0];
    "SEEK(6)": [0x0b, 0x1f, 0xff, 0xff, 0, 0];
    "INQUIRY": [0x12, 0x01, 0xff, 0xff, 0xff, 0];
    "MODE SELECT(6)": [0x15, 0x11, 0, 0, 0xff, 0];
    "RESERVE(6)": [0x16, 0, 0, 0, 0, 0];
    "RELEASE(6)": [0x17, 0, 0, 0, 0, 0];
    "MODE SENSE(6)": [0x1a, 0x08, 0xff, 0xff, 0xff, 0];
    "START STOP UNIT": [0x1b, 0x01, 0, 0x0f, 0xf7, 0];
    "RECEIVE DIAGNOSTIC RESULTS": [0x1c, 0x01, 0xff, 0xff, 0xff, 0];
    "SEND DIAGNOSTIC": [0x1d, 0xf7, 0, 0xff, 0xff, 0];
    "READ CAPACITY(10)": [0x25, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0x01, 0];
    "READ(10)": [0x28, 0x18, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0];
    "WRITE(10)": [0x2a, 0x18, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0];
    "SEEK(10)": [0x2b, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    "WRITE AND VERIFY(10)": [0x2e, 0x16, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0];
    "VERIFY(10)": [0x2f, 0x16, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0];
    "PRE-FETCH(10)": [0x34, 0x02, 0xff, 0xff, 0xff, 0xff, 0x1f, 0xff, 0xff, 0];
    "SYNCHRONIZE CACHE(10)": [0x35, 0x02, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0];
    "READ DEFECT DATA(10)": [0x37, 0, 0x1f, 0, 0, 0, 0, 0xff, 0xff, 0];
    "WRITE SAME(10)": [0x41, 0, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0];
    "LOG SENSE": [0x4d, 0x01, 0xff, 0xff, 0, 0xff, 0xff, 0xff, 0xff, 0];
    "MODE SELECT(10)": [0x55, 0x11, 0, 0, 0, 0, 0, 0xff, 0xff, 0];
    "RESERVE(10)": [0x56, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    "RELEASE(10)": [0x57, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    "MODE SENSE(10)": [0x5a, 0x18, 0xff, 0xff, 0, 0, 0, 0xff, 0xff, 0];
    "PERSISTENT RESERVE IN": [0x5e, 0x1f, 0, 0, 0, 0, 0, 0xff, 0xff, 0];
    "PERSISTENT RESERVE OUT": [0x5f, 0x1f, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff, 0];
    "READ(16)": [
        0x88, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0
    ];
    "COMPARE AND WRITE": [
        0x89, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0xff, 0, 0
    ];
    "WRITE(16)": [
        0x8a, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0
    ];
    "ORWRITE(16)": [
        0x8b, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0
    ];
    "WRITE AND VERIFY(16)": [
        0x8e, 0x16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0
    ];
    "VERIFY(16)": [
        0x8f, 0x16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0
    ];
    "PRE-FETCH(16)": [
        0x90, 0x02, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x1f, 0
    ];
    "SYNCHRONIZE CACHE(16)": [
        0x91, 0x02, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0
    ];
    "WRITE SAME(16)": [
        0x93, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0
    ];
    "READ CAPACITY(16)": [
        0x9e / 0x10, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0x01, 0
    ];
    "REPORT LUNS": [0xa0, 0, 0xff, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0];
    "REPORT SUPPORTED OPERATION CODES": [
        0xa3 / 0x0c, 0x1f, 0x87, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0
    ];
    "REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS": [
        0xa3 / 0x0d, 0x1f, 0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0
    ];
    "READ(12)": [0xa8, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0];
    "WRITE(12)": [0xaa, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0];
    "WRITE AND VERIFY(12)": [0xae, 0x16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0];
    "VERIFY(12)": [0xaf, 0x16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0];
    "READ DEFECT DATA(12)": [0xb7, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0];
}

impl Operation {
    /// Finds the operation of a command block and checks its length and reserved bits. Fails with
    /// the first violation. If several reserved bits are set, that is the most significant one in
    /// the first byte that has any.
    pub fn find(block: &[u8]) -> Result<&'static Self, Invalid> {
        let code = *block.first().ok_or(Invalid::Operation)?;
        // Operations with the same code are consecutive.
        let first = OPERATIONS.partition_point(|operation| operation.code < code);
        let same = OPERATIONS[first..]
            .iter()
            .take_while(|operation| operation.code == code);
        let action = block.get(1).map(|byte| byte & 0x1f);
        let is_match = |operation: &&Self| {
            operation.service_action.is_none() || operation.service_action == action
        };
        match same.clone().find(is_match) {
            Some(operation) => operation.check(block).map(|()| operation),
            None if same.count() == 0 => Err(Invalid::Operation),
            None => Err(Invalid::Field {
                byte: 1,
                bit: Some(4),
            }),
        }
    }

    /// Checks that the reserved bits of `block` are zero and its length is correct.
    fn check(&self, block: &[u8]) -> Result<(), Invalid> {
        if block.len() != self.usage.len() {
            return Err(Invalid::Length {
                expected: self.usage.len(),
            });
        }
        for (byte, (found, usage)) in block.iter().zip(self.usage).enumerate().skip(1) {
            let wrong = found & !usage;
            if wrong != 0 {
                return Err(Invalid::Field {
                    byte: byte as u16,
                    bit: Some(7 - wrong.leading_zeros() as u8),
                });
            }
        }
        Ok(())
    }
}
