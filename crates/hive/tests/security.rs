//! What a hostile caller may try: all of it is refused with a plain answer, and nothing is stored.

mod support;

use racewarden_testkit::Postgres;
use serde_json::{Value, json};
use support::{Hive, enforced};

fn on_both_stores(suite: impl Fn(&Hive)) {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = format!("sqlite:{}", folder.path().join("hive.db").display());
    suite(&Hive::start(&sqlite));
    let server = Postgres::start().unwrap();
    suite(&Hive::start(&server.url()));
}

/// Everything that a caller could have changed.
fn state(hive: &Hive) -> Value {
    let get = |path: &str| hive.call("GET", path, &hive.admin, &Value::Null).1;
    let tokens = get("/v1/projects/app/tokens").as_array().map_or(0, Vec::len);
    json!([
        get("/v1/projects"),
        get("/v1/projects/app"),
        tokens,
        get("/v1/projects/app/builds/latest"),
        get("/v1/projects/app/builds/1.0/races"),
        get("/v1/projects/app/audit").as_array().map_or(0, Vec::len),
    ])
}

const ODD: [&str; 12] = [
    "../../etc/passwd",
    "..%2f..%2fetc",
    "x'; DROP TABLE hive_projects; --",
    "' OR '1'='1",
    "\" UNION SELECT * FROM hive_tokens --",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\u{0}",
    "\u{202e}nimda",
    "a\r\nSet-Cookie: x=1",
    "${jndi:ldap://x}",
    "%s%s%s%n",
];

/// A small generator of its own: the same inputs every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}

fn odd_value(dice: &mut Dice, depth: usize) -> Value {
    match dice.below(if depth > 3 { 6 } else { 9 }) {
        0 => Value::Null,
        1 => json!(-1),
        2 => json!(u64::MAX),
        3 => json!(1e308),
        4 => json!(ODD[dice.below(ODD.len())]),
        5 => json!("A".repeat(dice.below(5000))),
        6 => json!([odd_value(dice, depth + 1), odd_value(dice, depth + 1)]),
        7 => json!({ "name": odd_value(dice, depth + 1), "reports": odd_value(dice, depth + 1) }),
        _ => json!({ ODD[dice.below(ODD.len())]: odd_value(dice, depth + 1) }),
    }
}

/// Replaces one part of a sound body by something odd, or cuts its text.
fn spoiled(dice: &mut Dice, sound: &Value) -> Vec<u8> {
    let mut body = sound.clone();
    let keys: Vec<String> =
        body.as_object().map(|map| map.keys().cloned().collect()).unwrap_or_default();
    match dice.below(4) {
        0 => {
            let mut text = body.to_string().into_bytes();
            text.truncate(dice.below(text.len()));
            text
        }
        1 => (0..dice.below(200)).map(|_| dice.below(256) as u8).collect(),
        2 => odd_value(dice, 0).to_string().into_bytes(),
        _ => {
            let key = &keys[dice.below(keys.len())];
            // Never by chance the kind of value that belongs there.
            body[key] = json!({ "odd": odd_value(dice, 0) });
            body.to_string().into_bytes()
        }
    }
}

#[test]
fn fuzzed_bodies_are_refused_and_change_nothing() {
    on_both_stores(|hive| {
        hive.project("app");
        hive.publish("app", "1.0", 1, b"program");
        let (pod, developer) = (hive.token("app", "pod"), hive.token("app", "developer"));
        let ticket = hive.assignment("app", "1.0", &pod)["ticket"].as_str().unwrap().to_owned();
        let report = json!({ "id": "r", "ticket": ticket, "outcome": enforced("c1") });
        let control = json!({ "pods": "run", "immunity": false, "corroboration": 2,
            "base_wait_ms": 200 });
        let build = json!({ "name": "2.0", "sha256": "0".repeat(64), "size": 1, "gates": 0,
            "candidates": [] });
        let calls = [
            ("POST", "/v1/projects", hive.admin.as_str(), json!({ "name": "new" })),
            ("PUT", "/v1/projects/app/control", &hive.admin, control),
            ("POST", "/v1/projects/app/tokens", &hive.admin, json!({ "role": "pod" })),
            ("POST", "/v1/projects/app/builds", &developer, build),
            ("POST", "/v1/projects/app/assignments", &pod, json!({ "build": "1.0" })),
            ("POST", "/v1/projects/app/reports", &pod, json!({ "reports": [report] })),
        ];
        let before = state(hive);
        let mut dice = Dice(7);
        for (method, path, token, sound) in &calls {
            for _ in 0..60 {
                let body = spoiled(&mut dice, sound);
                let (status, answer) = hive.raw(method, path, token, &body);
                let told = String::from_utf8_lossy(&answer).into_owned();
                let context = format!("{path} {status} {told}: {}", String::from_utf8_lossy(&body));
                assert!((400..500).contains(&status), "{context}");
                // A plain sentence, and nothing of the insides.
                let answer: Value = serde_json::from_slice(&answer).expect(&context);
                assert!(answer["error"].is_string(), "{context}");
                assert!(!told.contains("panicked") && !told.contains("sqlx"), "{context}");
            }
        }
        assert_eq!(state(hive), before);
        assert_eq!(hive.call("GET", "/v1/health", "", &Value::Null).0, 200);
    });
}

