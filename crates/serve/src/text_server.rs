//! Servers that answer short texts in one thread: the control socket, and the metrics.

use std::io;
use std::thread;
use std::time::Duration;

use crate::exchange::{Exchange, ExchangeLimits, ExchangeStep, Host};
use crate::reception::Reception;
use crate::sockets::Listener;

/// Maximum length of a request, in bytes.
const MAX_REQUEST: usize = 8 << 10;

pub const TEXT_LIMITS: ExchangeLimits = ExchangeLimits {
    clients: 16,
    time: Duration::from_secs(5),
};

pub struct TextAnswer {
    /// Length of the request, in bytes.
    pub length: usize,
    /// The text to send; `None` to disconnect the client without an answer.
    pub text: Option<String>,
    /// True if the client is disconnected once it has received the answer.
    pub is_last: bool,
}

/// A client of a text server.
#[derive(Default)]
pub struct TextExchange {
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Exchange for TextExchange {
    fn room(&self) -> usize {
        MAX_REQUEST - self.input.len()
    }

    fn received(&mut self, data: &[u8]) {
        self.input.extend_from_slice(data);
    }

    fn output(&self) -> &[u8] {
        &self.output
    }

    fn sent(&mut self, count: usize) {
        self.output.drain(..count);
    }

    fn is_idle(&self) -> bool {
        self.input.is_empty() && self.output.is_empty()
    }
}

/// Answers requests with the result of a function of the input, `None` if it has no whole request.
pub struct TextServer<F>(pub F);

impl<C, F: Fn(&[u8]) -> Option<TextAnswer>> Host<C> for TextServer<F> {
    type Exchange = TextExchange;
    type Session = ();

    fn start(&self, _: &C) -> TextExchange {
        TextExchange::default()
    }

    fn step(&self, client: &mut TextExchange) -> ExchangeStep<()> {
        let Some(answer) = (self.0)(&client.input) else {
            return match client.room() {
                0 => ExchangeStep::Close,
                _ => ExchangeStep::Wait,
            };
        };
        client.input.drain(..answer.length);
        let is_last = answer.is_last || answer.text.is_none();
        client.output = answer.text.unwrap_or_default().into_bytes();
        if is_last {
            ExchangeStep::Close
        } else {
            ExchangeStep::Wait
        }
    }
}

/// Answers clients in the background until the program ends.
pub fn serve_texts(
    name: &str,
    listener: Listener,
    answer: impl Fn(&[u8]) -> Option<TextAnswer> + Send + 'static,
) -> io::Result<()> {
    let reception = Reception::new(TextServer(answer), TEXT_LIMITS, vec![listener], None);
    let thread = thread::Builder::new().name(name.to_owned());
    thread.spawn(move || reception.run())?;
    Ok(())
}
