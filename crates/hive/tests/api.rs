//! The whole interface, on both stores.

mod support;

use racewarden_testkit::Postgres;
use serde_json::{Value, json};
use support::{Hive, enforced};

/// Runs `suite` on a hive over SQLite and on one over PostgreSQL.
fn on_both_stores(suite: impl Fn(&Hive)) {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = format!("sqlite:{}", folder.path().join("hive.db").display());
    suite(&Hive::start(&sqlite));
    let server = Postgres::start().unwrap();
    suite(&Hive::start(&server.url()));
}

#[test]
fn two_pods_with_both_orders_confirm_and_violations_make_it_harmful() {
    on_both_stores(|hive| {
        hive.project("app");
        hive.publish("app", "1.0", 1, b"program");
        for _ in 0..2 {
            let pod = hive.token("app", "pod");
            for _ in 0..2 {
                let assignment = hive.assignment("app", "1.0", &pod);
                let ticket = assignment["ticket"].as_str().unwrap();
                let outcome = if assignment["order"] == "alternate" {
                    json!({ "result": "violation", "context": "c1", "violation":
                        { "kind": "crash", "what": "SIGSEGV", "stack": [] } })
                } else {
                    enforced("c1")
                };
                let (status, receipt) = hive.report("app", &pod, ticket, &outcome);
                assert_eq!((status, &receipt["accepted"]), (200, &json!(1)), "{receipt}");
            }
        }
        assert_eq!(hive.verdicts("app", "1.0"), ["harmful"]);
    });
}

#[test]
fn one_lying_pod_moves_nothing() {
    on_both_stores(|hive| {
        hive.project("app");
        hive.publish("app", "1.0", 1, b"program");
        let liar = hive.token("app", "pod");
        for _ in 0..2 {
            let assignment = hive.assignment("app", "1.0", &liar);
            let ticket = assignment["ticket"].as_str().unwrap();
            let lie = json!({ "result": "enforced", "context": "c1", "same_instant": true });
            assert_eq!(hive.report("app", &liar, ticket, &lie).0, 200);
        }
        assert_eq!(hive.verdicts("app", "1.0"), ["potential"]);
    });
}

#[test]
fn a_report_sent_again_counts_once() {
    on_both_stores(|hive| {
        hive.project("app");
        hive.publish("app", "1.0", 1, b"program");
        let pod = hive.token("app", "pod");
        let assignment = hive.assignment("app", "1.0", &pod);
        let ticket = assignment["ticket"].as_str().unwrap();
        let (_, first) = hive.report("app", &pod, ticket, &enforced("c1"));
        let (_, again) = hive.report("app", &pod, ticket, &enforced("c2"));
        assert_eq!((&first["accepted"], &first["duplicates"]), (&json!(1), &json!(0)));
        assert_eq!((&again["accepted"], &again["duplicates"]), (&json!(0), &json!(1)));
    });
}

#[test]
fn forged_foreign_and_malformed_reports_are_refused() {
    on_both_stores(|hive| {
        hive.project("app");
        hive.publish("app", "1.0", 1, b"program");
        let (pod, other) = (hive.token("app", "pod"), hive.token("app", "pod"));
        let assignment = hive.assignment("app", "1.0", &pod);
        let ticket = assignment["ticket"].as_str().unwrap();

        let (_, stolen) = hive.report("app", &other, ticket, &enforced("c1"));
        assert_eq!(stolen["accepted"], 0);
        assert_eq!(stolen["refused"][0][1], "the ticket was given to another pod");
        let (_, forged) = hive.report("app", &pod, "b.0.primary.p.1.1.n.00", &enforced("c1"));
        assert_eq!(forged["accepted"], 0);
        let (_, odd) = hive.report("app", &pod, ticket, &enforced("<script>"));
        assert_eq!(odd["accepted"], 0);
        let (status, _) = hive.report("app", &pod, ticket, &json!({ "result": "proved" }));
        assert_eq!(status, 422);
        let many: Vec<Value> = (0..501)
            .map(|_| json!({ "id": "r", "ticket": ticket, "outcome": enforced("c") }))
            .collect();
        let path = "/v1/projects/app/reports";
        assert_eq!(hive.call("POST", path, &pod, &json!({ "reports": many })).0, 400);
        assert_eq!(hive.verdicts("app", "1.0"), ["potential"]);
    });
}