#[test]
fn odd_names_are_refused_wherever_a_name_goes() {
    on_both_stores(|hive| {
        hive.project("app");
        hive.publish("app", "1.0", 1, b"program");
        let (pod, developer) = (hive.token("app", "pod"), hive.token("app", "developer"));
        let before = state(hive);
        for name in ODD {
            let body = json!({ "name": name });
            assert_eq!(hive.call("POST", "/v1/projects", &hive.admin, &body).0, 400, "{name}");
            let build = json!({ "name": name, "sha256": "0".repeat(64), "size": 1, "gates": 0,
                "candidates": [] });
            let path = "/v1/projects/app/builds";
            assert_eq!(hive.call("POST", path, &developer, &build).0, 400, "{name}");
            let wanted = json!({ "build": name });
            let path = "/v1/projects/app/assignments";
            assert_eq!(hive.call("POST", path, &pod, &wanted).0, 404, "{name}");
            let escaped: String = name.bytes().map(|byte| format!("%{byte:02x}")).collect();
            for path in [
                format!("/v1/projects/{escaped}"),
                format!("/v1/projects/app/builds/{escaped}/races"),
                format!("/v1/projects/app/builds/{escaped}/artefact"),
                format!("/v1/projects/app/tokens/{escaped}"),
            ] {
                let method = if path.contains("tokens") { "DELETE" } else { "GET" };
                let status = hive.call(method, &path, &hive.admin, &Value::Null).0;
                assert!((400..500).contains(&status), "{path}: {status}");
            }
        }
        assert_eq!(state(hive), before);
    });
}

#[test]
fn wrong_tokens_open_nothing_and_large_bodies_are_cut_off() {
    on_both_stores(|hive| {
        hive.project("app");
        hive.publish("app", "1.0", 1, b"program");
        let pod = hive.token("app", "pod");
        let before = state(hive);
        let described: Value = serde_json::from_str(include_str!("../openapi.json")).unwrap();
        let mut wrong: Vec<String> = ODD
            .iter()
            .filter(|odd| odd.is_ascii())
            .map(|odd| odd.replace(['\r', '\n', '\0'], ""))
            .collect();
        wrong.push(pod.chars().rev().collect());
        wrong.push(format!("{pod}x"));
        wrong.push(pod.to_uppercase());
        for (path, methods) in described["paths"].as_object().unwrap() {
            let path =
                path.replace("{project}", "app").replace("{build}", "1.0").replace("{id}", "x");
            if !path.starts_with("/v1/projects") {
                continue;
            }
            for method in methods.as_object().unwrap().keys() {
                let method = method.to_uppercase();
                for token in &wrong {
                    let status = hive.call(&method, &path, token, &json!({})).0;
                    assert_eq!(status, 401, "{method} {path} with {token}");
                }
            }
        }
        // Nobody's artefact is not even read; a known pod's report past the limit is cut off.
        let large = vec![b'x'; 6 << 20];
        let artefact = "/v1/projects/app/builds/1.0/artefact";
        let status = hive.raw("PUT", artefact, "nobody", &large).0;
        assert!([401, 413].contains(&status), "{status}");
        assert_eq!(hive.raw("POST", "/v1/projects/app/reports", &pod, &large).0, 413);
        assert_eq!(state(hive), before);
    });
}

#[test]
fn replayed_and_forged_reports_count_for_nothing() {
    on_both_stores(|hive| {
        hive.project("app");
        hive.project("other");
        hive.publish("app", "1.0", 1, b"program");
        hive.publish("other", "1.0", 1, b"program");
        let (pod, elsewhere) = (hive.token("app", "pod"), hive.token("other", "pod"));
        let ticket = |project: &str, pod: &str| {
            hive.assignment(project, "1.0", pod)["ticket"].as_str().unwrap().to_owned()
        };
        let (mine, foreign) = (ticket("app", &pod), ticket("other", &elsewhere));
        let accepted =
            |ticket: &str| hive.report("app", &pod, ticket, &enforced("c1")).1["accepted"].clone();
        assert_eq!(accepted(&mine), 1);
        for _ in 0..5 {
            assert_eq!(accepted(&mine), 0, "a replayed report counts once");
        }
        assert_eq!(accepted(&foreign), 0, "another project's ticket");
        // Any change to a ticket breaks its seal.
        let fresh = ticket("app", &pod);
        for at in 0..fresh.len() {
            let mut forged = fresh.clone().into_bytes();
            forged[at] = if forged[at] == b'1' { b'2' } else { b'1' };
            let forged = String::from_utf8(forged).unwrap();
            if forged != fresh {
                assert_eq!(accepted(&forged), 0, "{forged}");
            }
        }
        assert_eq!(hive.verdicts("app", "1.0"), ["potential"]);
        let report =
            hive.call("GET", "/v1/projects/app/builds/1.0/races", &hive.admin, &Value::Null);
        assert_eq!(report.1["stats"]["reports"], 1);
    });
}
