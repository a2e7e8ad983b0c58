//! A connection whose client is the test, and an engine with a clock that the test sets.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use diskarm_serve::{Channel, Connection, Engine, Permit, Ready, Service};

/// Both ends of a connection.
#[derive(Clone, Default)]
pub struct Wire(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    to_server: VecDeque<u8>,
    to_client: Vec<u8>,
    is_blocked: bool,
    /// True if the channel keeps output, as with TLS, instead of refusing it.
    keeps_output: bool,
}

impl Wire {
    pub fn send(&self, data: &[u8]) {
        self.0.borrow_mut().to_server.extend(data);
    }

    /// Takes what the server has sent.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.borrow_mut().to_client)
    }

    /// Returns the number of bytes that the server has not received.
    pub fn unread(&self) -> usize {
        self.0.borrow().to_server.len()
    }

    /// Makes the client stop reading.
    pub fn block(&self) {
        self.0.borrow_mut().is_blocked = true;
    }

    /// Makes the client stop reading, and the channel keep what it does not read.
    pub fn keep_output(&self) {
        self.0.borrow_mut().keeps_output = true;
    }

    /// Returns true if the server has closed its end.
    pub fn is_closed(&self) -> bool {
        Rc::strong_count(&self.0) == 1
    }
}

impl Channel for Wire {
    fn receive(&mut self, data: &mut [u8]) -> io::Result<Option<usize>> {
        let input = &mut self.0.borrow_mut().to_server;
        let count = input.len().min(data.len());
        for (to, from) in data.iter_mut().zip(input.drain(..count)) {
            *to = from;
        }
        Ok((count > 0).then_some(count))
    }

    fn send(&mut self, data: &[u8]) -> io::Result<Option<usize>> {
        let mut state = self.0.borrow_mut();
        if state.is_blocked {
            return Ok(None);
        }
        state.to_client.extend(data);
        Ok(Some(data.len()))
    }

    fn has_output(&self) -> bool {
        self.0.borrow().keeps_output
    }

    /// Input is kept as on a connection with TLS.
    fn has_input(&self) -> bool {
        !self.0.borrow().to_server.is_empty()
    }
}

pub struct Bench<D: Service> {
    pub engine: Engine<D, Wire>,
    pub now: Cell<Instant>,
    /// Number of connections.
    pub count: Arc<AtomicUsize>,
}

impl<D: Service> Bench<D> {
    pub fn new(service: D) -> Self {
        Self {
            engine: Engine::new(service),
            now: Cell::new(Instant::now()),
            count: Arc::default(),
        }
    }

    pub fn connect(&mut self, session: D::Session) -> Wire {
        let wire = Wire::default();
        let permit = Permit::new(&self.count);
        let connection = Connection::new(wire.clone(), session, permit, self.now.get());
        let number = self.engine.connect(connection, &|| self.now.get());
        assert!(number.is_some());
        wire
    }

    /// Returns the number of connections that hold a permit.
    pub fn open_count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Serves all connections once.
    pub fn turn(&mut self) {
        let numbers = self.engine.connections();
        let ready = numbers.map(|(number, _)| Ready {
            number,
            has_disconnected: false,
        });
        let ready = ready.collect();
        self.engine.turn(ready, &|| self.now.get());
    }

    /// Serves the connections for a time. Between the times at which the engine wants to be called,
    /// it is not.
    pub fn pass(&mut self, time: Duration) {
        let end = self.now.get() + time;
        self.turn();
        while let Some(next) = self
            .engine
            .next_turn(self.now.get())
            .filter(|at| *at <= end)
        {
            self.now.set(next);
            self.turn();
        }
        self.now.set(end);
    }
}
