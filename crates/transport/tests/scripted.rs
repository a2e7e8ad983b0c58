//! Target behaviour that Debian's tgt never shows, legal and illegal. Each test runs a scripted
//! target.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use diskarm_transport::iscsi::{Address, Session, targets};
use diskarm_transport::{Data, Reply, Transport, TransportError};
use diskarm_wire::iscsi::{
    AsyncMessage, Command, DataIn, Digest, Lengths, LoginRequest, LoginResponse, Lun, Message,
    NopIn, Response, Serial, Tag, TextResponse, async_event, padded, stage, text,
};

/// The target's end of a connection.
struct TargetEnd {
    stream: TcpStream,
    digests: bool,
}

impl TargetEnd {
    fn receive(&mut self) -> (Message, Vec<u8>) {
        let mut header = [0; Message::LENGTH];
        self.stream.read_exact(&mut header).unwrap();
        let lengths = Lengths::parse(&header).unwrap();
        if self.digests {
            assert_eq!(self.digest(), Digest::new(&header).bytes());
        }
        let mut data = vec![0; lengths.padded()];
        self.stream.read_exact(&mut data).unwrap();
        if self.digests && !data.is_empty() {
            assert_eq!(self.digest(), Digest::new(&data).bytes());
        }
        data.truncate(lengths.data_length as usize);
        (Message::parse(&header).unwrap(), data)
    }

    fn digest(&mut self) -> [u8; 4] {
        let mut digest = [0; 4];
        self.stream.read_exact(&mut digest).unwrap();
        digest
    }

    fn send(&mut self, message: &Message, data: &[u8]) {
        let header = message.emit(Lengths::of_data(data.len()));
        let mut bytes = header.to_vec();
        let mut data = data.to_vec();
        data.resize(padded(data.len()), 0);
        if self.digests {
            bytes.extend(Digest::new(&header).bytes());
        }
        bytes.extend(&data);
        if self.digests && !data.is_empty() {
            bytes.extend(Digest::new(&data).bytes());
        }
        self.stream.write_all(&bytes).unwrap();
    }

    /// Accepts a login with these choices.
    fn log_in(&mut self, choices: &[u8]) {
        for data in [&b"AuthMethod=None\0"[..], choices] {
            let (message, _) = self.receive();
            let Message::LoginRequest(request) = message else {
                panic!("{message:?}");
            };
            self.send(&Message::LoginResponse(accept(&request)), data);
        }
    }

    /// Receives the next command.
    fn command(&mut self) -> Command {
        match self.receive().0 {
            Message::Command(command) => command,
            other => panic!("{other:?}"),
        }
    }
}

fn accept(request: &LoginRequest) -> LoginResponse {
    LoginResponse {
        transit: request.transit,
        continues: false,
        current: request.current,
        next: request.next,
        version_max: 0,
        version_active: 0,
        isid: request.isid,
        tsih: u16::from(request.next == stage::FULL_FEATURE),
        tag: request.tag,
        status: Serial(u32::MAX),
        expected_command: request.command,
        max_command: request.command,
        result: 0,
    }
}

/// Returns a response with GOOD status that permits the initiator to send another command.
fn good(command: &Command) -> Response {
    Response {
        read_overflow: false,
        read_underflow: false,
        overflow: false,
        underflow: false,
        response: 0,
        scsi_status: 0,
        tag: command.tag,
        snack: Tag(0),
        status: command.expected_status,
        expected_command: command.command.next(),
        max_command: command.command.next(),
        expected_data: Serial(0),
        read_residual: 0,
        residual: 0,
    }
}

fn data_in(command: &Command, offset: u32) -> DataIn {
    DataIn {
        is_final: false,
        acknowledge: false,
        overflow: false,
        underflow: false,
        has_status: false,
        scsi_status: 0,
        lun: Lun(0),
        tag: command.tag,
        transfer: Tag::NONE,
        status: Serial(0),
        expected_command: command.command.next(),
        max_command: command.command.next(),
        data: Serial(0),
        offset,
        residual: 0,
    }
}

/// Logs in to a target that then runs this script.
fn start(
    choices: &'static [u8],
    script: impl FnOnce(&mut TargetEnd) + Send + 'static,
) -> (Session, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let target = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut side = TargetEnd {
            stream,
            digests: false,
        };
        side.log_in(choices);
        side.digests = text::pairs(choices).any(|pair| pair == Ok(("HeaderDigest", "CRC32C")));
        script(&mut side);
    });
    let address = Address::parse(&format!("//127.0.0.1:{port}/iqn.a/0")).unwrap();
    (Session::open(&address, None).unwrap(), target)
}

const READ: [u8; 10] = [0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0];