#[test]
fn tokens_open_only_their_own_project_and_role() {
    on_both_stores(|hive| {
        hive.project("app");
        hive.project("other");
        hive.publish("app", "1.0", 1, b"program");
        let pod = hive.token("app", "pod");
        let foreign = hive.token("other", "admin");
        let latest = "/v1/projects/app/builds/latest";
        assert_eq!(hive.call("GET", latest, &pod, &Value::Null).0, 200);
        for wrong in ["", "rw_", "rw_x_y", "x' OR '1'='1", &pod[..pod.len() - 1]] {
            assert_eq!(hive.call("GET", latest, wrong, &Value::Null).0, 401, "{wrong}");
        }
        assert_eq!(hive.call("GET", latest, &foreign, &Value::Null).0, 403);
        let races = "/v1/projects/app/builds/1.0/races";
        assert_eq!(hive.call("GET", races, &pod, &Value::Null).0, 403);
        let new = json!({ "name": "mine" });
        assert_eq!(hive.call("POST", "/v1/projects", &foreign, &new).0, 403);
    });
}

#[test]
fn a_revoked_token_stops_working() {
    on_both_stores(|hive| {
        hive.project("app");
        hive.publish("app", "1.0", 1, b"program");
        let pod = hive.token("app", "pod");
        let id = pod.split('_').nth(1).unwrap();
        let path = format!("/v1/projects/app/tokens/{id}");
        assert_eq!(hive.call("DELETE", &path, &hive.admin, &Value::Null).0, 204);
        let latest = "/v1/projects/app/builds/latest";
        assert_eq!(hive.call("GET", latest, &pod, &Value::Null).0, 401);
        let (_, log) = hive.call("GET", "/v1/projects/app/audit", &hive.admin, &Value::Null);
        let actions: Vec<_> = log.as_array().unwrap().iter().map(|e| &e["action"]).collect();
        assert!(actions.contains(&&json!("revoke-token")), "{actions:?}");
    });
}

#[test]
fn odd_names_paths_and_bodies_are_refused_and_store_nothing() {
    on_both_stores(|hive| {
        for name in ["../etc", "a/b", "<b>x</b>", "x'; DROP TABLE hive_projects; --", ""] {
            let (status, _) =
                hive.call("POST", "/v1/projects", &hive.admin, &json!({ "name": name }));
            assert_eq!(status, 400, "{name}");
        }
        assert_eq!(hive.raw("POST", "/v1/projects", &hive.admin, b"{not json").0, 400);
        let huge = vec![b' '; 5 << 20];
        assert_eq!(hive.raw("POST", "/v1/projects", &hive.admin, &huge).0, 413);
        let traversal = "/v1/projects/..%2F..%2Fetc/builds/latest";
        assert_eq!(hive.call("GET", traversal, &hive.admin, &Value::Null).0, 404);
        let (_, names) = hive.call("GET", "/v1/projects", &hive.admin, &Value::Null);
        assert_eq!(names, json!([]));
    });
}

