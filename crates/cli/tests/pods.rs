//! Pods against a real hive: what they send and keep, whom they trust, and what they protect the
//! program from.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use racewarden_finding::{AccessKind, Race, Report, Site, Verdict};
use racewarden_testkit::HiveProcess;
use serde_json::{Value, json};

const RACEWARDEN: &str = env!("CARGO_BIN_EXE_racewarden");

/// Waits until the other thread has written, or for a while if something keeps it from that.
const WAITS: &str = r#"
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static atomic_int written;

static void wait_for_the_other(void)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        usleep(1000);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (!written && (now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 400000000L);
}
"#;

/// By itself the owner is first and the worker crashes. With a folder as its argument the program
/// says that it has started and waits for leave to go on, and nothing crashes.
const CRASHING: &str = r#"
static int *shared;

static void *worker(void *unused)
{
    wait_for_the_other();
    int *mine = shared; // reads
    *mine = 1;
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    shared = malloc(sizeof *shared);
    pthread_create(&thread, 0, worker, 0);
    if (argc > 1) {
        char path[500];
        pthread_join(thread, 0);
        snprintf(path, sizeof path, "%s/started", argv[1]);
        fclose(fopen(path, "w"));
        snprintf(path, sizeof path, "%s/go", argv[1]);
        while (access(path, F_OK) != 0)
            usleep(1000);
        return 5;
    }
    shared = 0; // writes
    written = 1;
    pthread_join(thread, 0);
    return 5;
}
"#;

/// The worker posts only when it sees someone wait; it sees nobody when it looks too early.
const HANGING: &str = r#"
static int waiting;
static sem_t done;

static void *worker(void *unused)
{
    wait_for_the_other();
    if (waiting) // reads
        sem_post(&done);
    return unused;
}

int main(void)
{
    pthread_t thread;
    sem_init(&done, 0, 0);
    pthread_create(&thread, 0, worker, 0);
    waiting = 1; // writes
    written = 1;
    sem_wait(&done);
    pthread_join(thread, 0);
    return 5;
}
"#;

/// The worker posts whatever it sees.
const SAFE: &str = r#"
static int waiting;
static sem_t done;

static void *worker(void *unused)
{
    int seen = waiting; // reads
    sem_post(&done);
    return seen ? unused : 0;
}

int main(void)
{
    pthread_t thread;
    sem_init(&done, 0, 0);
    pthread_create(&thread, 0, worker, 0);
    waiting = 1; // writes
    sem_wait(&done);
    pthread_join(thread, 0);
    return 5;
}
"#;

struct Fleet {
    folder: tempfile::TempDir,
    database: String,
    hive: HiveProcess,
}

impl Fleet {
    fn new(program: &str) -> Fleet {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite:{}", folder.path().join("hive.db").display());
        let hive = HiveProcess::start(Path::new(RACEWARDEN), &database).unwrap();
        hive.create_project("app").unwrap();
        let fleet = Fleet { folder, database, hive };
        fleet.publish(&format!("{WAITS}{program}"));
        fleet.set_control(false);
        fleet
    }

    fn place(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(RACEWARDEN);
        command.current_dir(self.place()).stdin(Stdio::null());
        command.env("RACEWARDEN_CACHE", self.place().join("cache")).env_remove("RACEWARDEN_POD");
        command
    }