/// Reads 8 bytes. Returns the reply and the bytes.
fn read(session: &mut Session) -> (Result<Reply, TransportError>, [u8; 8]) {
    let mut data = [0; 8];
    let reply = session.execute(&READ, Data::In(&mut data));
    (reply, data)
}

/// Checks that the script has finished without a panic.
fn join(target: JoinHandle<()>) {
    target.join().unwrap();
}

#[test]
fn data_may_arrive_in_parts_with_digests_and_pings() {
    let (mut session, target) = start(b"HeaderDigest=CRC32C\0DataDigest=CRC32C\0", |side| {
        let command = side.command();
        // The first command; the login responses were numbered before it.
        assert_eq!(
            (command.command, command.expected_status),
            (Serial(1), Serial(0))
        );
        side.send(&Message::DataIn(data_in(&command, 4)), &[5, 6, 7, 8]);
        let ping = NopIn {
            lun: Lun(0),
            tag: Tag::NONE,
            transfer: Tag(77),
            status: Serial(0),
            expected_command: command.command.next(),
            max_command: command.command.next(),
        };
        side.send(&Message::NopIn(ping), b"hello");
        let (answer, echo) = side.receive();
        let Message::NopOut(answer) = answer else {
            panic!("{answer:?}");
        };
        assert_eq!((answer.transfer, answer.tag), (Tag(77), Tag::NONE));
        assert_eq!(echo, b"hello");
        let last = DataIn {
            is_final: true,
            has_status: true,
            ..data_in(&command, 0)
        };
        side.send(&Message::DataIn(last), &[1, 2, 3, 4]);
        // The status was sent with the data.
        assert_eq!(side.command().expected_status, Serial(1));
    });
    let (reply, data) = read(&mut session);
    let reply = reply.unwrap();
    assert_eq!((reply.status, reply.transferred), (0, 8));
    assert_eq!(data, [1, 2, 3, 4, 5, 6, 7, 8]);
    let (reply, _) = read(&mut session);
    assert!(matches!(reply, Err(TransportError::Lost(_))), "{reply:?}");
    join(target);
}

/// No command is sent while the command window of the target is closed.
#[test]
fn commands_wait_while_the_window_is_closed() {
    let (mut session, target) = start(b"MaxConnections=1\0", |side| {
        let command = side.command();
        let closed = Response {
            max_command: command.command,
            ..good(&command)
        };
        side.send(&Message::Response(closed), &[]);
        side.stream.set_nonblocking(true).unwrap();
        let mut byte = [0];
        let kind = side.stream.read(&mut byte).unwrap_err().kind();
        assert_eq!(kind, std::io::ErrorKind::WouldBlock);
        side.stream.set_nonblocking(false).unwrap();
        let open = NopIn {
            lun: Lun(0),
            tag: Tag::NONE,
            transfer: Tag::NONE,
            status: Serial(1),
            expected_command: command.command.next(),
            max_command: command.command.next(),
        };
        side.send(&Message::NopIn(open), &[]);
        let command = side.command();
        side.send(&Message::Response(good(&command)), &[]);
    });
    for _ in 0..2 {
        let (reply, _) = read(&mut session);
        let reply = reply.unwrap();
        assert_eq!((reply.status, reply.transferred), (0, 0));
    }
    drop(session);
    join(target);
}

/// A target's reaction to a command.
type Script = fn(&mut TargetEnd, &Command);

/// Illegal reactions, with a part of the resulting error message.
const VIOLATIONS: [(&str, Script); 8] = [
    ("more data than the command reads", |side, command| {
        side.send(&Message::DataIn(data_in(command, 5)), &[0; 4]);
    }),
    ("more data than the command reads", |side, command| {
        side.send(&Message::DataIn(data_in(command, u32::MAX)), &[0; 4]);
    }),
    (
        "requests data for a command that sends none",
        |side, command| {
            let wanted = diskarm_wire::iscsi::ReadyToTransfer {
                lun: Lun(0),
                tag: command.tag,
                transfer: Tag(1),
                status: Serial(0),
                expected_command: Serial(0),
                max_command: Serial(0),
                number: Serial(0),
                offset: 0,
                length: 512,
            };
            side.send(&Message::ReadyToTransfer(wanted), &[]);
        },
    ),
    ("a message with 16777215 bytes of data", |side, command| {
        let lengths = Lengths {
            ahs_words: 255,
            data_length: 0xff_ffff,
        };
        let header = Message::DataIn(data_in(command, 0)).emit(lengths);
        side.stream.write_all(&header).unwrap();
        side.stream.write_all(&[0; 1020]).unwrap();
    }),
    ("unknown message 0x1f", |side, _| {
        side.stream
            .write_all(&[0x1f; Message::LENGTH])
            .unwrap_or(());
        side.stream.write_all(&[0x1f; 1 << 16]).unwrap_or(());
    }),
    ("truncated sense data", |side, command| {
        side.send(&Message::Response(good(command)), &[0, 18, 0x70]);
    }),
    ("could not execute a command (0x01)", |side, command| {
        let failed = Response {
            response: 1,
            ..good(command)
        };
        side.send(&Message::Response(failed), &[]);
    }),
    ("it ends the session (event 1)", |side, command| {
        let wanted = AsyncMessage {
            lun: Lun(0),
            tag: Tag::NONE,
            status: command.expected_status,
            expected_command: command.command.next(),
            max_command: command.command.next(),
            event: async_event::LOGOUT_WANTED,
            vendor: 0,
            first: 0,
            second: 3,
            third: 0,
        };
        side.send(&Message::AsyncMessage(wanted), &[]);
    }),
];

