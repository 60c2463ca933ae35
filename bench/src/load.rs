//! Load on a server: what clients of memcached and redis say, for the benchmarks that need some.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};

/// One question and its answer; the number decides which.
pub type Talk = fn(&mut BufReader<TcpStream>, u64) -> std::io::Result<()>;

pub const CLIENTS: usize = 4;
/// Questions before a client connects anew: accepting and closing belong to the load.
const QUESTIONS: u64 = 500;

pub fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

pub fn connect(port: u16) -> std::io::Result<TcpStream> {
    TcpStream::connect(("127.0.0.1", port))
}

/// Waits until the server answers.
pub fn await_server(port: u16, patience: Duration) -> anyhow::Result<()> {
    let until = Instant::now() + patience;
    while connect(port).is_err() {
        ensure!(Instant::now() < until, "the server does not come up");
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Lets `count` clients talk while `meanwhile` runs on this thread, each until it returned or until the
/// client asked `most` questions. Returns how many were answered.
pub fn clients(
    port: u16,
    talk: Talk,
    count: usize,
    most: u64,
    meanwhile: impl FnOnce(),
) -> anyhow::Result<u64> {
    let (operations, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let client = |number: u64| {
        let mut random = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut asked = 0;
        while asked < most && !stop.load(Ordering::Relaxed) {
            let stream = connect(port)?;
            stream.set_read_timeout(Some(Duration::from_secs(60)))?;
            // A question is several small writes; waiting for the answer to the first of them, as the
            // system would, is no load.
            stream.set_nodelay(true)?;
            let mut stream = BufReader::new(stream);
            for _ in 0..QUESTIONS.min(most - asked) {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                talk(&mut stream, random)?;
                asked += 1;
                operations.fetch_add(1, Ordering::Relaxed);
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
        }
        std::io::Result::Ok(())
    };
    let client = &client;
    let failures = std::thread::scope(|scope| {
        let clients: Vec<_> =
            (1..=count as u64).map(|number| scope.spawn(move || client(number))).collect();
        meanwhile();
        if most == u64::MAX {
            stop.store(true, Ordering::Relaxed);
        }
        clients.into_iter().filter_map(|client| client.join().ok()?.err()).collect::<Vec<_>>()
    });
    if let Some(failure) = failures.first() {
        bail!("{} of {count} clients failed: {failure}", failures.len());
    }
    Ok(operations.into_inner())
}

pub fn talk_memcached(stream: &mut BufReader<TcpStream>, random: u64) -> std::io::Result<()> {
    let key = (random >> 16) & 0x3fff;
    let mut line = String::new();
    match random % 10 {
        0..3 => {
            let size = (random >> 40) as usize % 900 + 1;
            let value = "v".repeat(size);
            write!(stream.get_mut(), "set k{key} 0 0 {size}\r\n{value}\r\n")?;
            stream.read_line(&mut line)?;
        }
        3 => {
            write!(stream.get_mut(), "delete k{key}\r\n")?;
            stream.read_line(&mut line)?;
        }
        _ => {
            write!(stream.get_mut(), "get k{key}\r\n")?;
            while line.trim_end() != "END" {
                line.clear();
                expect_more(stream.read_line(&mut line)?)?;
            }
        }
    }
    Ok(())
}

pub fn talk_redis(stream: &mut BufReader<TcpStream>, random: u64) -> std::io::Result<()> {
    stream.get_mut().write_all(redis_question(random).as_bytes())?;
    redis_answer(stream)
}

/// Questions that are asked together by [`talk_redis_at_once`].
const TOGETHER: u64 = 32;

/// Many questions before the first answer is read, so that the server's threads have work all the time.
pub fn talk_redis_at_once(stream: &mut BufReader<TcpStream>, random: u64) -> std::io::Result<()> {
    let nth = |at: u64| (random ^ at).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let questions: String = (0..TOGETHER).map(|at| redis_question(nth(at))).collect();
    stream.get_mut().write_all(questions.as_bytes())?;
    (0..TOGETHER).try_for_each(|_| redis_answer(stream))
}

fn redis_question(random: u64) -> String {
    let key = (random >> 16) & 0x3fff;
    match random % 10 {
        0..3 => format!("SET k{key} {}\r\n", "v".repeat((random >> 32) as usize % 500 + 1)),
        3 => format!("DEL k{key}\r\n"),
        4 => format!("INCR n{}\r\n", key & 0xff),
        _ => format!("GET k{key}\r\n"),
    }
}

fn redis_answer(stream: &mut BufReader<TcpStream>) -> std::io::Result<()> {
    let mut line = String::new();
    expect_more(stream.read_line(&mut line)?)?;
    if line.starts_with('$') && !line.starts_with("$-1") {
        expect_more(stream.read_line(&mut line)?)?;
    }
    Ok(())
}

fn expect_more(read: usize) -> std::io::Result<()> {
    if read == 0 { Err(std::io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}
