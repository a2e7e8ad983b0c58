//! A thread that waits for the store's file to be on its medium, so that nobody else has to.

use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use crate::sockets::Waker;

/// Synchronises a file whenever it is asked to.
pub struct Syncer {
    asked: Option<Sender<usize>>,
    answered: Receiver<(usize, bool)>,
    thread: Option<JoinHandle<()>>,
}

impl Syncer {
    /// Begins, with a copy of `file`; it wakes `waker` when there is an answer.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn new(file: &File, waker: Waker) -> io::Result<Self> {
        let file = file.try_clone()?;
        let (asked, asks) = channel();
        let (answer, answered) = channel();
        let run = move || run(&file, &asks, &answer, &waker);
        let thread = thread::Builder::new().name("sync".to_owned()).spawn(run)?;
        Ok(Self {
            asked: Some(asked),
            answered,
            thread: Some(thread),
        })
    }

    /// Asks that all that has been written be on the medium.
    pub fn ask(&self, job: usize) {
        if let Some(asked) = &self.asked {
            asked
                .send(job)
                .unwrap_or_else(|_| panic!("the thread ends after this"));
        }
    }

    /// A job for which that is so, and whether it succeeded.
    pub fn answered(&self) -> Option<(usize, bool)> {
        self.answered.try_recv().ok()
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.asked = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(file: &File, asks: &Receiver<usize>, answer: &Sender<(usize, bool)>, waker: &Waker) {
    let mut is_sound = true;
    while let Ok(first) = asks.recv() {
        // What was asked before the file is synchronised is served by that, too.
        let jobs: Vec<usize> = std::iter::once(first).chain(asks.try_iter()).collect();
        // After a failure the system may have dropped the data, so a later success means nothing.
        is_sound &= file.sync_data().is_ok();
        for job in jobs {
            if answer.send((job, is_sound)).is_err() {
                return;
            }
        }
        waker.wake();
    }
}