    fn publish(&self, program: &str) {
        std::fs::write(self.place().join("program.c"), program).unwrap();
        let site = |mark: &str, access| {
            let line = program.lines().position(|line| line.contains(mark)).unwrap() as u32 + 1;
            Site {
                file: "program.c".into(),
                line,
                column: 0,
                function: String::new(),
                access,
                lvalue: "shared".into(),
                atomic: false,
                locks: vec![],
                thread: String::new(),
                stack: Default::default(),
            }
        };
        let (read, write) =
            (site("// reads", AccessKind::Read), site("// writes", AccessKind::Write));
        let race = Race::new(read, write, "shared", Verdict::Potential);
        let mut report = Report { races: vec![race], ..Report::default() };
        report.finish();
        let file = self.place().join("candidates.json");
        std::fs::write(&file, serde_json::to_string(&report).unwrap()).unwrap();
        let developer = self.hive.token("app", "developer").unwrap();
        let output = self
            .command()
            .args(["hive", "publish", "program.c", "--cflags=-pthread", "--project", "app"])
            .args(["--build", "1.0", "--report", "candidates.json"])
            .args(["--hive", &self.hive.url, "--token", &developer])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Long waits: a slow machine must not keep the threads from meeting.
    fn set_control(&self, immunity: bool) {
        let control = json!({ "pods": "run", "immunity": immunity, "corroboration": 2,
            "base_wait_ms": 2000 });
        self.hive.call("PUT", "/projects/app/control", &self.hive.admin, &control).unwrap();
    }

    fn home(&self, pod: &str) -> PathBuf {
        self.place().join(pod)
    }

    fn pod(&self, pod: &str, arguments: &[&str]) -> Command {
        let mut command = self.command();
        command.arg("pod").args(arguments).env("RACEWARDEN_POD_HOME", self.home(pod));
        command
    }

    /// Enrols a pod at `url`; more options may name a certificate authority.
    fn enrol(&self, pod: &str, url: &str, token: &str, options: &[&str]) -> Output {
        let mut command = self.pod(pod, &["enrol", url, "app", "--token", token, "--send"]);
        command.args(options).output().unwrap()
    }

    fn join(&self, pod: &str) -> String {
        let token = self.hive.token("app", "pod").unwrap();
        let output = self.enrol(pod, &self.hive.url, &token, &[]);
        assert!(output.status.success(), "{}", told(&output));
        token
    }

    fn race(&self) -> Value {
        let path = "/projects/app/builds/1.0/races";
        let report = self.hive.call("GET", path, &self.hive.admin, &Value::Null).unwrap();
        report["races"][0].clone()
    }
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs pods until the hive's verdict is `wanted`; how often they may try is bounded.
fn until_verdict(fleet: &Fleet, pods: &[&str], wanted: &str) {
    for _ in 0..8 {
        for pod in pods {
            fleet.pod(pod, &["run", "app"]).stderr(Stdio::null()).status().unwrap();
        }
        if fleet.race()["verdict"] == wanted {
            return;
        }
    }
    panic!("{:#}", fleet.race());
}

#[test]
fn with_immunity_the_harmful_order_no_longer_happens() {
    let fleet = Fleet::new(CRASHING);
    fleet.join("one");
    fleet.join("two");
    until_verdict(&fleet, &["one", "two"], "harmful");
    // The developer learns where it crashes and what was tried.
    let race = fleet.race();
    let told = &race["evidence"][0]["detail"];
    assert_eq!(told["harm"], "crash: SIGSEGV", "{race:#}");
    assert_eq!(told["violation"]["stack"][0]["function"], "worker", "{race:#}");
    assert_eq!(told["orders"][1]["outcome"], "crash", "{race:#}");
    assert!(told["wait_budget_ms"].as_u64() >= Some(2000), "{race:#}");
    let status = || {
        let mut run = fleet.pod("one", &["run", "app"]);
        run.stderr(Stdio::null()).status().unwrap().code()
    };
    assert_eq!(status(), Some(128 + 11), "off by default: the program still crashes by itself");
    fleet.set_control(true);
    for _ in 0..3 {
        assert_eq!(status(), Some(5), "the worker goes first, whatever the owner wants");
    }
    fleet.set_control(false);
    assert_eq!(status(), Some(128 + 11));
}

#[test]
fn a_hanging_program_is_stopped_by_the_daemon_and_reported() {
    let fleet = Fleet::new(HANGING);
    for pod in ["one", "two"] {
        fleet.join(pod);
        let mut daemon = fleet.pod(pod, &["daemon", "app", "--runs", "4", "--stop-hanging", "2"]);
        assert!(daemon.stderr(Stdio::null()).status().unwrap().success());
    }
    let race = fleet.race();
    assert_eq!(race["verdict"], "harmful", "{race:#}");
    assert_eq!(race["evidence"][0]["detail"]["harm"], "hang: all threads are blocked");
}

/// Exactly what is shown is sent, and it holds neither arguments nor environment.
#[test]
fn what_waits_is_shown_and_sent_once_the_hive_is_back() {
    let fleet = Fleet::new(CRASHING);
    let token = fleet.join("pod");
    let secret = "only-for-the-program";
    let folder = fleet.place().join(secret);
    std::fs::create_dir(&folder).unwrap();
    let mut run = fleet.pod("pod", &["run", "app", "--", folder.to_str().unwrap()]);
    let mut run = run.env("SECRET", "also-secret").stderr(Stdio::null()).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while !folder.join("started").exists() {
        assert!(Instant::now() < end, "the program never started");
        std::thread::sleep(Duration::from_millis(5));
    }
    let Fleet { folder: place, database, hive } = fleet;
    hive.kill();
    std::fs::write(folder.join("go"), "").unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(5), "the exit status is the program's own");

    let hive = HiveProcess::start(Path::new(RACEWARDEN), &database).unwrap();
    let fleet = Fleet { folder: place, database, hive };
    let shown = fleet.pod("pod", &["show", "app"]).output().unwrap();
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    let waiting: Value = serde_json::from_str(&text).unwrap();
    let [report] = waiting.as_array().unwrap().as_slice() else { panic!("{text}") };
    let mut keys: Vec<&String> = report.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["executed_gates", "id", "outcome", "ticket"]);
    assert_eq!(report["outcome"], json!({ "result": "not-enforced", "reason": "one-side-only" }));
    for word in [secret, "also-secret", "SECRET", "started", &token] {
        assert!(!text.contains(word), "{word} in {text}");
    }

