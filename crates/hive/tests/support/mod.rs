//! A hive in this process on a real store, and a small client for it.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::net::SocketAddr;
use std::sync::mpsc;

use racewarden_finding::{AccessKind, Race, Site, Verdict};
use racewarden_hive::{ServeOptions, create_admin_token, serve};
use racewarden_proto::{BuildUpload, Candidate, GateTarget};
use serde_json::{Value, json};

pub struct Hive {
    pub address: SocketAddr,
    pub admin: String,
    runtime: tokio::runtime::Runtime,
}

impl Hive {
    pub fn start(database: &str) -> Hive {
        Hive::start_with_rate(database, 1e6)
    }

    pub fn start_with_ledger(database: &str, ledger: &str) -> Hive {
        Hive::start_as(database, 1e6, Some(ledger.to_owned()))
    }

    pub fn start_with_rate(database: &str, requests_per_second: f64) -> Hive {
        Hive::start_as(database, requests_per_second, None)
    }

    fn start_as(database: &str, requests_per_second: f64, ledger: Option<String>) -> Hive {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let admin = runtime.block_on(create_admin_token(database)).unwrap();
        let options = ServeOptions {
            database: database.to_owned(),
            listen: "127.0.0.1:0".parse().unwrap(),
            tls: None,
            behind_proxy: false,
            requests_per_second,
            burst: requests_per_second.max(1.0),
            ledger,
        };
        let (ready, address) = mpsc::channel();
        runtime.spawn(async move {
            serve(options, move |address| ready.send(address).unwrap()).await.unwrap();
        });
        let address = address.recv().unwrap();
        Hive { address, admin, runtime }
    }

    /// Sends JSON and returns the status with the answer's JSON (null when there is none).
    pub fn call(&self, method: &str, path: &str, token: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let (status, bytes) = self.raw(method, path, token, &body);
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    pub fn raw(&self, method: &str, path: &str, token: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let agent: ureq::Agent =
            ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address))
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .body(body.to_vec())
            .unwrap();
        let mut response = match agent.run(request) {
            Ok(response) => response,
            // A body past the limit is cut off while it is still being sent.
            Err(ureq::Error::Io(_)) => return (413, Vec::new()),
            Err(error) => panic!("{method} {path}: {error}"),
        };
        let status = response.status().as_u16();
        let bytes = response.body_mut().with_config().limit(1 << 30).read_to_vec().unwrap();
        (status, bytes)
    }

    /// A page as a browser asks for it, with `token` as the password.
    pub fn page(&self, path: &str, token: &str) -> (u16, String) {
        let agent: ureq::Agent =
            ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let mut request = agent.get(format!("http://{}{path}", self.address));
        if !token.is_empty() {
            let credentials = base64(format!("ann:{token}").as_bytes());
            request = request.header("authorization", format!("Basic {credentials}"));
        }
        let mut response = request.call().unwrap();
        let status = response.status().as_u16();
        (status, response.body_mut().read_to_string().unwrap())
    }

    pub fn project(&self, name: &str) {
        let (status, _) = self.call("POST", "/v1/projects", &self.admin, &json!({ "name": name }));
        assert_eq!(status, 201);
    }

    pub fn token(&self, project: &str, role: &str) -> String {
        let path = format!("/v1/projects/{project}/tokens");
        let (status, answer) = self.call("POST", &path, &self.admin, &json!({ "role": role }));
        assert_eq!(status, 201, "{answer}");
        answer["secret"].as_str().unwrap().to_owned()
    }

    /// Publishes a build of `candidates` candidates with `artefact` and returns its answer.
    pub fn publish(&self, project: &str, name: &str, candidates: u32, artefact: &[u8]) -> Value {
        let developer = self.token(project, "developer");
        let upload = BuildUpload {
            name: name.into(),
            sha256: racewarden_hive::keys::sha256_hex(artefact),
            size: artefact.len() as u64,
            gates: 2 * candidates,
            candidates: (0..candidates).map(candidate).collect(),
        };
        let path = format!("/v1/projects/{project}/builds");
        let upload = serde_json::to_value(&upload).unwrap();
        let (status, answer) = self.call("POST", &path, &developer, &upload);
        assert_eq!(status, 201, "{answer}");
        let path = format!("/v1/projects/{project}/builds/{name}/artefact");
        let (status, text) = self.raw("PUT", &path, &developer, artefact);
        assert_eq!(status, 204, "{}", String::from_utf8_lossy(&text));
        answer
    }

    pub fn assignment(&self, project: &str, build: &str, pod: &str) -> Value {
        let path = format!("/v1/projects/{project}/assignments");
        let (status, answer) = self.call("POST", &path, pod, &json!({ "build": build }));
        assert_eq!(status, 200, "{answer}");
        answer["assignment"].clone()
    }

    pub fn report(&self, project: &str, pod: &str, ticket: &str, outcome: &Value) -> (u16, Value) {
        let path = format!("/v1/projects/{project}/reports");
        let report = json!({ "id": "r", "ticket": ticket, "outcome": outcome });
        self.call("POST", &path, pod, &json!({ "reports": [report] }))
    }

    pub fn verdicts(&self, project: &str, build: &str) -> Vec<String> {
        let developer = self.token(project, "developer");
        let path = format!("/v1/projects/{project}/builds/{build}/races");
        let (status, report) = self.call("GET", &path, &developer, &Value::Null);
        assert_eq!(status, 200, "{report}");
        let mut races = report["races"].as_array().unwrap().clone();
        races.sort_by_key(|race| race["id"].as_str().unwrap().to_owned());
        races.iter().map(|race| race["verdict"].as_str().unwrap().to_owned()).collect()
    }
}

pub fn enforced(context: &str) -> Value {
    json!({ "result": "enforced", "context": context, "same_instant": false })
}

fn candidate(index: u32) -> Candidate {
    let site = |line, access| Site {
        file: "queue.c".into(),
        line,
        column: 3,
        function: "take".into(),
        access,
        lvalue: "q->head".into(),
        atomic: false,
        locks: vec![],
        thread: "worker".into(),
        stack: Default::default(),
    };
    let object = format!("struct queue.head{index}");
    let mut race = Race::new(
        site(10 + index, AccessKind::Read),
        site(90 + index, AccessKind::Write),
        object,
        Verdict::Potential,
    );
    race.id = format!("R{index}");
    Candidate { target: GateTarget { first: vec![2 * index], second: vec![2 * index + 1] }, race }
}

fn base64(bytes: &[u8]) -> String {
    const SYMBOLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let symbols = |chunk: &[u8]| -> String {
        let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - chunk.len()));
        (0..=chunk.len()).map(|at| SYMBOLS[(bits >> (18 - 6 * at)) as usize & 63] as char).collect()
    };
    bytes.chunks(3).map(symbols).collect()
}
