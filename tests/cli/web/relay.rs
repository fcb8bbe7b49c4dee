//! A line between browser and server that can be cut: nothing of an open connection arrives any more, and new ones are
//! refused until it is joined again.
//!
//! It has the port of the server on another address of loopback, because the server knows itself by its port.

use std::io::copy;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, spawn};

pub(crate) const HOST: &str = "127.0.0.2";

pub(crate) struct Relay {
    port: u16,
    line: Option<(TcpListener, JoinHandle<()>)>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Relay {
    pub(crate) fn to(port: u16) -> Self {
        let mut relay = Self { port, line: None, open: Arc::default() };
        relay.join();
        relay
    }

    pub(crate) fn join(&mut self) {
        let listener = TcpListener::bind((HOST, self.port)).unwrap();
        let (here, open, port) = (listener.try_clone().unwrap(), Arc::clone(&self.open), self.port);
        let taken = spawn(move || {
            while let Ok((browser, _)) = here.accept() {
                let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
                let ends = [&browser, &server].map(|end| end.try_clone().unwrap());
                open.lock().unwrap().extend(ends);
                carry(browser.try_clone().unwrap(), server.try_clone().unwrap());
                carry(server, browser);
            }
        });
        self.line = Some((listener, taken));
    }

    pub(crate) fn cut(&mut self) {
        if let Some((listener, taken)) = self.line.take() {
            rustix::net::shutdown(&listener, rustix::net::Shutdown::Both).unwrap();
            taken.join().unwrap();
        }
        for end in self.open.lock().unwrap().drain(..) {
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream) {
    spawn(move || {
        let _ = copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.cut();
    }
}
