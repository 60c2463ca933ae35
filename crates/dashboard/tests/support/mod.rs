//! A dashboard on a free port over a filled ledger, and a real browser to look at it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use racewarden_dashboard::{Options, router};
use racewarden_finding::{
    AccessKind, Engine, Evidence, Frame, HeldLock, LockMode, Race, Report, Site, Verdict,
};
use racewarden_ledger::{CaptureInfo, Ledger, RunInfo, UnitInfo};
use serde_json::{Value, json};

/// Markup in a name; must never become an element.
pub const HOSTILE: &str = "<img src=x onerror=alert(1)><b id=pwned>";

pub struct Server {
    pub address: String,
    _runtime: tokio::runtime::Runtime,
    _folder: tempfile::TempDir,
}

/// Serves a ledger with the races of the sample program and `extra` more.
pub fn serve(extra: usize) -> Server {
    let folder = tempfile::tempdir().unwrap();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let place = folder.path().join("ledger.db").to_str().unwrap().to_owned();
    let address = runtime.block_on(async {
        let ledger = Ledger::open(&place).await.unwrap();
        fill(&ledger, extra).await;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests");
        let options = Options {
            source_roots: vec![sources],
            author: "ada".to_owned(),
            hosts: vec!["127.0.0.1".to_owned()],
            ..Options::new(ledger)
        };
        let pages = router(options).unwrap();
        tokio::spawn(async move { axum::serve(listener, pages).await });
        format!("http://{address}")
    });
    Server { address, _runtime: runtime, _folder: folder }
}

fn site(line: u32, column: u32, function: &str, access: AccessKind, lvalue: &str) -> Site {
    Site {
        file: "bank.c".into(),
        line,
        column,
        function: function.into(),
        access,
        lvalue: lvalue.into(),
        atomic: false,
        locks: vec![],
        thread: "teller (created at bank.c:76, many)".into(),
        stack: Default::default(),
    }
}

fn harmful() -> Race {
    let frame =
        |function: &str, line| Frame { function: function.into(), file: "bank.c".into(), line };
    let mut deposit = site(41, 29, "deposit", AccessKind::Write, "accounts[i].balance");
    deposit.stack = vec![frame("deposit", 41), frame("teller", 66)].into();
    let mut audit = site(58, 18, "audit", AccessKind::Read, "accounts[i].balance");
    audit.thread = "main".into();
    let lock = HeldLock {
        name: "bank_lock".into(),
        mode: LockMode::Write,
        acquired_at: "bank.c:56".into(),
    };
    audit.locks = vec![lock];
    audit.stack = vec![frame("audit", 58), frame("main", 80)].into();
    let mut race = Race::new(deposit, audit, "accounts", Verdict::Harmful);
    race.rank = 95;
    race.reasons = vec!["no lock in common".into(), "audit runs before the join".into()];
    let step = |thread: u32, kind: &str, text: &str, line: u32| json!({"thread": thread, "kind": kind, "text": text, "file": "bank.c", "line": line, "racing": line == 41 || line == 58});
    race.evidence = vec![
        Evidence::new(Engine::Check)
            .with("usual_lock", json!({"name": "bank_lock", "held": 5, "of": 6})),
        Evidence::new(Engine::Run).with("runs", 3).with("seen", 2),
        Evidence::new(Engine::Confirm)
            .with("schedule", "rw1:main@audit+9#3>main.1@deposit+17#1")
            .with("harm", "assertion failed in audit()")
            .with(
                "orders",
                json!([{"first": 0, "outcome": "completed"},
                {"first": 1, "outcome": "assertion", "detail": "sum == 1000"}]),
            )
            .with(
                "timeline",
                json!([
                    step(1, "create", "teller", 76),
                    step(1, "acquire", "bank_lock", 56),
                    step(0, "call", "deposit", 66),
                    step(1, "read", "accounts[i].balance", 58),
                    step(0, "write", "accounts[i].balance", 41),
                    step(1, "release", "bank_lock", 59),
                    step(1, "other", "assert(sum == 1000) fails", 60)
                ]),
            ),
    ];
    race
}

fn simple(object: &str, line: u32, verdict: Verdict, engine: Engine) -> Race {
    let (a, b) = (
        site(line, 5, "count", AccessKind::Write, object),
        site(line + 1, 5, "show", AccessKind::Read, object),
    );
    let mut race = Race::new(a, b, object, verdict);
    race.evidence.push(Evidence::new(engine));
    race
}

async fn fill(ledger: &Ledger, extra: usize) {
    let run = |engine, capture: &str, at| RunInfo {
        at,
        command: format!("racewarden {}", Engine::as_str(engine)),
        complete: engine == Engine::Check,
        capture: Some(CaptureInfo {
            hash: format!("{capture}0123456789"),
            label: capture.into(),
            units: vec![UnitInfo { source: "bank.c".into(), hash: capture.into() }],
        }),
        ..RunInfo::new(engine, "bank")
    };
    let day = 86_400_000;
    let start = 1_790_000_000_000;
    let check = |object: &str, line| simple(object, line, Verdict::Potential, Engine::Check);
    let mut first = Report {
        races: vec![check("served", 47), check("hook", 52), check("gone_later", 20)],
        ..Report::default()
    };
    first.races.extend((0..extra).map(|n| check(&format!("table_{n}"), 1000 + 2 * n as u32)));
    first.finish();
    ledger.record_report(&first, &run(Engine::Check, "v1.0", start)).await.unwrap();
    let mut seen = Report {
        races: vec![
            harmful(),
            simple("served", 47, Verdict::Observed, Engine::Run),
            simple(HOSTILE, 30, Verdict::Observed, Engine::Run),
        ],
        ..Report::default()
    };
    seen.finish();
    ledger.record_report(&seen, &run(Engine::Confirm, "v1.0", start + day)).await.unwrap();
    first.races.retain(|race| race.object != "gone_later");
    first.races.push(Race { verdict: Verdict::Potential, ..harmful() });
    ledger.record_report(&first, &run(Engine::Check, "v1.1", start + 3 * day)).await.unwrap();
}