    // The hive has another address now.
    assert!(fleet.enrol("pod", &fleet.hive.url, &token, &[]).status.success());
    let sent = fleet.pod("pod", &["send", "app"]).output().unwrap();
    assert!(told(&sent).contains("1 reports sent"), "{}", told(&sent));
    assert_eq!(fleet.hive.report_count("app", "1.0").unwrap(), 1);
    let left = fleet.pod("pod", &["show", "app"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&left.stdout).trim(), "[]");
}

#[test]
fn switched_off_the_program_runs_and_the_hive_hears_nothing() {
    let fleet = Fleet::new(SAFE);
    fleet.join("pod");
    let run = |fleet: &Fleet, off: bool| {
        let mut command = fleet.pod("pod", &["run", "app"]);
        if off {
            command.env("RACEWARDEN_POD", "off");
        }
        command.output().unwrap()
    };
    assert_eq!(run(&fleet, true).status.code(), Some(5));
    assert_eq!(fleet.hive.report_count("app", "1.0").unwrap(), 0);
    let Fleet { folder, database, hive } = fleet;
    hive.kill();
    let hive = HiveProcess::start(Path::new(RACEWARDEN), &database).unwrap();
    let fleet = Fleet { folder, database, hive };
    // Not even the absence of the hive is noticed: nobody asked for it.
    let output = run(&fleet, true);
    assert_eq!((output.status.code(), told(&output).as_str()), (Some(5), ""));
    let plainly = run(&fleet, false);
    assert_eq!(plainly.status.code(), Some(5));
    assert!(told(&plainly).contains("the hive is away"), "{}", told(&plainly));
}

/// Hands everything on, but changes programs on their way: every `ELF` becomes `ELG`.
fn tampering_proxy(hive: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let address = hive.trim_start_matches("http://").to_owned();
            std::thread::spawn(move || {
                let Ok(server) = TcpStream::connect(address) else { return };
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || pass_on(from, to, false));
                pass_on(server, client, true);
            });
        }
    });
    url
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, tampers: bool) {
    let mut buffer = [0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let bytes = &mut buffer[..count];
        if tampers && let Some(at) = bytes.windows(4).position(|part| part == b"\x7fELF") {
            bytes[at + 3] = b'G';
        }
        if to.write_all(bytes).is_err() {
            return;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}

/// A hive that answers, refuses, or takes the question and never answers.
const ANSWERS: u8 = 0;
const REFUSES: u8 = 1;
const STALLS: u8 = 2;

fn moody_proxy(hive: String, mood: Arc<AtomicU8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut stalled = Vec::new();
        for mut client in listener.incoming().flatten() {
            match mood.load(Ordering::SeqCst) {
                ANSWERS => {
                    let address = hive.trim_start_matches("http://");
                    let Ok(server) = TcpStream::connect(address) else { continue };
                    let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                    std::thread::spawn(move || pass_on(from, to, false));
                    std::thread::spawn(move || pass_on(server, client, false));
                }
                REFUSES => {
                    let _ = client.read(&mut [0; 4096]);
                    let _ = client.write_all(
                        b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\
                          connection: close\r\n\r\n",
                    );
                }
                _ => stalled.push(client),
            }
        }
    });
    url
}

#[test]
fn a_hive_that_refuses_or_never_answers_is_not_in_the_way() {
    let fleet = Fleet::new(SAFE);
    let token = fleet.hive.token("app", "pod").unwrap();
    let mood = Arc::new(AtomicU8::new(ANSWERS));
    let proxy = moody_proxy(fleet.hive.url.clone(), Arc::clone(&mood));
    assert!(fleet.enrol("pod", &proxy, &token, &[]).status.success());
    let run = || fleet.pod("pod", &["run", "app"]).output().unwrap();
    assert_eq!(run().status.code(), Some(5));
    for trouble in [REFUSES, STALLS] {
        mood.store(trouble, Ordering::SeqCst);
        let output = run();
        assert_eq!(output.status.code(), Some(5), "{}", told(&output));
        assert!(told(&output).contains("running build 1.0"), "{}", told(&output));
    }
}