#[test]
fn artefacts_arrive_signed_and_only_as_announced() {
    on_both_stores(|hive| {
        hive.project("app");
        let artefact: Vec<u8> = (0..3_000_000u32).map(|n| (n % 251) as u8).collect();
        let info = hive.publish("app", "1.0", 1, &artefact);
        let pod = hive.token("app", "pod");
        let path = "/v1/projects/app/builds/1.0/artefact";
        let (status, bytes) = hive.raw("GET", path, &pod, b"");
        assert_eq!((status, bytes == artefact), (200, true));

        let (_, project) = hive.call("GET", "/v1/projects/app", &pod, &Value::Null);
        let unhex = |text: &str| -> Vec<u8> {
            (0..text.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
                .collect()
        };
        let key = unhex(project["public_key"].as_str().unwrap());
        let message =
            racewarden_proto::artefact_message("app", "1.0", info["sha256"].as_str().unwrap());
        let signature = unhex(info["signature"].as_str().unwrap());
        let verifier = ring::signature::UnparsedPublicKey::new(&ring::signature::ED25519, &key);
        assert!(verifier.verify(&message, &signature).is_ok());

        let developer = hive.token("app", "developer");
        assert_eq!(hive.raw("PUT", path, &developer, b"other bytes").0, 409);
    });
}

#[test]
fn the_kill_switch_and_immunity_reach_pods() {
    on_both_stores(|hive| {
        hive.project("app");
        hive.publish("app", "1.0", 2, b"program");
        let pod = hive.token("app", "pod");
        let stop =
            json!({ "pods": "stop", "immunity": false, "corroboration": 2, "base_wait_ms": 200 });
        let (status, _) = hive.call("PUT", "/v1/projects/app/control", &hive.admin, &stop);
        assert_eq!(status, 200);
        assert_eq!(hive.assignment("app", "1.0", &pod), Value::Null);
        let zero =
            json!({ "pods": "run", "immunity": false, "corroboration": 0, "base_wait_ms": 200 });
        assert_eq!(hive.call("PUT", "/v1/projects/app/control", &hive.admin, &zero).0, 400);
    });
}

#[test]
fn a_caller_past_its_rate_is_told_to_wait() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("hive.db").display());
    let hive = Hive::start_with_rate(&url, 5.0);
    let statuses: Vec<u16> =
        (0..30).map(|_| hive.call("GET", "/v1/projects", &hive.admin, &Value::Null).0).collect();
    assert!(statuses.contains(&200) && statuses.contains(&429), "{statuses:?}");
}

#[test]
fn the_description_names_every_address() {
    let described: Value = serde_json::from_str(include_str!("../openapi.json")).unwrap();
    assert_eq!(described["openapi"], "3.1.0");
    let source = include_str!("../src/api/mod.rs");
    let routes: Vec<&str> =
        source.split(".route(").skip(1).filter_map(|rest| rest.split('"').nth(1)).collect();
    assert!(routes.len() > 10);
    for route in routes {
        assert!(!described["paths"][route].is_null(), "{route} is not in openapi.json");
    }
}

#[test]
fn verdicts_reach_the_dashboard_which_opens_for_administrators_only() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("hive.db").display());
    let ledger = folder.path().join("ledger.db").display().to_string();
    let hive = Hive::start_with_ledger(&url, &ledger);
    hive.project("app");
    hive.publish("app", "1.0", 1, b"program");
    for _ in 0..2 {
        let pod = hive.token("app", "pod");
        for _ in 0..2 {
            let assignment = hive.assignment("app", "1.0", &pod);
            hive.report("app", &pod, assignment["ticket"].as_str().unwrap(), &enforced("c1"));
        }
    }
    assert_eq!(hive.page("/dashboard/races", "").0, 401);
    assert_eq!(hive.page("/dashboard/races", &hive.token("app", "developer")).0, 401);
    let shows_the_race = || {
        let (status, page) = hive.page("/dashboard/races", &hive.admin);
        assert_eq!(status, 200, "{page}");
        page.contains("struct queue.head0")
    };
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !shows_the_race() {
        assert!(std::time::Instant::now() < end, "the verdict never reached the ledger");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let (status, fleet) = hive.page("/dashboard/fleet", &hive.admin);
    assert!(status == 200 && fleet.contains("1.0"), "{fleet}");
}