/// A session of a headless Chromium, driven over the W3C WebDriver protocol.
pub struct Browser {
    driver: Child,
    session: String,
    _profile: tempfile::TempDir,
}

impl Browser {
    pub fn start(width: u32, height: u32) -> Browser {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver is installed: scripts/setup");
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| {
                line.split("successfully on port ")
                    .nth(1)?
                    .trim_end_matches('.')
                    .parse::<u16>()
                    .ok()
            })
            .expect("chromedriver says its port");
        std::thread::spawn(move || lines.for_each(drop));
        let profile = tempfile::tempdir().unwrap();
        let flags = [
            "--headless".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-quic".to_owned(),
            "--no-first-run".to_owned(),
            "--disable-background-networking".to_owned(),
            "--disable-component-update".to_owned(),
            "--disable-sync".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            format!("--window-size={width},{height}"),
            format!("--user-data-dir={}", profile.path().display()),
        ];
        let body =
            json!({"capabilities": {"alwaysMatch": {"goog:chromeOptions": {"args": flags}}}});
        let root = format!("http://127.0.0.1:{port}/session");
        let answer = post(&root, &body);
        let id = answer["sessionId"].as_str().expect("a session").to_owned();
        Browser { driver, session: format!("{root}/{id}"), _profile: profile }
    }

    pub fn open(&self, address: &str) {
        post(&format!("{}/url", self.session), &json!({"url": address}));
    }

    pub fn address(&self) -> String {
        get(&format!("{}/url", self.session)).as_str().unwrap().to_owned()
    }

    /// The value of a script's `return`.
    pub fn run(&self, script: &str) -> Value {
        post(&format!("{}/execute/sync", self.session), &json!({"script": script, "args": []}))
    }

    pub fn text(&self, selector: &str) -> String {
        let script = format!(
            "const e = document.querySelector({selector:?}); return e ? e.textContent : null;"
        );
        self.run(&script)
            .as_str()
            .unwrap_or_else(|| panic!("nothing matches {selector}"))
            .to_owned()
    }

    /// Waits until an element has the text: a click may come back before its page has loaded.
    pub fn until(&self, selector: &str, text: &str) {
        let script = format!(
            "const e = document.querySelector({selector:?}); return e ? e.textContent : '';"
        );
        let mut seen = String::new();
        for _ in 0..200 {
            seen = self.run(&script).as_str().unwrap_or_default().to_owned();
            if seen.contains(text) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{selector} never says {text:?} but {seen:?}, at {}", self.address());
    }

    fn element(&self, selector: &str) -> String {
        let found = post(
            &format!("{}/element", self.session),
            &json!({"using": "css selector", "value": selector}),
        );
        let id =
            found.as_object().and_then(|object| object.values().next()).and_then(Value::as_str);
        format!("{}/element/{}", self.session, id.unwrap_or_else(|| panic!("no {selector}")))
    }

    pub fn click(&self, selector: &str) {
        post(&format!("{}/click", self.element(selector)), &json!({}));
    }

    pub fn type_into(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        post(&format!("{element}/clear"), &json!({}));
        post(&format!("{element}/value"), &json!({"text": text}));
    }

    /// Writes a picture of the page to the folder that `RACEWARDEN_SCREENSHOTS` names, if any.
    pub fn picture(&self, name: &str) {
        let Some(folder) = std::env::var_os("RACEWARDEN_SCREENSHOTS") else { return };
        let encoded = get(&format!("{}/screenshot", self.session));
        let path = Path::new(&folder).join(format!("{name}.b64"));
        std::fs::write(path, encoded.as_str().unwrap()).unwrap();
    }

    pub fn prefer(&self, scheme: &str) {
        let parameters = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        let body = json!({"cmd": "Emulation.setEmulatedMedia", "params": parameters});
        post(&format!("{}/goog/cdp/execute", self.session), &body);
    }

    pub fn resize(&self, width: u32, height: u32) {
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        let body = json!({"cmd": "Emulation.setDeviceMetricsOverride", "params": metrics});
        post(&format!("{}/goog/cdp/execute", self.session), &body);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = agent().delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

pub fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(Duration::from_secs(120)))
        .build()
        .into()
}

fn value(mut response: ureq::http::Response<ureq::Body>) -> Value {
    let answer: Value = response.body_mut().read_json().unwrap();
    let value = answer["value"].clone();
    assert!(value.get("error").is_none(), "WebDriver: {value}");
    value
}

fn post(address: &str, body: &Value) -> Value {
    value(agent().post(address).send_json(body).unwrap())
}

fn get(address: &str) -> Value {
    value(agent().get(address).call().unwrap())
}