#[test]
fn a_tampered_program_is_not_run() {
    let fleet = Fleet::new(CRASHING);
    let token = fleet.hive.token("app", "pod").unwrap();
    let proxy = tampering_proxy(fleet.hive.url.clone());
    assert!(fleet.enrol("pod", &proxy, &token, &[]).status.success());
    let output = fleet.pod("pod", &["run", "app"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("changed on its way"), "{}", told(&output));

    // A program that was sound when it came and was changed on disk is fetched again.
    fleet.join("other");
    let status = |fleet: &Fleet| {
        let mut run = fleet.pod("other", &["run", "app"]);
        run.stderr(Stdio::null()).status().unwrap().code()
    };
    let sound = status(&fleet);
    let artefacts = std::fs::read_dir(fleet.home("other").join("artefacts")).unwrap();
    for entry in artefacts.flatten() {
        if entry.path().extension().is_none() {
            std::fs::write(entry.path(), "#!/bin/sh\nexit 77\n").unwrap();
        }
    }
    assert!(sound != Some(77) && status(&fleet) != Some(77));
}

fn openssl(folder: &Path, arguments: &[&str]) {
    let output = Command::new("openssl").args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", told(&output));
}

/// A certificate authority of our own, and a certificate of it for the loopback address.
fn certificates(folder: &Path) {
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    let request = |extra: &[&str]| {
        let mut arguments = vec!["req"];
        arguments.extend(key);
        arguments.extend(extra);
        openssl(folder, &arguments);
    };
    request(&[
        "-x509",
        "-days",
        "30",
        "-subj",
        "/CN=test authority",
        "-keyout",
        "ca.key",
        "-out",
        "ca.pem",
    ]);
    request(&["-subj", "/CN=hive", "-keyout", "hive.key", "-out", "hive.csr"]);
    let extensions = "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n";
    std::fs::write(folder.join("extensions"), extensions).unwrap();
    openssl(
        folder,
        &[
            "x509",
            "-req",
            "-in",
            "hive.csr",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-days",
            "30",
            "-extfile",
            "extensions",
            "-out",
            "hive.pem",
        ],
    );
}

#[test]
fn over_tls_only_a_hive_with_a_trusted_certificate_is_joined() {
    let fleet = Fleet::new(SAFE);
    let token = fleet.hive.token("app", "pod").unwrap();
    certificates(fleet.place());
    let Fleet { folder, database, hive } = fleet;
    hive.kill();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let options = ["--tls-cert", &file("hive.pem"), "--tls-key", &file("hive.key")];
    let hive = HiveProcess::start_with(Path::new(RACEWARDEN), &database, &options).unwrap();
    assert!(hive.url.starts_with("https://"), "{}", hive.url);
    let fleet = Fleet { folder, database, hive };

    let stranger = fleet.enrol("stranger", &fleet.hive.url, &token, &[]);
    assert_eq!(stranger.status.code(), Some(2), "no public authority vouches for it");
    let joined = fleet.enrol("pod", &fleet.hive.url, &token, &["--authority", "ca.pem"]);
    assert!(joined.status.success(), "{}", told(&joined));
    let run = fleet.pod("pod", &["run", "app"]).output().unwrap();
    assert!(!told(&run).contains("away"), "{}", told(&run));
    let shown = fleet.pod("pod", &["show", "app"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&shown.stdout).trim(), "[]", "the report was taken");
    let plain = fleet.hive.url.replace("https://", "http://");
    assert_eq!(fleet.enrol("plain", &plain, &token, &[]).status.code(), Some(2));
}

/// Refusals stand in the hive's log, without the secrets that were tried.
#[test]
fn refusals_are_logged() {
    let fleet = Fleet::new(SAFE);
    let tried = "rw_nobody_0123456789abcdef";
    let calls =
        [("GET", "/projects/app", Value::Null), ("POST", "/projects", json!({"name": "x/y"}))];
    for (method, path, body) in calls {
        let token = if method == "GET" { tried } else { &fleet.hive.admin };
        assert!(fleet.hive.call(method, path, token, &body).is_err());
    }
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let log = fleet.hive.log().join("\n");
        assert!(!log.contains(tried), "{log}");
        if log.contains("refused (401)") && log.contains("refused (400)") {
            return;
        }
        assert!(Instant::now() < end, "{log}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