/// A violation of the protocol ends the session, and no data are returned.
#[test]
fn protocol_violations_end_the_session() {
    for (message, script) in VIOLATIONS {
        let (mut session, target) = start(b"MaxConnections=1\0", move |side| {
            let command = side.command();
            script(side, &command);
        });
        let (reply, data) = read(&mut session);
        let Err(TransportError::Lost(error)) = reply else {
            panic!("{message}: {reply:?}");
        };
        assert!(
            error.starts_with("READ(10): ") && error.contains(message),
            "{message}: {error}"
        );
        assert_eq!(data, [0; 8], "{message}");
        // The session remains unusable.
        assert!(read(&mut session).0.is_err(), "{message}");
        join(target);
    }
}

#[test]
fn a_wrong_digest_ends_the_session() {
    let (mut session, target) = start(b"HeaderDigest=CRC32C\0DataDigest=CRC32C\0", |side| {
        let command = side.command();
        let header = Message::Response(good(&command)).emit(Lengths::of_data(0));
        side.stream.write_all(&header).unwrap();
        side.stream.write_all(&[0; 4]).unwrap();
    });
    let error = read(&mut session).0.unwrap_err().to_string();
    assert!(error.contains("wrong header digest"), "{error}");
    join(target);
}

/// Requests the list of targets from a target that answers with `count` messages, each containing
/// `part`; `None` for an answer that never ends.
fn list_targets(part: &'static [u8], count: Option<u32>) -> Result<Vec<String>, String> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let target = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut side = TargetEnd {
            stream,
            digests: false,
        };
        side.log_in(b"MaxRecvDataSegmentLength=8192\0");
        for number in 1..=count.unwrap_or(1 << 16) {
            // The initiator closes the connection when it gives up.
            let mut header = [0; Message::LENGTH];
            if side.stream.read_exact(&mut header).is_err() {
                return number;
            }
            let length = Lengths::parse(&header).unwrap().padded();
            side.stream.read_exact(&mut vec![0; length]).unwrap();
            let is_final = Some(number) == count;
            let answer = TextResponse {
                is_final,
                continues: !is_final,
                lun: Lun(0),
                tag: Tag(1),
                transfer: if is_final { Tag::NONE } else { Tag(5) },
                status: Serial(number),
                expected_command: Serial(1),
                max_command: Serial(1),
            };
            side.send(&Message::TextResponse(answer), part);
        }
        u32::MAX
    });
    let address = Address::parse(&format!("//127.0.0.1:{port}")).unwrap();
    let found = targets(&address, None).map_err(|error| error.to_string());
    assert!(target.join().unwrap() > 1, "the target sent something");
    found
}

#[test]
fn long_lists_of_targets_are_limited() {
    let names = list_targets(b"TargetName=iqn.a\0", Some(2)).unwrap();
    assert_eq!(names, ["iqn.a", "iqn.a"]);
    let error = list_targets(&[b'a'; 8000], None).unwrap_err();
    assert!(error.contains("the list of targets is too long"), "{error}");
}

/// Names are printed, so escape sequences would reach the terminal.
#[test]
fn names_with_control_characters_are_refused() {
    let error = list_targets(b"TargetName=\x1b]0;title\x07\0", Some(1)).unwrap_err();
    assert!(
        error.contains("control characters in TargetName"),
        "{error}"
    );
}

/// A message has less than 16 MiB of data, even if the target announces a higher limit.
#[test]
fn data_are_split_into_messages_of_valid_length() {
    let lengths = b"MaxRecvDataSegmentLength=4294967295\0FirstBurstLength=4294967295\0";
    let (mut session, target) = start(lengths, |side| {
        let mut header = [0; Message::LENGTH];
        side.stream.read_exact(&mut header).unwrap();
        assert_eq!(Lengths::parse(&header).unwrap().data_length, 0xff_ffff);
    });
    let reply = session.execute(&READ, Data::Out(&vec![0; 1 << 24]));
    assert!(matches!(reply, Err(TransportError::Lost(_))), "{reply:?}");
    join(target);
}
